"""Edits that many writers try at once: how they are made, and what is written down about them.

Every document ends in `END`. An edit puts a line that nobody else writes before it, so its result is known in
advance, and each content of a file comes about once at most.
"""

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

START = "# Log\n\nEND\n"
# Generous, for a busy machine.
PATIENCE = 300.0
Apply = Callable[[dict[str, Any]], str | None]


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def with_line(text: str, line: str) -> str:
    """`text` with one more line before the `END`."""
    return text.replace("END\n", f"{line}\nEND\n")


def lines_of(text: str) -> list[str]:
    """All lines that were put into a document."""
    return re.findall(r"^\d+-\d+$", text, re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Attempt:
    """A call of `apply`. `edges` are the contents of the files, by digest, before and after it.

    All processes agree on the order of the moments `began` and `ended`. `code` is None if it was applied,
    otherwise the refusal. `ended` is 0 if the process was killed, so that its end is unknown.
    """

    worker: int
    began: int
    ended: int
    edges: dict[str, tuple[str, str]]
    code: str | None

    @property
    def is_applied(self) -> bool:
        return self.ended > 0 and self.code is None

    @property
    def is_unknown(self) -> bool:
        return self.ended == 0


class Moments:
    """Numbers that grow with each call, across all processes that share the file.

    Appends to a file are ordered, so the size of the file is a clock without time.
    """

    def __init__(self, file: Path) -> None:
        self._descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def next(self) -> int:
        os.write(self._descriptor, b".")
        return os.lseek(self._descriptor, 0, os.SEEK_CUR)

    def close(self) -> None:
        os.close(self._descriptor)


@dataclass(frozen=True)
class Log:
    """The attempts of one worker. An attempt is written down when it begins and again when it ends."""

    file: Path

    def write(self, attempt: Attempt) -> None:
        with self.file.open("ab") as file:
            file.write(json.dumps(asdict(attempt)).encode() + b"\n")

    def read(self) -> list[Attempt]:
        found: dict[int, Attempt] = {}
        for line in self.file.read_bytes().split(b"\n") if self.file.exists() else ():
            if line:
                fields = json.loads(line)
                edges = {name: tuple(edge) for name, edge in fields.pop("edges").items()}
                found[fields["began"]] = Attempt(**fields, edges=edges)
        return list(found.values())


@dataclass(frozen=True, kw_only=True)
class Worker:
    """A writer that edits files of `folder` through `apply`, and tries again while others are faster."""

    number: int
    folder: Path
    apply: Apply
    log: Log
    moments: Moments

    def edit(self, names: Iterable[str], number: int) -> None:
        """Put the line `number` of this worker into all those files in one batch."""
        line = f"{self.number}-{number}"
        while (code := self.attempt(list(names), line)) is not None:
            assert code in {"STALE_BASE", "LOCK_TIMEOUT"}, code

    def attempt(self, names: list[str], line: str) -> str | None:
        """Try it once, on the files as they are; what refused it."""
        edges: dict[str, tuple[str, str]] = {}
        files = []
        for name in names:
            text = (self.folder / name).read_text()
            edges[name] = digest(text), digest(with_line(text, line))
            edit = {"op": "replace_match", "pattern": "END", "replacement": f"{line}\nEND"}
            files.append({"file": name, "baseSha256": digest(text), "edits": [edit]})
        began = self.moments.next()
        self.log.write(Attempt(self.number, began, 0, edges, None))
        code = self.apply({"files": files})
        self.log.write(Attempt(self.number, began, self.moments.next(), edges, code))
        return code
