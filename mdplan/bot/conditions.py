"""Tests the conditions of a manifest on a file: first on its bytes, then on its text.

Checking the bytes is quick and may say yes where the answer is no, never the other way round: a file that
this check rules out is not parsed, and its conditions would not have been met.
"""

import codecs
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

from mdplan.bot.expansion import ManifestProblem, Path, Values, filled, filled_text
from mdplan.bot.manifest import Condition
from mdplan.data.content import value_matches
from mdplan.diagnostics import Code, Diagnostic
from mdplan.markdown.addresses import find_by_path
from mdplan.markdown.format_detection import FrontMatterFormat
from mdplan.markdown.front_matter import FrontMatterContent, Unreadable
from mdplan.markdown.front_matter_edits import data_content, unreadable
from mdplan.markdown.outline import Outline
from mdplan.markdown.pattern_problem import pattern_problem
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import Span, to_lf
from mdplan.text.pattern import MatchType, Pattern, PatternFailure, PatternProblem, required_texts
from mdplan.text.source import DocumentFormat, keeps_ascii, may_contain


@dataclass(frozen=True)
class FileFacts:
    """Facts about a file that conditions test, computed lazily: `outline`, and `values` of placeholders."""

    outline: Outline
    values: Values

    @cached_property
    def front_matter(self) -> tuple[FrontMatterFormat, dict[str, Any]]:
        """Values of the front matter; none where it is missing, or cannot be read."""
        content = self.outline.front_matter_content
        if isinstance(content, FrontMatterContent):
            return content.format, content.values
        return FrontMatterFormat.YAML, {}

    @property
    def written_front_matter(self) -> dict[str, Any]:
        """The same values with numbers as they are written."""
        content = self.outline.front_matter_content
        return content.data.written_values if isinstance(content, FrontMatterContent) else {}


@dataclass(frozen=True)
class BytePrefilter:
    """`data` of a file that is read in `encoding`, None for the one that is found."""

    data: bytes
    encoding: str | None = None

    @cached_property
    def is_readable(self) -> bool:
        """Whether its ASCII characters are bytes of the same number, and all others none of these."""
        return keeps_ascii(self.data, self.encoding)

    @cached_property
    def may_have_front_matter(self) -> bool:
        """Whether it may begin with front matter."""
        return not self.is_readable or _MAY_BEGIN_FRONT_MATTER.match(self.data) is not None

    def may_have(self, text: str) -> bool:
        """Whether it may contain `text`, by the letter but for line ends."""
        return may_contain(self.data, self.encoding, text)

    def may_have_section(self, title: str) -> bool:
        """Whether it may have a heading that is rendered as `title`, in whatever case and markup.

        Markup adds characters to the letters of a title and takes none away, but for entities.
        """
        letters = _PLAIN.sub("", title.lower()).encode("ascii")
        if not letters or not self.is_readable or not _MARKUP.isdisjoint(title):
            return True
        return self._has_underlines or any(_contains(line, letters) for line in self._headings)

    @cached_property
    def _headings(self) -> list[bytes]:
        """What is after the marks of lines that may be ATX headings, in lower case."""
        return [line.lower() for line in _ATX.findall(self._lines)]

    @cached_property
    def _has_underlines(self) -> bool:
        """Whether there may be setext headings; the fences of front matter are none."""
        front_matter = _FRONT_MATTER.match(self._lines)
        return _UNDERLINE.search(self._lines, front_matter.end() if front_matter else 0) is not None

    @cached_property
    def _lines(self) -> bytes:
        return self.data.removeprefix(codecs.BOM_UTF8).replace(b"\r", b"\n")


def may_be_met(condition: Condition, raw: BytePrefilter, values: Values) -> bool:
    """Whether a file of these bytes can fulfil `condition`; `values` are those known of any file."""
    return (
        all(raw.may_have_section(title) for title in _fixed(condition.has_section[-1:], values))
        and all(raw.may_have(text) for text in _fixed(condition.has_text, values))
        and all(_may_match(text, raw) for text in _fixed([condition.matches or ""], values) if text)
        and (raw.may_have_front_matter or not (condition.has_front_matter or condition.front_matter))
        and all(may_be_met(each, raw, values) for each in condition.all_)
        and (not condition.any_ or any(may_be_met(each, raw, values) for each in condition.any_))
    )


def _may_match(pattern: str, raw: BytePrefilter) -> bool:
    texts = required_texts(to_lf(pattern))
    return texts is None or any(map(raw.may_have, texts))


def is_met(condition: Condition, facts: FileFacts, path: Path) -> bool | ManifestProblem:
    """Whether `condition`, at `path` of the manifest, is met. Errors: INVALID_ARGUMENT, INVALID_REGEX, …."""
    for part in _parts(condition, facts, path):
        answer = part()
        if answer is not True:
            return answer
    return True


def _parts(
    condition: Condition, facts: FileFacts, path: Path
) -> Iterator[Callable[[], bool | ManifestProblem]]:
    """All conditions, the cheapest first."""
    if condition.has_text:
        yield lambda: _texts(condition.has_text, facts, (*path, "hasText"), _has_text)
    if condition.has_front_matter or condition.front_matter is not None:
        yield lambda: _readable(facts, path)
    if condition.has_front_matter:
        yield lambda: _texts(condition.has_front_matter, facts, (*path, "hasFrontMatter"), _has_key)
    if condition.front_matter is not None:
        expected = condition.front_matter
        yield lambda: _values(expected, facts, (*path, "frontMatter"))
    if condition.has_section:
        yield lambda: _section(condition.has_section, facts, (*path, "hasSection"))
    if condition.matches is not None:
        yield lambda: _texts((condition.matches or "",), facts, (*path, "matches"), _matches)
    for index, each in enumerate(condition.all_):
        yield lambda each=each, index=index: is_met(each, facts, (*path, "all", index))  # type: ignore[misc]
    if condition.any_:
        yield lambda: _any_of(condition.any_, facts, (*path, "any"))
    if condition.not_ is not None:
        denied = condition.not_
        yield lambda: _negated(is_met(denied, facts, (*path, "not")))


