"""replace_match: replace text that a pattern finds; near misses for text that an edit expects.

`text_in_line` fits new text into the block around it, and `with_nearest_lines` and `with_nearest_ranges`
explain an `expectedText` that is not where it should be: other operations use them too.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final, Literal, Self

from pydantic import Field, field_validator, model_validator

from mdplan.diagnostics import Code, Diagnostic, Problems, Refused, both
from mdplan.markdown.blocks import Block, BlockKind
from mdplan.markdown.matches import (
    EXCLUDED_BY_DEFAULT,
    UNDECIDED,
    Eligible,
    Matches,
    exclusion_of,
    find_matches,
    pattern_problem,
    with_breaks,
)
from mdplan.markdown.outline import Outline
from mdplan.markdown.sections import Section
from mdplan.markdown.table_edits import with_escaped_pipes
from mdplan.markdown.tables import NodeKind, prefix_after, with_prefix
from mdplan.operations.base import (
    Claim,
    Count,
    LinesField,
    Match,
    MatchReport,
    ReplacingOperation,
    Resolution,
    SectionTargeted,
    located_lines,
)
from mdplan.text.edit import TextEdit
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import NearMiss, Span, lf_pattern, to_lf, with_line_ends
from mdplan.text.near_misses import SearchTerm, describe_near_misses, find_near_misses
from mdplan.text.pattern import MatchType, Pattern, PatternProblem, has_words, needed_text, required_texts
from mdplan.text.source import DocumentFormat
from mdplan.values import Struct, replace
from mdplan.words import Argument, either, say

# With any other field the pattern is not of exact case, or must occur.
_OPTIONAL_FIELDS: Final = frozenset(
    {"op", "pattern", "replacement", "matchSelection", "include", "exclude", "nodeExclusions", "comment"}
    | {"matchType", "multiline", "dotAll", "softBreaks"}
)
_SELECTION: Final = lazy_pattern(r"all|([1-9][0-9]{0,8})(?:-([1-9][0-9]{0,8}))?")
_LINE_BREAK: Final = lazy_pattern(r"[ \t]*\n[ \t]*")
_ONE: Final = "expected exactly 1"
# How many matches a message lists.
_LISTED: Final = 10
_ONLY_CASE: Final = lazy_pattern(r"case at column \d+(?: and \d+ more)?")
_LONGEST_SHOWN: Final = 60
_CELL_END: Final = lazy_pattern(r"(?<!\\)\|")
_CONTAINER_MARKS: Final = lazy_pattern(r"[ \t]*(?:(?:>|[-+*](?=[ \t])|\d{1,9}[.)](?=[ \t]))[ \t]*)*")
_TEXT_BLOCKS: Final = frozenset({BlockKind.PARAGRAPH, BlockKind.HEADING})


class MatchSelection(Struct):
    """Matches of one operation, and the indexes (0-based) of those it selects; `section` is the scope."""

    section: Section | None
    matches: Matches
    selected: range

    @property
    def chosen(self) -> list[Eligible]:
        """Return the selected matches."""
        return [self.matches.eligible[index] for index in self.selected]

    def report(self, *, replaced: int) -> MatchReport:
        """Return what the report says of the matches."""
        return MatchReport(
            found=len(self.matches.eligible),
            replaced=replaced,
            matches=tuple(
                Match(span=match.span, selected=index in self.selected)
                for index, match in enumerate(self.matches.eligible)
            ),
            excluded=self.matches.excluded,
            line_ends_normalized=self.matches.line_ends_normalized,
        )

    @property
    def warnings(self) -> Problems:
        """UNDECIDED_NODE where matches were skipped for want of a proof."""
        count = self.matches.excluded.get(UNDECIDED, 0)
        if not count:
            return ()
        which = "skipped 1 match because its" if count == 1 else f"skipped {count} matches because their"
        message = f"{which} place in the Markdown could not be proven"
        return (Code.UNDECIDED_NODE.warning(message, say("use {replace_range} there")),)


class ReplaceMatch(ReplacingOperation, SectionTargeted):
    r"""Replace text that a pattern finds, in the whole file, in a section, or in lines.

    Exactly one match is required unless `matchSelection`, `expectedMatchCount`, `minMatches` or
    `maxMatches` says otherwise. Matches inside code, link destinations, image sources, front matter and
    HTML do not count by default: see `include` and `exclude`. The replacement is literal; with
    `matchType: "regex"` the groups ``\1`` and ``\g<name>`` are filled in. A name that is wrapped over a line
    end is found too, also in quotes and lists, and the new text keeps the break; `softBreaks: false` finds
    it on one line only. Of regular expressions that is for those without wildcards such as ``.``, ``\s``,
    ``^`` and ``$``, unless they have `softBreaks: true`.
    With `preview` nothing is replaced: the report lists the matches, any number of them.
    """

    example: ClassVar[dict[str, object]] = {"pattern": "nightly", "replacement": "stable"}
    target_is_required: ClassVar = False
    accepts_root: ClassVar = True
    accepts_nested: ClassVar = True
    needs_markdown: ClassVar = False
    quotes_text: ClassVar = True
    satisfied_by: ClassVar = frozenset({Code.MATCH_COUNT_MISMATCH})

    op: Literal["replace_match"]
    pattern: Annotated[str, Field(min_length=1)] = Field(description="Text or regular expression to find.")
    match_type: MatchType = Field(default=MatchType.LITERAL, description="literal or regex.")
    case_sensitive: bool = Field(default=True, description="Whether case matters.")
    multiline: bool = Field(default=True, description="Regex: ^ and $ match at line ends.")
    dot_all: bool = Field(default=False, description="Regex: . matches line ends.")
    lines: LinesField | None = Field(default=None, description="Search these lines only: {start, end}.")
    soft_breaks: bool | None = Field(
        default=None,
        description="A blank also matches a line end inside a paragraph; by default for patterns of words.",
    )
    include: tuple[NodeKind, ...] = Field(default=(), description="Node kinds to match in after all.")
    exclude: tuple[NodeKind, ...] = Field(default=(), description="Further node kinds to leave alone.")
    match_selection: str | None = Field(
        default=None, description='Which matches: "all", "3", or "2-4" (1-based, inclusive).'
    )
    expected_match_count: Count | None = Field(default=None, description="Exact number of matches.")
    min_matches: Count | None = Field(default=None, description="Least number of matches.")
    max_matches: Count | None = Field(default=None, description="Greatest number of matches.")
    replacement: str = Field(description="New text; may be empty.")
    preview: bool = Field(default=False, description="List the matches, any number, and replace nothing.")

    @field_validator("match_selection")
    @classmethod
    def _check_selection(cls, value: str | None) -> str | None:
        match = _SELECTION.fullmatch(value) if value is not None else None
        if value is not None and match is None:
            raise ValueError('use "all", "1" for the first match, or a range such as "2-4"')
        if match and match[2] and int(match[2]) < int(match[1]):
            raise ValueError("the range runs backwards")
        return value

    @model_validator(mode="after")
    def _check_combination(self) -> "ReplaceMatch":
        both = set(self.include) & set(self.exclude)
        counts = self.min_matches, self.max_matches
        problems = (
            (bool(both), f"{', '.join(sorted(both))} cannot be both included and excluded"),
            (
                self.lines is not None and bool(self._given_targets()),
                say("give {lines} or a section, not both"),
            ),
            (
                self.expected_match_count is not None and counts != (None, None),
                say("{expectedMatchCount} excludes {minMatches} and {maxMatches}"),
            ),
            (
                None not in counts and (self.min_matches or 0) > (self.max_matches or 0),
                say("{minMatches} is greater than {maxMatches}"),
            ),
        )
        for wrong, msg in problems:
            if wrong:
                raise ValueError(msg)
        return self

    @classmethod
    def required_texts(cls, edit: Mapping[str, Any]) -> tuple[str, ...] | None:
        """Return literals of the pattern that every file with a match contains, if a match is optional."""
        pattern, kind = edit.get("pattern"), edit.get("matchType", MatchType.LITERAL)
        # The minimum number of matches can also say that it may be absent.
        fields = {name for name, value in edit.items() if (name, value) != ("minMatches", 0)}
        if not isinstance(pattern, str) or not {"replacement"} <= fields <= _OPTIONAL_FIELDS:
            return None
        if kind not in {MatchType.LITERAL, MatchType.REGEX}:
            return None
        is_regex, asked = kind == MatchType.REGEX, edit.get("softBreaks")
        joins_lines = has_words(pattern, is_regex=is_regex) if asked is None else bool(asked)
        return _needed_texts(
            pattern, str(edit.get("replacement")), is_regex=is_regex, joins_lines=joins_lines
        )

    @property
    def needed_texts(self) -> tuple[str, ...] | None:
        """The pattern, or the literals of a regular expression."""
        if not self.case_sensitive:
            return None
        is_regex = self.match_type is MatchType.REGEX
        return _needed_texts(self.pattern, self.replacement, is_regex=is_regex, joins_lines=self.joins_lines)

    def already_satisfied(self, problem: Diagnostic, outline: Outline) -> bool:
        """Return True if nothing matches, and the edit does not require a number of matches."""
        counts = (self.expected_match_count, self.min_matches, self.max_matches)
        is_any = counts == (None, None, None) and not self.preview
        return is_any and super().already_satisfied(problem, outline)

    def resolve(self, outline: Outline) -> Resolution:
        """Return one replacement a selected match.

        Errors: as for the target, RANGE_OUT_OF_BOUNDS, INVALID_REGEX, REGEX_TIMEOUT, BATCH_TOO_LARGE,
        MATCH_COUNT_MISMATCH, INVALID_ARGUMENT for a group that the pattern does not have, and for a line
        break in a cell of a table or inside a heading.
        """
        selection, _ = both(lambda: self.find(outline), self._check_groups)
        replaced = () if self.preview else selection.chosen
        edits = self._edits(outline, replaced)
        return Resolution(
            claims=tuple(
                Claim(span=match.span, owner=outline.section_at(match.span.start).index) for match in replaced
            ),
            edits=edits,
            section=selection.section,
            matches=selection.report(replaced=len(replaced)),
            warnings=selection.warnings,
            why_unguarded=self._why_unguarded,
            is_evidence=self.preview or (self.is_evidence and self._is_sole(outline, selection)),
        )

    def _check_groups(self) -> None:
        group = self.compiled().unknown_group(self.replacement)
        if group is not None:
            raise Code.INVALID_ARGUMENT.refused(
                say("{replacement} refers to the group `{}`, which the pattern does not have", group),
                say('use groups of the pattern, or {matchType="literal"}'),
            )

    def located(self, outline: Outline) -> Self:
        """Return the edit with line numbers instead of line hashes. Errors: TEXT_MISMATCH."""
        if self.lines is None or not (self.lines.start_hash or self.lines.end_hash):
            return self
        lines, proof = located_lines(outline, self.lines)
        return self.located_at({"lines": lines}, is_unique=bool(proof.value))

    def _is_sole(self, outline: Outline, selection: MatchSelection) -> bool:
        """Return True if the lines that it names have all that the file has of its pattern."""
        if self.lines is None or self.is_located:
            return True
        return outline.view.text.count(self.compiled().text) <= len(selection.matches.eligible)

    def _edits(self, outline: Outline, replaced: Sequence[Eligible]) -> tuple[TextEdit, ...]:
        expand = self.compiled().expander(to_lf(self.replacement))
        edits: list[TextEdit] = []
        # A short pattern and replacement can represent any amount of text.
        most = outline.limits.result_characters
        written = 0
        for match in replaced:
            new_text = expand(match.found)
            written += len(new_text)
            if written > most:
                raise Code.BATCH_TOO_LARGE.refused(
                    f"the replacements would be longer than {most} characters together",
                    either(
                        "use a shorter replacement or select fewer matches", say("raise {--max-file-bytes}")
                    ),
                )
            span = match.span
            if match.breaks:
                span, new_text = _with_breaks(outline, match, new_text, edits)
            if new_text != to_lf(outline.text_of(span)):
                new_text = text_in_line(outline, span, new_text)
                line_end = outline.view.line_end_around(span.start)
                edits.append(TextEdit(span, with_line_ends(new_text, line_end)))
        return tuple(edits)

    def find(self, outline: Outline) -> MatchSelection:
        """Return the matches of the pattern, and which of them are selected.

        Errors: as for the target, RANGE_OUT_OF_BOUNDS, INVALID_REGEX, REGEX_TIMEOUT, BATCH_TOO_LARGE,
        MATCH_COUNT_MISMATCH.
        """
        section = self.named_section(outline)
        scope = self._scope(outline, section)
        matches = find_matches(
            outline, self.compiled(), scope, self._excluded_kinds(), soft_breaks=self.joins_lines
        )
        if isinstance(matches, PatternProblem):
            raise Refused(pattern_problem(matches))
        selected = self._selected(len(matches.eligible))
        if not self._count_is_expected(len(matches.eligible)) or selected is None:
            raise Refused(self._count_mismatch(outline, scope, matches))
        return MatchSelection(section, matches, selected)

    def compiled(self) -> Pattern:
        """Return the pattern with its options."""
        is_regex = self.match_type is MatchType.REGEX
        text = lf_pattern(self.pattern, is_regex=is_regex)
        return Pattern(
            text=_LINE_BREAK.sub(" ", text) if self.joins_lines and not is_regex else text,
            match_type=self.match_type,
            case_sensitive=self.case_sensitive,
            multiline=self.multiline,
            dot_all=self.dot_all,
        )

    @property
    def joins_lines(self) -> bool:
        """True if a blank of the pattern also matches a line end."""
        if self.soft_breaks is not None:
            return self.soft_breaks
        return has_words(self.pattern, is_regex=self.match_type is MatchType.REGEX)

    def _excluded_kinds(self) -> frozenset[NodeKind]:
        return (EXCLUDED_BY_DEFAULT - set(self.include)) | set(self.exclude)

    def _scope(self, outline: Outline, section: Section | None) -> Span:
        if section is not None:
            return section.span
        if self.lines is None:
            return Span(0, len(outline.source.text))
        count = outline.source.lines.count
        if self.lines.end > count:
            raise Refused(self.lines.outside(count))
        return outline.source.lines.span(self.lines.start, self.lines.end)

    def _count_is_expected(self, found: int) -> bool:
        if self.expected_match_count is not None:
            return found == self.expected_match_count
        if self.min_matches is not None or self.max_matches is not None:
            least = self.min_matches if self.min_matches is not None else 0
            return least <= found and (self.max_matches is None or found <= self.max_matches)
        if self.match_selection is not None:
            return found > 0
        return found == 1 or self.preview

    def _selected(self, found: int) -> range | None:
        """Return indexes (0-based) of the selected matches, or None if one does not exist."""
        match = _SELECTION.fullmatch(self.match_selection or "all")
        assert match is not None
        if match[1] is None:
            return range(found)
        first = int(match[1])
        last = int(match[2] or match[1])
        return range(first - 1, last) if last <= found else None

    @property
    def is_evidence(self) -> bool:
        """True if it fixes what is removed: a literal of exact case that must occur exactly so often."""
        exact_count = self.expected_match_count is not None or (
            self.match_selection is None and self.min_matches is None and self.max_matches is None
        )
        literal = self.match_type is MatchType.LITERAL and self.case_sensitive
        return literal and exact_count

    @property
    def _why_unguarded(self) -> str:
        """Which of its options lets it match text that the caller did not see; empty where none does."""
        if self.match_type is not MatchType.LITERAL:
            return "a regular expression is not a guard"
        if not self.case_sensitive:
            return "a case-insensitive pattern is not a guard"
        if not self.is_evidence:
            option = (
                say("{matchSelection} without {expectedMatchCount}")
                if self.match_selection
                else "a range of counts"
            )
            return say("{} is not a guard", option)
        return ""

    def _count_mismatch(self, outline: Outline, scope: Span, matches: Matches) -> Diagnostic:
        found = len(matches.eligible)
        near = self._near_misses(outline, scope, matches) if not found else ()
        places = [outline.source.lines.position(match.span.start) for match in matches.eligible[:_LISTED]]
        listing = ", ".join(f"{place.line}:{place.col}" for place in places)
        message = f"the pattern has {found} {'match' if found == 1 else 'matches'}"
        message += f" ({listing}{', …' if found > _LISTED else ''})" if listing else ""
        return Code.MATCH_COUNT_MISMATCH.problem(
            say("{}; {}", message, self._expectation()),
            self._count_hint(found, matches.excluded, near) + self._as_written(outline, near),
            place=places[0] if places else None,
            near=near or None,
        )

    def _near_misses(self, outline: Outline, scope: Span, matches: Matches) -> tuple[NearMiss, ...]:
        """Places that come closest to the pattern: in the `scope`, else anywhere."""
        view, pattern = outline.view, to_lf(self.pattern)
        everywhere, inside = Span(0, len(view.text)), view.span_in_view(scope)
        if self.match_type is not MatchType.LITERAL:
            at = view.text.find(pattern, inside.start, inside.end)
            return (_literal(outline, Span(at, at + len(pattern))),) if at >= 0 else ()
        folded = outline.folded

        def in_excluded_node(span: Span) -> str:
            kind = exclusion_of(outline, view.span_in_text(span), self._excluded_kinds())
            return f"skipped: in {kind}" if kind else ""

        wanted = SearchTerm(text=pattern, any_case=not self.case_sensitive, or_exact=False)
        near = find_near_misses(folded, wanted, inside, in_excluded_node)
        if near or matches.excluded or inside == everywhere:
            return near
        scope_is = "lines" if self.lines is not None else "section"
        return find_near_misses(
            folded, replace(wanted, or_exact=True), everywhere, lambda _: f"outside the given {scope_is}"
        )

    def _as_written(self, outline: Outline, near: tuple[NearMiss, ...]) -> str:
        """Return advice to send the nearest text as written, if only its case differs."""
        if not near or not _ONLY_CASE.fullmatch(near[0].differs):
            return ""
        start = outline.source.lines.start(near[0].line) + near[0].col - 1
        written = outline.source.text[start : start + len(self.pattern)]
        is_same = written.casefold() == self.pattern.casefold() and len(written) <= _LONGEST_SHOWN
        return f"; send `{written}` as the pattern" if is_same and "`" not in written else ""

    def _expectation(self) -> str:
        if self.expected_match_count is not None:
            return say("{expectedMatchCount} is {}", self.expected_match_count)
        if self.min_matches is not None or self.max_matches is not None:
            least, most = self.min_matches or 0, self.max_matches
            if most is None:
                return f"at least {least} are expected"
            return f"from {least} to {most} are expected"
        if self.match_selection is not None:
            return say('{matchSelection} is "{}"', self.match_selection)
        return _ONE

    def _count_hint(self, found: int, excluded: Mapping[str, int], near: tuple[NearMiss, ...]) -> str:
        left_out = ", ".join(f"{count} in {kind}" for kind, count in sorted(excluded.items()))
        if found > 1 and self._expectation() == _ONE:
            also = f"; also skipped: {left_out}" if left_out else ""
            return say('use a longer pattern, a section, or {matchSelection="all"} or "1" (1-based){}', also)
        if left_out:
            kinds = [kind for kind in sorted(excluded) if kind != UNDECIDED]
            advice = say("add {} to match there", Argument("include", kinds[:1])) if kinds else ""
            places = describe_near_misses(near) if near else ""
            return either(f"skipped: {left_out}", advice, places, joint="; ")
        if near:
            return describe_near_misses(near)
        if found:
            return "correct the expected count"
        also = say("{step similar} shows similar places")
        return either("check spelling and case against the file", also, joint="; ")


def _needed_texts(
    pattern: str, replacement: str, *, is_regex: bool, joins_lines: bool
) -> tuple[str, ...] | None:
    """Return texts such that every match of `pattern` contains at least one, or None if unknown."""
    if joins_lines:
        # A blank may be a line end in the file.
        pattern = pattern.replace(" ", r"\s") if is_regex else needed_text(pattern, joins_lines=True)
    if not is_regex:
        return (pattern,) if pattern else None
    compiled = Pattern(text=to_lf(pattern), match_type=MatchType.REGEX)
    return required_texts(compiled.text) if compiled.unknown_group(replacement) is None else None


def _with_breaks(
    outline: Outline, match: Eligible, new_text: str, before: Sequence[TextEdit]
) -> tuple[Span, str]:
    """Return the span to replace, and `new_text` with the soft breaks of `match`, to keep line lengths.

    A break for which the new text has no space replaces a space next to the match.
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
    marks = _CONTAINER_MARKS.match(
        text, outline.source.lines.start(outline.source.lines.line_at(start)), start
    )
    has_text_before = marks is not None and marks.end() < start - 1
    if (
        has_text_before
        and start > floor
        and text[start - 1] == " "
        and not text[start - 2 : start - 1].isspace()
    ):
        return Span(start - 1, end), left.text + new_text
    return match.span, new_text


