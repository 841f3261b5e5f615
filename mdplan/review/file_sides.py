"""One file of a plan, before and after."""

from dataclasses import dataclass
from functools import cached_property

from mdplan.diagnostics import Diagnostic
from mdplan.markdown.format_detection import document_format
from mdplan.markdown.outline import Outline
from mdplan.plan import FileChange
from mdplan.planning.replay import replay_file
from mdplan.text.diff import Hunk, find_hunks
from mdplan.text.edit import EditList, TextEdit
from mdplan.text.lines import LineIndex, Span
from mdplan.text.source import ByteEdit, EncodeProblem, Source, sha256_hex


@dataclass(frozen=True)
class FileSides:
    """`change` of a plan, and the `base` that its text edits are of (no text where the file is created)."""

    change: FileChange
    base: Source

    @classmethod
    def of(cls, change: FileChange, base: Source) -> "FileSides | Diagnostic":
        """Both sides, if `change` makes of `base` what it says. Errors: PLAN_TAMPERED."""
        replayed = replay_file(change, base)
        return replayed if isinstance(replayed, Diagnostic) else cls(change, base)

    @cached_property
    def edits(self) -> EditList:
        """Its text edits; those of a file that is deleted take all of its text."""
        if self.change.result_sha256 is not None:
            return self.change.edits
        text = self.base.text
        return EditList((TextEdit.delete(Span(0, len(text))),) if text else ())

    @cached_property
    def result_text(self) -> str:
        """The text afterwards, in which unknown bytes are lone surrogates (see `Source`)."""
        return self.edits.apply(self.base.text)

    @cached_property
    def result_lines(self) -> LineIndex:
        """Line table of the result."""
        return LineIndex(self.result_text)

    @cached_property
    def base_outline(self) -> Outline:
        """Structure of the base."""
        return self._outline(self.base)

    @cached_property
    def result_outline(self) -> Outline:
        """Structure of the result."""
        return self._outline(self.result_view) if self.edits.edits else self.base_outline

    @cached_property
    def view(self) -> Source:
        """The base as UTF-8: hunks are cut at LF bytes, which other encodings have inside characters."""
        return _as_utf8(self.base.text)

    @cached_property
    def result_view(self) -> Source:
        """The result in the same way."""
        return _as_utf8(self.result_text)

    @cached_property
    def byte_edits(self) -> tuple[ByteEdit, ...]:
        """The text edits as edits of the bytes of `view`, one for each."""
        byte_edits = self.view.planned_byte_edits(self.edits)
        assert not isinstance(byte_edits, EncodeProblem), "UTF-8 can encode all that a plan writes"
        return byte_edits

    @cached_property
    def hunks(self) -> tuple[Hunk, ...]:
        """Hunks of the diff, as bytes of `view`."""
        return find_hunks(self.view.data, self.byte_edits)

    def _outline(self, source: Source) -> Outline:
        change = self.change
        return Outline(source, document_format(change.new_path or change.path, source.text, change.format))


def _as_utf8(text: str) -> Source:
    """`text` as the content of a file in UTF-8 without a byte order mark, whatever it contains."""
    data = text.encode("utf-8", "surrogateescape")
    return Source(data=data, text=text, encoding="utf-8", bom=b"", sha256=sha256_hex(data), invalid_bytes=0)
