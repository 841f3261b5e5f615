"""Edits as people count them: in each file from 1, where reports count through the whole batch from 0."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EditNumbers:
    """The files of a batch in their order, each with how many edits it has; none where that is not known.

    >>> numbers = EditNumbers((("guide.md", 2), ("tea.md", 1)))
    >>> numbers.named(1), numbers.named(2)
    ('edit 2 of guide.md', 'edit 1 of tea.md')
    >>> numbers.listed([0, 1]), numbers.listed([0, 2])
    ('edits 1 and 2 of guide.md', 'edit 1 of guide.md and edit 1 of tea.md')
    """

    files: tuple[tuple[str, int], ...] = ()

    def named(self, index: int, file: str | None = None, *, within: str | None = None) -> str:
        """The edit at `index` of the batch, as in ``edit 2 of guide.md``.

        `file` is another name of its file. The file `within` which this is read is not named.
        """
        path, number = self.place(index)
        of = file or path
        return f"edit {number}" + (f" of {of}" if of and path != within else "")

    def number(self, index: int, *, within: str | None = None) -> str:
        """The number of the edit at `index`: ``2 of guide.md``, or ``2`` within that file."""
        return self.named(index, within=within).removeprefix("edit ")

    def listed(self, indexes: Iterable[int], *, within: str | None = None) -> str:
        """Several edits, by file: ``edits 1 and 2 of guide.md``; `within` as above."""
        by_file: dict[str | None, list[str]] = {}
        for path, number in map(self.place, sorted(indexes)):
            by_file.setdefault(path, []).append(str(number))
        parts = [
            f"{'edit' if len(numbers) == 1 else 'edits'} {_joined(numbers)}"
            + (f" of {path}" if path and path != within else "")
            for path, numbers in by_file.items()
        ]
        return _joined(parts)

    def place(self, index: int) -> tuple[str | None, int]:
        """File and number of the edit at `index`; without a file where its number is that of the batch."""
        first = 0
        for path, count in self.files:
            if index < first + count:
                return path, index - first + 1
            first += count
        return None, index + 1


def _joined(parts: list[str]) -> str:
    """``a``, ``a and b``, or ``a, b and c``."""
    return " and ".join(part for part in (", ".join(parts[:-1]), parts[-1]) if part)