def _literal(outline: Outline, found: Span) -> NearMiss:
    """Return the place `found` in the view at which a regular expression without a match occurs as text."""
    span, lines = outline.view.span_in_text(found), outline.source.lines
    start = lines.position(span.start)
    return NearMiss(
        line=start.line,
        col=start.col,
        end_line=lines.line_at(span.end - 1),
        differs="kind (the pattern occurs there as literal text)",
    )


# --- New text for a part of a line: what the block of the line lets it be.


def text_in_line(outline: Outline, span: Span, new_text: str) -> str:
    """Return `new_text` (LF newlines) as it can replace the text of `span`.

    In a table cell its pipes are escaped. Lines after a break get the prefix of quotes and list items. If
    `span` itself contains newlines or whole rows, the text stays as it is.

    Errors: INVALID_ARGUMENT for a newline inside a cell, or inside a heading.
    """
    if outline.format is not DocumentFormat.MARKDOWN or not ("|" in new_text or "\n" in new_text):
        return new_text
    old = outline.text_of(span)
    leaf = outline.tree.leaf_at(span.start)
    if leaf is None or "\n" in old or "\r" in old:
        return new_text
    lines = outline.source.lines
    line = lines.line_at(span.start)
    if leaf.kind is BlockKind.TABLE:
        return new_text if _CELL_END.search(old) else _in_cell(line, new_text)
    if "\n" not in new_text or leaf.kind not in _TEXT_BLOCKS:
        return new_text
    behind = outline.source.text[span.end : lines.content_end(line)]
    if leaf.kind is BlockKind.HEADING and behind.strip(" \t#") and line == leaf.last_line:
        raise Refused(_no_break(line, "heading", "end the match at the end of the heading, or use one line"))
    return _in_containers(outline, leaf, line, span, new_text)


