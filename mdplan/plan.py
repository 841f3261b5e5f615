"""Plans as values, and the numbers of their edits.

A plan has the text edits of each file, the hash of the bytes that it changes, and an ID of its content.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NewType

from mdplan.diagnostics import Diagnostic
from mdplan.text.edit import EditList, Overlap, TextEdit
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import Lines, Position, Span, to_lf
from mdplan.values import Struct
from mdplan.words import listed

PlanId = NewType("PlanId", str)
PREFIX: Final = "sha256-"

# The operation in the plan of an undo.
UNDO: Final = "undo"
_ENCODER: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)

# More is not a title, and nobody would read a longer description.
MOST_TITLE: Final = 200
MOST_DESCRIPTION: Final = 4_000
_SURROGATE: Final = lazy_pattern("[\ud800-\udfff]")


class Intent(Struct):
    """The purpose of a plan: a one-line `title` and a longer `description`, both optional."""

    title: str = ""
    description: str = ""

    @classmethod
    def of(cls, title: str, description: str) -> "Intent":
        """Normalize whitespace, so that equal texts give equal plan IDs."""
        return cls(one_line(title), plain_text(description))

    @property
    def is_short(self) -> bool:
        """True if neither is too long."""
        return len(self.title) <= MOST_TITLE and len(self.description) <= MOST_DESCRIPTION

    @property
    def fields(self) -> dict[str, str]:
        """Return the non-empty fields as in a batch or document."""
        given = {"title": self.title, "description": self.description}
        return {name: text for name, text in given.items() if text}


def one_line(text: str) -> str:
    """Return `text` with all whitespace as single spaces."""
    return " ".join(text.split())


def plain_text(text: str) -> str:
    """Return `text` with LF newlines, stripped."""
    return to_lf(text).strip()


NO_INTENT: Final = Intent()


class Range(Struct, kw_only=True):
    """A half-open range of 1-based positions."""

    start: Position
    end: Position


class MatchResult(Struct, kw_only=True):
    """A match in the base; `text` is truncated to 200 characters."""

    line: int
    col: int
    text: str
    range: Range


class EditResult(Struct, kw_only=True):
    """The result of an edit. `edit_index` is 0-based across the batch.

    - `ranges`: replaced ranges of the base; `result_lines`: written lines of the result.
    - `matches`: truncated; `matches_found` is exact.
    - `section_id`: the addressed section in the base.
    - `new_section_id`: the first inserted section; for an edit that inserts none, the new ID of the addressed
      section, if changed.
    - `new_section_sha256`: the hash of the new section, else of the addressed one in the result; use it to
      guard the next edit.
    - `hunk_offsets`: by how many lines each hunk of a diff was moved; absent if not moved.
    - `to_file`: the file to which the edit moves text; it contains `result_lines` and the new section.
    """

    edit_index: int
    op: str
    file: str
    no_op: bool
    to_file: str | None = None
    ranges: tuple[Range, ...] = ()
    result_lines: tuple[Lines, ...] = ()
    section_id: str | None = None
    new_section_id: str | None = None
    new_section_sha256: str | None = None
    matches_found: int | None = None
    matches_replaced: int | None = None
    matches: tuple[MatchResult, ...] = ()
    excluded_matches: Mapping[str, int] | None = None
    line_ends_normalized: bool | None = None
    hunk_offsets: tuple[int, ...] | None = None
    warnings: tuple[Diagnostic, ...] = ()


class Effect(Struct, kw_only=True):
    """What a text edit of an edit removes and inserts, and in which section.

    `removed` and `inserted` are hashes of texts with LF newlines; `around` is, for an insertion, the hash of
    the adjacent lines. Equal effects do the same to the same text.
    """

    section_id: str
    removed: str
    inserted: str
    around: str


class FileChange(Struct, kw_only=True):
    """The text edits of a file. `path`, `encoding` and `format` are as given by the caller.

    `edits` turn the text with `base_sha256` into the one with `result_sha256`. Line counts are the diff's.
    `base_sections` maps section IDs to hashes of their own text, to report a stale base by section.
    `base_sha256` is None for a created file, `result_sha256` for a deleted one; `new_path` is set by a
    rename. `references_updated` counts links rewritten by the engine.
    """

    path: str
    encoding: str | None
    format: str | None
    base_sha256: str | None
    result_sha256: str | None
    edits: EditList
    lines_added: int
    lines_removed: int
    base_sections: Mapping[str, str]
    new_path: str | None = None
    references_updated: int = 0

    @property
    def is_no_op(self) -> bool:
        """True if the file does not change."""
        return self.base_sha256 == self.result_sha256 and self.new_path is None


# --- Numbers of edits for people: 1-based within each file. Reports use 0-based batch indexes.


class EditNumbers(Struct):
    """The files of a batch in order, with their numbers of edits; empty if unknown.

    >>> numbers = EditNumbers((("guide.md", 2), ("tea.md", 1)))
    >>> numbers.named(1), numbers.named(2)
    ('edit 2 of guide.md', 'edit 1 of tea.md')
    >>> numbers.listed([0, 1]), numbers.listed([0, 2])
    ('edits 1 and 2 of guide.md', 'edit 1 of guide.md and edit 1 of tea.md')
    """

    files: tuple[tuple[str, int], ...] = ()

    def named(self, index: int, file: str | None = None, *, within: str | None = None) -> str:
        """Return the name of the edit at `index`, as in ``edit 2 of guide.md``.

        `file` overrides the name of its file, which is omitted if it equals `within`.
        """
        path, number = self.place(index)
        of = file or path
        return f"edit {number}" + (f" of {of}" if of and path != within else "")

    def number(self, index: int, *, within: str | None = None) -> str:
        """Return the number of the edit at `index`: ``2 of guide.md``, or ``2`` within that file."""
        return self.named(index, within=within).removeprefix("edit ")

    def listed(self, indexes: Iterable[int], *, within: str | None = None) -> str:
        """Return several edits by file: ``edits 1 and 2 of guide.md``; `within` as in `named`."""
        by_file: dict[str | None, list[str]] = {}
        for path, number in map(self.place, sorted(indexes)):
            by_file.setdefault(path, []).append(str(number))
        parts = [
            f"{'edit' if len(numbers) == 1 else 'edits'} {listed(numbers, 'and')}"
            + (f" of {path}" if path and path != within else "")
            for path, numbers in by_file.items()
        ]
        return listed(parts, "and")

    def place(self, index: int) -> tuple[str | None, int]:
        """Return file and number of the edit at `index`; if files are unknown, None and the batch number."""
        first = 0
        for path, count in self.files:
            if index < first + count:
                return path, index - first + 1
            first += count
        return None, index + 1


class Plan(Struct, kw_only=True):
    """The text edits of all files.

    `requested` has the normalized edits of the batch by file, and `options` its options, so that it can be
    planned again; files changed only by the engine have no entry. `effects` are what each edit removes and
    inserts, and where. `intent` is the author's purpose. Sequences in the plan of a manifest are loaded from
    disk when read.
    """

    plan_id: PlanId
    engine: str
    files: Sequence[FileChange]
    requested: Sequence[Sequence[Mapping[str, Any]]]
    options: Mapping[str, bool | str]
    effects: Sequence[tuple[Effect, ...]]
    results: Sequence[EditResult]
    warnings: tuple[Diagnostic, ...]
    intent: Intent = NO_INTENT

    @property
    def edit_numbers(self) -> EditNumbers:
        """The numbers of its edits, for people."""
        return EditNumbers(
            tuple((file.path, len(edits)) for file, edits in zip(self.files, self.requested, strict=True))
        )

    @property
    def is_no_op(self) -> bool:
        """True if no file changes."""
        return all(change.is_no_op for change in self.files)

    @property
    def undoes(self) -> str | None:
        """The transaction that it undoes; None for the plan of a batch."""
        first = next((edit for edits in self.requested for edit in edits), {})
        transaction = first.get("transaction")
        return str(transaction) if first.get("op") == UNDO and transaction is not None else None

    @property
    def undone_files(self) -> tuple[str, ...]:
        """Return the files of an undo that leaves others of its transaction alone; none of a whole one."""
        is_part = any(edit.get("part") for edits in self.requested for edit in edits)
        return tuple(change.path for change in self.files) if self.undoes and is_part else ()


def canonical_json(value: object) -> bytes:
    """Serialize `value` as canonical JSON in UTF-8: sorted keys, no whitespace.

    Lone surrogates, which represent undecodable bytes, are escaped.
    """
    text = _ENCODER.encode(value)
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text).encode("utf-8")


def edit_list_to_json(edits: EditList) -> list[list[object]]:
    """Convert `edits` to ``[start, end, new text]`` triples with character offsets."""
    return [[edit.span.start, edit.span.end, edit.new_text] for edit in edits]


def edit_list_from_json(triples: object) -> EditList | None:
    """Parse the result of `edit_list_to_json`; None if invalid."""
    if not isinstance(triples, list):
        return None
    edits: list[TextEdit] = []
    for triple in triples:
        match triple:
            case [int(start), int(end), str(new_text)] if 0 <= start <= end:
                edits.append(TextEdit(Span(start, end), new_text))
            case _:
                return None
    edit_list = EditList.of(edits)
    return None if isinstance(edit_list, Overlap) else edit_list
