"""`updateReferences`, which callers may write beside the batch or on any of its edits."""

from collections.abc import Iterator
from typing import Any, Final

from mdplan.diagnostics import Diagnostic
from mdplan.requests.batch import ReferenceScope

_FIELD: Final = "updateReferences"
_SCOPES: Final[dict[str, ReferenceScope]] = {"none": "none", "file": "file", "workspace": "workspace"}


class ReferenceScopeReader:
    """What was said of references, in all places of one batch."""

    def __init__(self) -> None:
        """Start with nothing said."""
        self._wishes: dict[ReferenceScope, int | None] = {}

    def take(self, fields: dict[str, Any], edit_index: int | None = None) -> Iterator[Diagnostic]:
        """Take the wish out of `fields`, those of the batch or of one edit. Errors: INVALID_ARGUMENT."""
        if _FIELD not in fields:
            return
        scope = _scope(fields.pop(_FIELD))
        if scope is None:
            yield Diagnostic.invalid(
                f"`{_FIELD}` is not one of 'none', 'file' and 'workspace'",
                "use one of them; true means file, false means none",
            )
        else:
            self._wishes.setdefault(scope, edit_index)

    @property
    def scope(self) -> ReferenceScope:
        """What was wished; none when nothing was said."""
        return next(iter(self._wishes), "none")

    def problems(self) -> Iterator[Diagnostic]:
        """INVALID_ARGUMENT where different things were said: links are updated once, for the whole batch."""
        if len(self._wishes) > 1:
            said = " and ".join(f"`{scope}`" for scope in sorted(self._wishes))
            yield Diagnostic.invalid(
                f"{_FIELD} is {said} in one batch, and all links are updated at once",
                "say it once, beside the edits",
                edit_index=list(self._wishes.values())[-1],
            )


def _scope(value: object) -> ReferenceScope | None:
    if isinstance(value, bool):
        return "file" if value else "none"
    return _SCOPES.get(value) if isinstance(value, str) else None