def _readable(facts: FileFacts, path: Path) -> bool | ManifestProblem:
    """Whether front matter can be read, or is none; FRONT_MATTER_INVALID for what nobody can tell."""
    content = data_content(facts.outline)
    if not isinstance(content, Unreadable) or facts.outline.format is not DocumentFormat.MARKDOWN:
        return True
    problem = unreadable(facts.outline, content)
    return ManifestProblem(replace(problem, hint="correct these lines, or name the file in `exclude`"), path)


def _any_of(conditions: Sequence[Condition], facts: FileFacts, path: Path) -> bool | ManifestProblem:
    for index, each in enumerate(conditions):
        answer = is_met(each, facts, (*path, index))
        if answer is not False:
            return answer
    return False


def _negated(answer: bool | ManifestProblem) -> bool | ManifestProblem:  # noqa: FBT001 (an answer, not a flag)
    return answer if isinstance(answer, ManifestProblem) else not answer


def _texts(
    texts: Sequence[str], facts: FileFacts, path: Path, has: Callable[[str, FileFacts], bool | Diagnostic]
) -> bool | ManifestProblem:
    for text in texts:
        wanted = filled_text(text, facts.values)
        answer = has(wanted, facts) if isinstance(wanted, str) else wanted
        if answer is not True:
            return answer if answer is False else ManifestProblem(answer, path)
    return True


def _has_text(text: str, facts: FileFacts) -> bool:
    return to_lf(text) in facts.outline.view.text


def _has_key(key: str, facts: FileFacts) -> bool:
    return _value_at(key, facts.front_matter[1]) is not _ABSENT


def _matches(pattern: str, facts: FileFacts) -> bool | Diagnostic:
    text = facts.outline.view.text
    regex = Pattern(text=to_lf(pattern), match_type=MatchType.REGEX)
    matches = regex.find(text, Span(0, len(text)), facts.outline.limits.pattern_seconds)
    if isinstance(matches, PatternProblem) and matches.failure is not PatternFailure.TOO_MANY:
        return pattern_problem(matches)
    return bool(matches)


def _values(expected: dict[str, Any], facts: FileFacts, path: Path) -> bool | ManifestProblem:
    format_, values = facts.front_matter
    for key, template in expected.items():
        wanted = filled(template, facts.values) if isinstance(template, str) else template
        if isinstance(wanted, Diagnostic):
            return ManifestProblem(wanted, (*path, key))
        value = _value_at(key, values)
        if value is _ABSENT or not value_matches(format_, value, wanted):
            return False
    return True


def _section(heading_path: Sequence[str], facts: FileFacts, path: Path) -> bool | ManifestProblem:
    titles: list[str] = []
    for title in heading_path:
        text = filled_text(title, facts.values)
        if isinstance(text, Diagnostic):
            return ManifestProblem(text, path)
        titles.append(text)
    section = find_by_path(facts.outline, titles)
    if not isinstance(section, Diagnostic) or section.code is Code.AMBIGUOUS_HEADING:
        return True
    return False if section.code is Code.SECTION_NOT_FOUND else ManifestProblem(section, path)


_ABSENT = object()


def _value_at(key: str, values: dict[str, Any]) -> object:
    value: Any = values
    for part in key.split("."):
        if not isinstance(value, dict) or part not in value:
            return _ABSENT
        value = value[part]
    return value


def _fixed(texts: Sequence[str], values: Values) -> Iterator[str]:
    """Yield those of `texts` that are known of any file."""
    for template in texts:
        text = filled(template, values)
        if isinstance(text, str):
            yield text


# --- Questions to the bytes of a file, before it is decoded or parsed
#
# Every answer "no" is certain; "yes" only means that a closer look is needed.

_MAY_BEGIN_FRONT_MATTER: Final = lazy_pattern(rb"[\s\x80-\xff]*+(?:[-+;{<%]|[A-Za-z][\w-]*+:)")
_ATX: Final = lazy_pattern(rb"#[ \t]([^\n]*)")
_UNDERLINE: Final = lazy_pattern(rb"^[ \t>]*(?:=+|-+)[ \t]*$", re.MULTILINE)
_FRONT_MATTER: Final = lazy_pattern(rb"---[ \t]*\n(?![ \t]*\n).*?\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_PLAIN: Final = lazy_pattern(r"[^a-z0-9]+")

# A title with these may be markup, whose letters no heading needs to have.
_MARKUP: Final = frozenset("[]<>&\\")

# What may represent letters of ASCII: entities, and two letters whose lower case has one.
_STAND_INS: Final = lazy_pattern("&|\u212a|\u0130".encode())


def _contains(line: bytes, letters: bytes) -> bool:
    """Whether `line` has all `letters` in their order, or something that may stand for any of them."""
    at = -1
    for letter in letters:
        at = line.find(letter, at + 1)
        if at < 0:
            return _STAND_INS.search(line) is not None
    return True
