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

PlanId = NewType("PlanId", str)
PREFIX: Final = "sha256-"

# What the plan of an undo has in place of the operation of a batch.
UNDO: Final = "undo"
_ENCODER: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)

# More would be no title, and no description that a reviewer reads.
MOST_TITLE: Final = 200
MOST_DESCRIPTION: Final = 4_000
_SURROGATE: Final = lazy_pattern("[\ud800-\udfff]")


class Intent(Struct):
    """What a plan is for: a `title` of one line, and a longer `description`; empty where nobody said."""

    title: str = ""
    description: str = ""

    @classmethod
    def of(cls, title: str, description: str) -> "Intent":
        """Normalize the whitespace of what a caller gave, so that equal texts give equal plan IDs."""
        return cls(one_line(title), plain_text(description))

    @property
    def is_short(self) -> bool:
        """Return True if neither is too long."""
        return len(self.title) <= MOST_TITLE and len(self.description) <= MOST_DESCRIPTION

    @property
    def fields(self) -> dict[str, str]:
        """Return the fields of a batch or a document that are not empty."""
        given = {"title": self.title, "description": self.description}
        return {name: text for name, text in given.items() if text}


def one_line(text: str) -> str:
    """Return `text` with single spaces for all whitespace."""
    return " ".join(text.split())


def plain_text(text: str) -> str:
    """Return `text` with LF as its newlines, and without whitespace at its ends."""
    return to_lf(text).strip()


NO_INTENT: Final = Intent()


class Range(Struct, kw_only=True):
    """Half-open range of 1-based positions."""

    start: Position
    end: Position


class MatchResult(Struct, kw_only=True):
    """One match in the base; `text` is cut at 200 characters."""

    line: int
    col: int
    text: str
    range: Range


class EditResult(Struct, kw_only=True):
    """What one edit of the batch does. `edit_index` is 0-based through the whole batch.

    `ranges` are the places in the base that it replaces, `result_lines` the lines that it writes, in the
    result. `matches` is capped; `matches_found` is exact.

    `section_id` names the section that it addressed, in the base. `new_section_id` is the ID of the first
    section that it inserts; for an edit that inserts none, the ID that the addressed section has afterwards,
    if that is another one. `new_section_sha256` is the hash of that new section, else of the addressed one
    as it is afterwards: it guards the next edit. `hunk_offsets` say by how many lines each hunk of a diff was
    moved from where its header says; absent where none was. `to_file` is the file that it moves text to:
    `result_lines` and the new section are there.
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
    """What one text edit of an edit removes and inserts, and in which section.

    `removed` and `inserted` are hashes of the texts with LF line ends; `around` is, for an insertion, the
    hash of the lines on both sides. Two equal effects do the same to the same text.
    """

    section_id: str
    removed: str
    inserted: str
    around: str


class FileChange(Struct, kw_only=True):
    """Text edits of one file. `path` is as callers write it; `encoding` and `format` are what they gave.

    `edits` are against the text whose bytes hash to `base_sha256`, and give `result_sha256`. Line counts
    are those of the diff. `base_sections` maps section IDs to hashes of their own text, so that a stale base
    can be told section by section. `base_sha256` is None for a file that is created, `result_sha256` for
    one that is deleted; `new_path` is the path that a renaming gives it. `references_updated` counts the
    links that were rewritten besides what was asked for.
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
        """Return True if the file stays as it is."""
        return self.base_sha256 == self.result_sha256 and self.new_path is None


# --- Numbers of edits as people count them: in each file from 1. Reports count through the batch from 0.


class EditNumbers(Struct):
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


class Plan(Struct, kw_only=True):
    """All files' text edits.

    `requested` holds, file by file, the normalized edits of the batch, and `options` its options, so that
    the same can be asked again; files that the engine changes besides have no edits in it. `effects` holds
    what each edit removes and inserts, and where. `intent` is what the plan is for, in the words of its
    author. The sequences of the plan of a manifest load their entries from the disk when they are read.
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
        """Return the numbers of its edits as people count them."""
        return EditNumbers(
            tuple((file.path, len(edits)) for file, edits in zip(self.files, self.requested, strict=True))
        )

    @property
    def is_no_op(self) -> bool:
        """Return True if every file stays as it is."""
        return all(change.is_no_op for change in self.files)

    @property
    def undoes(self) -> str | None:
        """Return the transaction that it undoes; None for the plan of a batch."""
        first = next((edit for edits in self.requested for edit in edits), {})
        transaction = first.get("transaction")
        return str(transaction) if first.get("op") == UNDO and transaction is not None else None


def canonical_json(value: object) -> bytes:
    """Write `value` as JSON with sorted keys and no whitespace, in UTF-8: equal values give equal bytes.

    Lone surrogates, which represent bytes that are not text, are escaped: they cannot be UTF-8.
    """
    text = _ENCODER.encode(value)
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text).encode("utf-8")


def edit_list_to_json(edits: EditList) -> list[list[object]]:
    """Convert `edits` to ``[start, end, new text]`` triples; offsets are code points."""
    return [[edit.span.start, edit.span.end, edit.new_text] for edit in edits]


def edit_list_from_json(triples: object) -> EditList | None:
    """Read the edit list that `edit_list_to_json` wrote; None for anything else."""
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


def _joined(parts: list[str]) -> str:
    """Join `parts` as ``a``, ``a and b``, or ``a, b and c``."""
    return " and ".join(part for part in (", ".join(parts[:-1]), parts[-1]) if part)
