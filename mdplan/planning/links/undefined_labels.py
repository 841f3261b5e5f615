"""Links and images by a label that a plan leaves without a definition."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from mdplan.diagnostics import Code, Diagnostic
from mdplan.field_names import short_name
from mdplan.markdown.blocks import INLINE_KINDS, BlockKind
from mdplan.markdown.inline_node import InlineKind
from mdplan.markdown.links import (
    Definition,
    ReferenceUse,
    definitions,
    normalized,
    reference_uses,
)
from mdplan.markdown.outline import Outline
from mdplan.planning.build import BuiltFile
from mdplan.text.edit import EditList, TextEdit
from mdplan.text.line_end_view import common_edges
from mdplan.text.lines import Span

_LABEL_END: Final = "]:"
_LABEL_END_SIGN: Final = re.compile(re.escape(_LABEL_END))
_LONGEST_LABEL: Final = 1_000  # CommonMark 0.31.2, section 4.7, has 999.
_LONGEST_TRIMMED: Final = 10_000
_LINKS: Final = frozenset({InlineKind.LINK, InlineKind.IMAGE})


def undefined_labels(built: BuiltFile) -> Iterator[Diagnostic]:
    """BROKEN_LINK for links and images that had a definition in the base, and have none in the result.

    The parser of the result takes them as text. A link whose brackets an edit replaced is another link.
    """
    if _LABEL_END not in built.base.source.text:
        return
    edits = EditList(tuple(_trimmed(edit, built.base.source.text) for edit in built.edits))
    uses = reference_uses(built.base) if _loses_definitions(built) else _relabelled(built.base, edits)
    labels = _Labels(built, edits)
    for use in uses:
        place = _kept_label(edits, use)
        if place is not None and labels.has_none_for(place):
            yield labels.warning(use, place)


def _relabelled(base: Outline, edits: EditList) -> Iterator[ReferenceUse]:
    """Links and images of `base` inside whose labels an edit begins and ends, each once."""
    text = base.source.text
    last = -1
    for edit in edits:
        start, end = edit.span.start, edit.span.end
        is_near = text.rfind("[", max(start - _LONGEST_LABEL, 0), start) >= 0
        if not is_near or text.find("]", end, end + _LONGEST_LABEL) < 0:
            continue
        for use in reference_uses(base, Span(start - 1, end + 1)):
            if last < use.span.start <= start and end <= use.span.end:
                last = use.span.start
                yield use


def _kept_label(edits: EditList, use: ReferenceUse) -> Span | None:
    """Where the label of `use` is in the result; None when one of its brackets is gone."""
    opening = edits.map_offset(use.span.start - 1, after=True)
    closing = edits.map_offset(use.span.end, after=True)
    return None if opening is None or closing is None else Span(opening + 1, closing)


@dataclass(frozen=True)
class _Labels:
    """The labels that base and result define; `edits` lead from one to the other."""

    built: BuiltFile
    edits: EditList

    @cached_property
    def _before(self) -> dict[str, Definition]:
        return definitions(self.built.base)

    @cached_property
    def _after(self) -> dict[str, Definition]:
        return definitions(self.built.result)

    def has_none_for(self, place: Span) -> bool:
        """Whether `place` of the result is the label of a link that has no definition."""
        result = self.built.result
        label = normalized(result, place)
        if not label or label.startswith("^") or label in self._after:
            return False
        block = result.tree.leaf_at(place.start)
        if block is None or block.kind not in INLINE_KINDS:
            return False
        if result.source.text[: place.start - 1].endswith("\\"):
            return False
        for node in result.inline.nodes_in(place):
            if node.kind in _LINKS:
                if place in (node.label, node.text):
                    return False
            elif node.span.start < place.start and place.end < node.span.end:
                return False
        return True

    def warning(self, use: ReferenceUse, place: Span) -> Diagnostic:
        """BROKEN_LINK for `use`, whose label is at `place` of the result."""
        base, result = self.built.base, self.built.result
        position = result.source.lines.position(place.start)
        old, new = base.text_of(use.span), result.text_of(place)
        change, hint = "was deleted", "keep the definition, or change the link too"
        if normalized(result, place) == use.label:
            now = self._renamed(use.label)
            if now is not None:
                change = f"now {_name(now.label)}, line {self._line(now)}"
                hint = f"rename the link too, or write {self._with_label(place, now.label)}"
        elif use.label in self._after:
            change = f"was {_name(old)}, line {self._line(self._after[use.label])}"
            hint = f"rename that too, or write {self._with_label(place, old)}"
        else:
            change, hint = f"was {_name(old)}", "give the link and its definition the same label"
        return Diagnostic.warning(
            Code.BROKEN_LINK,
            f"line {position.line}: no definition of {_name(new)} ({change})",
            hint,
            place=position,
        )

    def _renamed(self, label: str) -> Definition | None:
        """The definition of the result that had `label` in the base."""
        start = self.edits.map_offset(self._before[label].span.start, after=True)
        return next((each for each in self._after.values() if each.span.start == start), None)

    def _line(self, definition: Definition) -> int:
        return self.built.result.source.lines.line_at(definition.span.start)

    def _with_label(self, place: Span, label: str) -> str:
        """Markdown for the link with its label at `place` and the definition of `label`."""
        text = self.built.result.source.text
        is_full = text.endswith("][", 0, place.start)
        shown = "…" if is_full else short_name(text[place.start : place.end])
        return f"[{shown}][{short_name(label)}]"


def _name(label: str) -> str:
    """`label` for a message: one in code needs no more marks."""
    return short_name(label) if "`" in label else f"`{short_name(label)}`"


def _trimmed(edit: TextEdit, text: str) -> TextEdit:
    """`edit` without what its old and new text begin and end with alike, if both are short."""
    old, new = text[edit.span.start : edit.span.end], edit.new_text
    if max(len(old), len(new)) > _LONGEST_TRIMMED:
        return edit
    head, tail = common_edges(old, new)
    return TextEdit(Span(edit.span.start + head, edit.span.end - tail), new[head : len(new) - tail])


def _loses_definitions(built: BuiltFile) -> bool:
    """Whether a definition of the base is not in the result as it was."""
    if built.changed is not None:
        before = _definitions(built.base, [old for old, _ in built.changed])
        if before <= _definitions(built.result, [new for _, new in built.changed]):
            return False
    return not _definitions(built.base) <= _definitions(built.result)


def _definitions(outline: Outline, areas: Sequence[Span] | None = None) -> set[str]:
    """Definitions in `areas`, or all, as they are written."""
    if areas is None:
        return {outline.text_of(block.span).strip() for block in outline.tree.definitions}
    return {
        outline.text_of(block.span).strip()
        for area in areas
        if _LABEL_END in outline.text_of(area)
        for block in outline.tree.inside(area, _LABEL_END_SIGN)
        if block.kind is BlockKind.DEFINITION
    }