def _in_cell(line: int, new_text: str) -> str:
    if "\n" in new_text:
        raise Refused(
            _no_break(line, "cell of a table", "write `<br>` for a line break, or replace whole rows")
        )
    return with_escaped_pipes(new_text)


def _no_break(line: int, where: str, hint: str) -> Diagnostic:
    return Diagnostic.invalid(
        f"the new text has a line break, and the match at line {line} is in a {where}", hint
    )


def _in_containers(outline: Outline, leaf: Block, line: int, span: Span, new_text: str) -> str:
    start = outline.source.lines.start(line)
    marks = _CONTAINER_MARKS.match(outline.source.text, start, span.start)
    if not leaf.depth or marks is None or marks.end() > span.start:
        return new_text
    prefix = prefix_after(marks[0])
    first, *others = new_text.split("\n")
    return "\n".join([first, *(_behind(prefix, each) for each in others)])


def _behind(prefix: str, line: str) -> str:
    """Return `line` after `prefix`, unless it has it already."""
    bare = prefix.rstrip(" \t")
    has_it = line.startswith(prefix) or (bare and line.lstrip(" ").startswith(bare.lstrip(" ")))
    return line if has_it else with_prefix(prefix, line)


# --- Diagnostics for an `expectedText` that is not where it should be.


