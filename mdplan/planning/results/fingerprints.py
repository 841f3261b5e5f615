"""Fingerprints of edits: their effects without offsets, to be compared on another base."""

from collections.abc import Iterable

from mdplan.markdown.outline import Outline
from mdplan.plan import Effect
from mdplan.planning.build import BuiltFile
from mdplan.planning.resolve import ResolvedEdit
from mdplan.text.line_end_view import to_lf
from mdplan.text.lines import Span
from mdplan.text.source import sha256_hex


def effects_of(built_files: Iterable[BuiltFile]) -> tuple[tuple[Effect, ...], ...]:
    """Effects of every edit of `built_files`, in batch order; those in another file come last."""
    files = list(built_files)
    there = {item.index: _effects(item) for built in files for item in built.arriving_edits}
    return tuple(_effects(item) + there.get(item.index, ()) for built in files for item in built.resolved)


def changes_of(item: ResolvedEdit) -> list[tuple[Span, str]]:
    """What one edit replaces by what, in the document that it saw, without blank lines after deletions."""
    resolution = item.resolution
    changes = [(edit.span, edit.new_text) for edit in resolution.edits]
    changes += [(_without_blank_tail(item.outline, span), "") for span in resolution.deletions]
    changes += [(Span(each.offset, each.offset), each.payload.text) for each in resolution.insertions]
    return changes


def _without_blank_tail(outline: Outline, span: Span) -> Span:
    return Span(span.start, span.start + len(outline.text_of(span).rstrip(" \t\r\n")))


def _effects(item: ResolvedEdit) -> tuple[Effect, ...]:
    return tuple(_effect(item.outline, span, text) for span, text in changes_of(item))


def _effect(outline: Outline, span: Span, new_text: str) -> Effect:
    return Effect(
        section_id=outline.section_at(max(span.start - (not len(span)), 0)).section_id,
        removed=_hash(outline.text_of(span)),
        inserted=_hash(new_text),
        around="" if len(span) else _hash(_around(outline, span.start)),
    )


def _around(outline: Outline, offset: int) -> str:
    """The line before and the line after an insertion; the line it stands in, inside one."""
    lines = outline.source.lines
    if not lines.count:
        return ""
    behind = lines.line_at(offset)
    before = behind - 1 if lines.start(behind) == offset else behind
    return "\n".join(lines.content(line) for line in (before, behind) if 1 <= line <= lines.count)


def _hash(text: str) -> str:
    return sha256_hex(to_lf(text).encode("utf-8", "surrogatepass"))[:16]
