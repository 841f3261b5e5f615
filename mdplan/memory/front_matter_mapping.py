"""The front matter of a document in memory, as a mapping."""

from collections.abc import Iterator, MutableMapping
from copy import deepcopy
from typing import Any

from mdplan import edits
from mdplan.data.content import as_json
from mdplan.diagnostics import Refused
from mdplan.edits import Edit
from mdplan.markdown.front_matter import Unreadable
from mdplan.markdown.front_matter_edits import unreadable
from mdplan.markdown.outline import Outline


class DocumentFrontMatter(MutableMapping[str, Any]):
    r"""Keys and values; dates are strings. Values that are set count at once, and each is one edit.

    Lists and maps in it may be changed too: `Document.edits` has what became of them.

    >>> document = Document.from_text("---\\nstatus: draft\\n---\\n# A\\n")
    >>> document.front_matter["status"]
    'draft'
    >>> document.front_matter["status"] = "final"
    >>> document.front_matter["status"], document.edits
    ('final', (SetValue(key=['status'], value='final', create_if_missing=True),))
    """

    def __init__(self, outline: Outline, collected: list[Edit], name: str) -> None:
        """Read what `outline`, called `name`, has; edits go to `collected`.

        Raises `Refused`: FRONT_MATTER_INVALID.
        """
        content = outline.front_matter_content
        if isinstance(content, Unreadable):
            raise Refused((unreadable(outline, content).at(file=name),))
        values: Any = {} if content is None else as_json(content.values)
        self._base: dict[str, Any] = values
        self._values = deepcopy(values)
        # As the document and the edits have them; callers may change lists and maps of `_values`.
        self._seen = deepcopy(values)
        self._collected = collected
        self._by_key: dict[str, Edit] = {}

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401 (any JSON)
        return self._values[key]

    def __setitem__(self, key: str, value: Any) -> None:  # noqa: ANN401
        if not isinstance(key, str):
            raise TypeError(f"keys of front matter are strings, and {key!r} is none")
        edit = edits.SetValue(key=[key], value=value, create_if_missing=True)
        self._drop(key)
        self._collected.append(edit)
        self._by_key[key] = edit
        self._values[key] = value
        self._seen[key] = deepcopy(value)

    def __delitem__(self, key: str) -> None:
        del self._values[key]
        self._drop(key)
        if key in self._base:
            self._by_key[key] = edits.DeleteValue(key=[key])
            self._collected.append(self._by_key[key])

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"DocumentFrontMatter({self._values!r})"

    def collect_changes(self) -> None:
        """Collect edits for lists and maps that were changed in place."""
        for key, value in self._values.items():
            # `repr` differs for 1 and True, which are equal.
            if repr(value) != repr(self._seen[key]):
                self[key] = value

    def _drop(self, key: str) -> None:
        """Forget what was collected for `key`: two edits of one key would contradict each other."""
        earlier = self._by_key.pop(key, None)
        self._collected[:] = [each for each in self._collected if each is not earlier]