def with_nearest_lines(outline: Outline, problem: Diagnostic, expected: str, at: Span | None) -> Diagnostic:
    """Return `problem` with the lines that are most similar to the lines `expected`.

    `at` is their expected place, or None if the file does not have it.
    """
    wanted = SearchTerm(
        text=to_lf(expected).removesuffix("\n"), whole_lines=True, addressed=_in_view(outline, at)
    )
    return _with_nearest(outline, problem, wanted, lambda _: "")


def with_nearest_ranges(outline: Outline, problem: Diagnostic, expected: str, at: Span | None) -> Diagnostic:
    """Return `problem` with the ranges that are most similar to the text `expected`.

    `at` is its expected place, or None if the file does not have it.
    """
    addressed = _in_view(outline, at)
    lines = outline.folded.lines

    def remark(span: Span) -> str:
        if span == addressed:
            return ""
        start, end = lines.position(span.start), lines.position(span.end)
        return f"from {start.line}:{start.col} to {end.line}:{end.col}"

    return _with_nearest(outline, problem, SearchTerm(text=to_lf(expected), addressed=addressed), remark)


def _in_view(outline: Outline, span: Span | None) -> Span | None:
    return None if span is None else outline.view.span_in_view(span)


def _with_nearest(
    outline: Outline, problem: Diagnostic, wanted: SearchTerm, remark: Callable[[Span], str]
) -> Diagnostic:
    near = find_near_misses(outline.folded, wanted, Span(0, len(outline.folded.text)), remark)
    if not near:
        return problem
    return replace(problem, near=near, hint=say("{}; {}", describe_near_misses(near), problem.hint))
