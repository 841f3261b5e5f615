"""save_file: take over a whole file that an editor or a model rewrote, as edits of the changes."""

from functools import partial
from typing import ClassVar, Literal

from pydantic import Field

from mdplan.data.tree import DataError, Language
from mdplan.diagnostics import Code, Problems
from mdplan.markdown.outline import Outline
from mdplan.merge.data import with_values_of
from mdplan.merge.reconcile import Reconciled, Unproven, reconcile
from mdplan.operations.base import Claim, Operation, Resolution
from mdplan.text.diff import replaced_lines
from mdplan.text.lines import to_lf
from mdplan.text.source import DocumentFormat
from mdplan.words import say


class SaveFile(Operation):
    """Take over a whole file as an editor or a model returned it, and only change what has another meaning.

    `markdown` is the whole new text. A block with the same meaning keeps its bytes; in other blocks only
    words, items, rows, cells, lines of code and keys change, in the style of the file. Other bullets,
    markers, escapes, wrapping, padding and typographic quotes are no change; the plan reports what it took
    for style. `serialized` is the file as the same editor writes it unchanged, if you have it: then only
    differences between the two count, and what that editor always drops stays. Without it the edit is refused
    if it drops HTML, images, footnotes, tables or front matter, unless you send ``include: ["losses"]``.
    Files of keys change by key.
    """

    example: ClassVar[dict[str, object]] = {
        "markdown": "# Plans\n\nPlans are made before edits. Apply them *at once*.\n\nA plan has an ID."
    }
    needs_markdown: ClassVar = False
    edits_source: ClassVar = True
    replaces_text: ClassVar = True

    op: Literal["save_file"]
    markdown: str = Field(description="The whole new text.")
    serialized: str | None = Field(
        default=None, description="The file, unchanged, as the same editor writes it."
    )
    include: tuple[Literal["style", "losses"], ...] = Field(
        default=(), description="What to take over too: other ways to write the same, and what was dropped."
    )

    def resolve(self, outline: Outline) -> Resolution:
        """Return edits of the lines that change. Errors: REWRITE_UNPROVEN, REWRITE_LOSES."""
        source = outline.source
        old, new = outline.view.text, to_lf(self.markdown.removeprefix("\ufeff"))
        serialized = None if self.serialized is None else to_lf(self.serialized.removeprefix("\ufeff"))
        read = partial(reconcile, keeps_style="style" in self.include)
        if outline.format is not DocumentFormat.MARKDOWN:
            read = partial(_of_keys, outline.format)
        try:
            found = read(old, new, serialized)
        except Unproven as problem:
            raise Code.REWRITE_UNPROVEN.refused(
                f"the change at line {problem.line} of the new text cannot be carried over: {problem.reason}",
                say("send that change as an edit of its own, or the other changes without it"),
            ) from None
        if found.losses and "losses" not in self.include:
            raise Code.REWRITE_LOSES.refused(
                f"the new text drops {', '.join(found.losses)}",
                say('if it is meant, send {include=["losses"]}; else {serialized} shows what is lost anyway'),
            )
        warnings: Problems = ()
        if found.style:
            message = f"taken for style, and left as it was: {', '.join(found.style)}"
            hint = say('{send include=["style"]} to take it over')
            warnings = (Code.STYLE_KEPT.warning(message, hint),)
        edits = tuple(replaced_lines(outline.view, source.lines, found.text))
        claims = tuple(
            Claim(span=edit.span, owner=outline.section_at(edit.span.start).index) for edit in edits
        )
        return Resolution(
            claims=claims, edits=edits, section=outline.sections[0], warnings=warnings,
            may_change_outline=True,
        )  # fmt: skip


def _of_keys(
    file_format: DocumentFormat, original: str, edited: str, serialized: str | None = None
) -> Reconciled:
    """Return a file of keys with the changed values; plain text is replaced."""
    if edited in {original, serialized}:
        return Reconciled(original)
    if file_format is DocumentFormat.TEXT:
        return Reconciled(edited)
    base = original if serialized is None else serialized
    try:
        text = with_values_of(Language(file_format), original, base, edited)
    except DataError as problem:
        raise Unproven(1, f"it cannot be read as {file_format}: {problem.reason}") from None
    if text is None:
        raise Unproven(1, "its keys cannot be changed one by one")
    return Reconciled(text)
