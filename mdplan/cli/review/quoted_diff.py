"""The text of the editor in which a person comments: the diff of an edit, quoted line by line.

A comment is written below the line that it is about, as in a reply to a mail. What is above all quoted
lines is on the edit as a whole, what is below the header of a hunk on all its lines.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mdplan.review.plan_review import FileReview, ReviewedHunk, ReviewedLine
from mdplan.text.visible import escaped

# Editors look for settings in the first and last five lines of a file: those are ours, not those of a plan.
_HEAD: Final = (
    "> Write a comment on a line below that line, and a comment on all lines of a hunk",
    "> below its line with @@. The author receives each with its place and its text.",
    "> Delete a comment to take it back.",
    ">",
    "> Write what you think of the edit as a whole below its name:",
)
_TAIL: Final = (
    ">",
    "> End of the edit. Quoted lines begin with > and are never part of a comment.",
    "> Save and leave the editor to keep your comments;",
    "> leave it without saving to change nothing.",
    ">",
)


@dataclass(frozen=True, slots=True, order=True)
class QuotedLines:
    """Lines `first` to `last` of a file, in its text before the plan (`is_old`) or after it."""

    file: str
    is_old: bool
    first: int
    last: int

    def __str__(self) -> str:
        lines = f"line {self.first}" if self.first == self.last else f"lines {self.first} to {self.last}"
        return f"{self.file}, {lines}{' before the plan' if self.is_old else ''}"


@dataclass(frozen=True, slots=True)
class Comments:
    """Comments on one edit: on all of it, and on lines."""

    whole: str
    on_lines: Mapping[QuotedLines, str]


@dataclass(frozen=True, slots=True)
class _Quoted:
    """A line of the editor that the person did not write. `place` is None where it has none."""

    text: str
    place: QuotedLines | None = None


class QuotedDiff:
    """The diff of one edit in an editor: `hunks` are its hunks, each with the file that it is in."""

    def __init__(self, title: str, hunks: Iterable[tuple[FileReview, ReviewedHunk]]) -> None:
        self._title = f"> {title}"
        self._lines = [*map(_Quoted, _HEAD), _Quoted(self._title)]
        shown = None
        for file, hunk in hunks:
            if file is not shown:
                self._lines.append(_Quoted(f"> file {escaped(file.file.path)}"))
                shown = file
            self._lines += _quoted(file, hunk)
        self._lines += map(_Quoted, _TAIL)

    @property
    def places(self) -> frozenset[QuotedLines]:
        """All places that a comment can be on here."""
        return frozenset(line.place for line in self._lines if line.place is not None)

    def text(self, comments: Comments) -> str:
        """What the editor opens with: the quoted lines, and below them the `comments` that there are."""
        rows: list[str] = []
        for line in self._lines:
            rows.append(line.text)
            known = comments.on_lines.get(line.place, "") if line.place is not None else ""
            if line.text == self._title:
                # There is room to write where most people write.
                rows += [comments.whole, ""]
            elif known:
                rows.append(known)
        return "\n".join(rows) + "\n"

    def read(self, text: str) -> Comments:
        """The comments in `text`, which was saved. Quoted lines that were deleted are not missed."""
        written: dict[QuotedLines | None, list[str]] = {}
        at, place = 0, None
        # Editors may take blanks from the ends of lines.
        for row in map(str.rstrip, text.split("\n")):
            lines = range(at, len(self._lines))
            found = next((number for number in lines if self._lines[number].text.rstrip() == row), None)
            if found is not None:
                at, place = found + 1, self._lines[found].place
            elif not row.startswith(">"):
                written.setdefault(place, []).append(row)
        texts = {each: "\n".join(rows).strip() for each, rows in written.items()}
        whole = texts.pop(None, "")
        on_lines = {each: comment for each, comment in texts.items() if each is not None and comment}
        return Comments(whole, on_lines)


def _quoted(file: FileReview, hunk: ReviewedHunk) -> Iterator[_Quoted]:
    is_old = hunk.new_count == 0
    first, count = (hunk.old_start, hunk.old_count) if is_old else (hunk.new_start, hunk.new_count)
    header = f"> @@ -{hunk.old_start},{hunk.old_count} +{hunk.new_start},{hunk.new_count} @@"
    yield _Quoted(header, QuotedLines(file.file.path, is_old, first, first + max(count, 1) - 1))
    width = max((len(str(line.new_line or line.old_line)) for line in hunk.lines), default=1)
    for line in hunk.lines:
        yield _Quoted(f"> {line.new_line or line.old_line:>{width}} {_shown(line)}", _place(file, line))


def _place(file: FileReview, line: ReviewedLine) -> QuotedLines:
    is_old = line.new_line is None
    number = (line.old_line if is_old else line.new_line) or 0
    return QuotedLines(file.file.path, is_old, number, number)


def _shown(line: ReviewedLine) -> str:
    return line.sign + escaped(line.text)


def without(comments: Mapping[QuotedLines, str], places: Iterable[QuotedLines]) -> dict[QuotedLines, str]:
    """`comments` but for those on `places`."""
    gone = frozenset(places)
    return {place: comment for place, comment in comments.items() if place not in gone}


def listed(comments: Mapping[QuotedLines, str]) -> Sequence[str]:
    """Each comment in a line with its place, in the order of the files."""
    return [f"{place}: {' '.join(comment.split())}" for place, comment in sorted(comments.items())]
