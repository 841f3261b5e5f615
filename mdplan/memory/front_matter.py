"""The front matter of a document in memory, as a mapping."""

from collections.abc import Iterator, MutableMapping
from typing import Any

from mdplan import edits
from mdplan.diagnostics import Refused
from mdplan.edits import Edit
from mdplan.markdown.edits.front_matter_problems import unreadable
from mdplan.markdown.front_matter.values import Unreadable, as_json
from mdplan.markdown.outline.outline import Outline


class FrontMatter(MutableMapping[str, Any]):
    r"""Keys and values; dates are strings. Values that are set count at once, and each is one edit.

    >>> document = Document.from_text("---\\nstatus: draft\\n---\\n# A\\n")
    >>> document.front_matter["status"]
    'draft'
    >>> document.front_matter["status"] = "final"
    >>> document.front_matter["status"], document.edits
    ('final', (SetFrontMatter(key=['status'], value='final', create_if_missing=True),))
    """

    def __init__(self, outline: Outline, collected: list[Edit]) -> None:
        """Read what `outline` has; edits go to `collected`. Raises `Refused`: FRONT_MATTER_INVALID."""
        content = outline.front_matter_content
        if isinstance(content, Unreadable):
            raise Refused((unreadable(outline, content),))
        values: Any = {} if content is None else as_json(content.values)
        self._base: dict[str, Any] = values
        self._values = dict(self._base)
        self._collected = collected

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401 (any JSON)
        return self._values[key]

    def __setitem__(self, key: str, value: Any) -> None:  # noqa: ANN401
        edit = edits.SetFrontMatter(key=[key], value=value, create_if_missing=True)
        self._drop(key)
        self._collected.append(edit)
        self._values[key] = value

    def __delitem__(self, key: str) -> None:
        del self._values[key]
        self._drop(key)
        if key in self._base:
            self._collected.append(edits.DeleteFrontMatter(key=[key]))

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"FrontMatter({self._values!r})"

    def _drop(self, key: str) -> None:
        """Forget what was collected for `key`: two edits of one key would contradict each other."""
        of_key = (edits.SetFrontMatter, edits.DeleteFrontMatter)
        self._collected[:] = [
            each for each in self._collected if not (isinstance(each, of_key) and each.get("key") == [key])
        ]
