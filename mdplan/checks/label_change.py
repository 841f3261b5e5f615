"""Labels and footnotes that name another definition after a change."""

from collections.abc import Iterator

from mdplan.diagnostics import Code, Diagnostic
from mdplan.field_names import short_name
from mdplan.markdown.links import all_definitions, label_uses
from mdplan.markdown.outline import Outline
from mdplan.text.source import DocumentFormat


def retargeted_labels(old: Outline | None, new: Outline) -> Iterator[Diagnostic]:
    """LINK_RETARGETED for labels of links and footnotes whose first definition is another one in `new`.

    The first definition counts. One whose text alone is another was edited, and its uses are meant.
    """
    if old is None or new.format is not DocumentFormat.MARKDOWN:
        return
    before, after = all_definitions(old), all_definitions(new)
    text_before = {label: [old.text_of(span).strip() for span in spans] for label, spans in before.items()}
    text_after = {label: [new.text_of(span).strip() for span in spans] for label, spans in after.items()}
    shifted = {
        label
        for label, texts in text_before.items()
        if (now := text_after.get(label)) and now[0] != texts[0] and (texts[0] in now or now[0] in texts)
    }
    used = {use.label for use in label_uses(old)} if shifted else set()
    for use in label_uses(new) if shifted & used else ():
        if use.label in shifted & used:
            line = new.source.lines.line_at(after[use.label][0].start)
            place = new.source.lines.position(use.span.start)
            yield Diagnostic.warning(
                Code.LINK_RETARGETED,
                f"`{short_name(new.text_of(use.span))}` at line {use.line} uses the definition "
                f"of line {line}, and used another one before",
                "give one of the definitions another label",
                place=place,
            )
