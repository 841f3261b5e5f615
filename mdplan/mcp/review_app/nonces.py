"""Nonces, which prove that a call comes from the App: the server sends them to the App only.

The host gives the `_meta` of a tool's result to the App and not to the model. A tool that only the App may
call cannot rely on that: some hosts let the model call it too, and `visibility` is only a wish.
"""

import hashlib
import hmac
import json
import secrets
from threading import Lock
from typing import Final

_KEY_BYTES: Final = 32


class Nonces:
    """The nonces of one process. Each is for one call about one version of the decisions on one plan."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(_KEY_BYTES)
        self._used: dict[str, int] = {}
        self._lock = Lock()

    def nonce(self, plan_id: str, version: str) -> str:
        """The nonce for the next decision on a plan whose decisions have that version."""
        named = json.dumps([plan_id, version, self._used.get(plan_id, 0)]).encode("ascii")
        return hmac.new(self._key, named, hashlib.sha256).hexdigest()

    def use(self, nonce: str, plan_id: str, version: str) -> bool:
        """Whether this process gave out `nonce` for that plan and version; it is used up then."""
        given = nonce.encode("utf-8", "surrogatepass")
        with self._lock:
            is_valid = hmac.compare_digest(given, self.nonce(plan_id, version).encode("ascii"))
            if is_valid:
                self._used[plan_id] = self._used.get(plan_id, 0) + 1
        return is_valid
