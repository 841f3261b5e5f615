"""The warning about tags around Markdown that lose their other half."""

from collections import Counter

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.outline.enclosures import find_enclosures, may_have_tags
from mdplan.planning.build import BuiltFile


def unbalanced_tags(built: BuiltFile) -> Problems:
    """UNBALANCED_TAG for each tag of the result without its other half, where the base has fewer of it."""
    if not built.edits or built.file.is_deleted or not _may_change_tags(built):
        return ()
    before = Counter(tag.name for tag in find_enclosures(built.base).unbalanced)
    warnings: list[Diagnostic] = []
    for tag in find_enclosures(built.result).unbalanced:
        before[tag.name] -= 1
        if before[tag.name] < 0:
            half = "closing" if tag.opens else "opening"
            warnings.append(
                Diagnostic.warning(
                    Code.UNBALANCED_TAG,
                    f"the tag at line {tag.line} of the result has no {half} tag",
                    f"write the {half} tag, or take this one away",
                    place=built.result.source.lines.position(tag.start),
                ).at(file=built.file.path)
            )
    return tuple(warnings)


def _may_change_tags(built: BuiltFile) -> bool:
    """Whether an edit takes or writes a tag."""
    pieces = [built.base.text_of(edit.span) + edit.new_text for edit in built.edits]
    return any(map(may_have_tags, pieces))
