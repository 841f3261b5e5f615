"""replace_match: replace text that a pattern finds."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, Literal

from pydantic import Field

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.matches import Eligible, with_breaks
from mdplan.markdown.outline import Outline
from mdplan.operations.base.match import MatchOperation, MatchSelection
from mdplan.operations.base.operation import Claim, Resolution
from mdplan.operations.base.text_in_line import text_in_line
from mdplan.text.edit import TextEdit
from mdplan.text.line_end_view import to_lf, with_line_ends
from mdplan.text.lines import Span
from mdplan.text.pattern import MatchType, Pattern, longest_word, required_texts

# With any other field the pattern is not of exact case, or must occur.
_OPTIONAL_FIELDS: Final = frozenset(
    {"op", "pattern", "replacement", "matchSelection", "include", "exclude", "nodeExclusions", "comment"}
    | {"matchType", "multiline", "dotAll", "softBreaks"}
)


class ReplaceMatch(MatchOperation):
    r"""Replace text that a pattern finds, in the whole file, in a section, or in lines.

    Exactly one match is required unless `matchSelection`, `expectedMatchCount`, `minMatches` or
    `maxMatches` says otherwise. Matches inside code, link destinations, image sources, front matter and
    HTML do not count by default: see `include` and `exclude`. The replacement is literal; with
    `matchType: "regex"` the groups ``\1`` and ``\g<name>`` are filled in. With `softBreaks` a name that is
    wrapped over a line end is found too, also in quotes and lists, and the new text keeps the break.
    """

    example: ClassVar[dict[str, object]] = {
        "op": "replace_match",
        "pattern": "nightly",
        "replacement": "stable",
    }

    op: Literal["replace_match"]
    replacement: str = Field(description="New text; may be empty.")

    @classmethod
    def required_texts(cls, edit: Mapping[str, Any]) -> tuple[str, ...] | None:
        """The pattern, where it may be absent; of a regular expression its literals."""
        pattern, kind = edit.get("pattern"), edit.get("matchType", MatchType.LITERAL)
        if not isinstance(pattern, str) or not set(edit) <= _OPTIONAL_FIELDS:
            return None
        if edit.get("softBreaks", False) is not False:
            # A blank may be a line end in the file.
            pattern = longest_word(pattern) if kind == MatchType.LITERAL else pattern.replace(" ", r"\s")
        if kind == MatchType.REGEX:
            compiled = Pattern(text=to_lf(pattern), match_type=MatchType.REGEX)
            is_sound = compiled.unknown_group(str(edit.get("replacement"))) is None
            return required_texts(compiled.text) if is_sound else None
        return (pattern,) if kind == MatchType.LITERAL and pattern else None

    def already_satisfied(self, problem: Diagnostic, outline: Outline) -> bool:
        """Whether nothing matches, and the edit does not say how many matches there must be.

        Where there are too many matches, the problem has a place.
        """
        del outline
        counts = (self.expected_match_count, self.min_matches, self.max_matches)
        return (
            problem.code is Code.MATCH_COUNT_MISMATCH
            and problem.place is None
            and counts == (None, None, None)
        )

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """One replacement a selected match.

        Errors: those of the target, RANGE_OUT_OF_BOUNDS, INVALID_REGEX, REGEX_TIMEOUT, BATCH_TOO_LARGE,
        MATCH_COUNT_MISMATCH, INVALID_ARGUMENT for a group that the pattern does not have, and for a line
        break in a cell of a table or inside a heading.
        """
        selection = self.find(outline)
        group = self.compiled().unknown_group(self.replacement)
        problems = selection if not isinstance(selection, MatchSelection) else ()
        if group is not None:
            problems += (_unknown_group(group),)
        if problems or not isinstance(selection, MatchSelection):
            return problems
        edits = self._edits(outline, selection)
        if isinstance(edits, Diagnostic):
            return (edits,)
        return Resolution(
            claims=tuple(
                Claim(span=match.span, owner=outline.section_at(match.span.start).index)
                for match in selection.chosen
            ),
            edits=edits,
            section=selection.section,
            matches=selection.report(replaced=len(selection.chosen)),
            warnings=selection.warnings,
            is_evidence=self.is_evidence,
        )

    def _edits(self, outline: Outline, selection: MatchSelection) -> tuple[TextEdit, ...] | Diagnostic:
        expand = self.compiled().expander(to_lf(self.replacement))
        edits: list[TextEdit] = []
        # A short pattern and replacement can represent any amount of text.
        most = outline.limits.result_characters
        written = 0
        for match in selection.chosen:
            new_text = expand(match.found)
            written += len(new_text)
            if written > most:
                return _too_much(most)
            span = match.span
            if match.breaks:
                span, new_text = _with_breaks(outline, match, new_text, edits)
            if new_text != to_lf(outline.text_of(span)):
                fitting = text_in_line(outline, span, new_text)
                if isinstance(fitting, Diagnostic):
                    return fitting
                new_text = fitting
                line_end = outline.view.line_end_around(span.start)
                edits.append(TextEdit(span, with_line_ends(new_text, line_end)))
        return tuple(edits)


def _with_breaks(
    outline: Outline, match: Eligible, new_text: str, before: Sequence[TextEdit]
) -> tuple[Span, str]:
    """What to replace, and `new_text` with the soft breaks of `match`, so that lines keep their length.

    Where the new text has no blank for a break, it takes the place of a blank next to the match.
    """
    if "\n" in new_text or "\n" in match.text:
        return match.span, new_text
    new_text, left = with_breaks(new_text, match.text, match.breaks)
    if left is None:
        return match.span, new_text
    text, start, end = outline.source.text, match.span.start, match.span.end
    floor = before[-1].span.end if before else 0
    if text[end : end + 1] == " " and not text[end + 1 : end + 2].isspace():
        return Span(start, end + 1), new_text + left.text
    if start > floor and text[start - 1] == " " and not text[start - 2 : start - 1].isspace():
        return Span(start - 1, end), left.text + new_text
    return match.span, new_text


def _too_much(most: int) -> Diagnostic:
    return Diagnostic(
        code=Code.BATCH_TOO_LARGE,
        message=f"the replacements would be longer than {most} characters together",
        hint="use a shorter replacement or select fewer matches, or raise `--max-file-bytes`",
    )


def _unknown_group(group: str) -> Diagnostic:
    return Diagnostic.invalid(
        f"replacement refers to the group `{group}`, which the pattern does not have",
        "use groups of the pattern, or matchType literal",
    )
