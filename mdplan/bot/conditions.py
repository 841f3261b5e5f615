"""Test the conditions of a manifest on a file: first on its bytes, then on its text.

The fast byte check has no false negatives: files that it rules out need no parsing.
"""

import codecs
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import takewhile
from typing import Any, Final

from mdplan.bot.expansion import ManifestProblem, Path, Values, filled, filled_text, placed
from mdplan.bot.manifest import Condition
from mdplan.data.address import find
from mdplan.data.content import DataContent, value_matches
from mdplan.data.tree import value_at
from mdplan.diagnostics import Code, Diagnostic, or_problem
from mdplan.markdown.addresses import find_by_path
from mdplan.markdown.front_matter import Unreadable
from mdplan.markdown.front_matter_edits import data_content, unreadable
from mdplan.markdown.matches import pattern_problem
from mdplan.markdown.outline import Outline
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import Span, to_lf
from mdplan.text.pattern import MatchType, Pattern, PatternFailure, PatternProblem, required_texts
from mdplan.text.source import DocumentFormat, keeps_ascii, may_contain
from mdplan.values import Struct, replace


class FileFacts(Struct, dict=True):
    """Lazily computed facts about a file: `outline` and placeholder `values`."""

    outline: Outline
    values: Values

    @cached_property
    def front_matter(self) -> tuple[DocumentFormat, dict[str, Any]]:
        """The values of the front matter; empty if it is missing or unreadable."""
        content = self.outline.front_matter_content
        if isinstance(content, DataContent):
            return DocumentFormat(content.language), content.values
        return DocumentFormat.YAML, {}

    @property
    def written_front_matter(self) -> dict[str, Any]:
        """The same values with numbers as written."""
        content = self.outline.front_matter_content
        return content.written_values if isinstance(content, DataContent) else {}


class BytePrefilter(Struct, dict=True):
    """The bytes of a file; `encoding` is None if it is to be detected."""

    data: bytes
    encoding: str | None = None

    @cached_property
    def is_readable(self) -> bool:
        """True if ASCII characters are single equal bytes, and other characters contain none."""
        return keeps_ascii(self.data, self.encoding)

    @cached_property
    def may_have_front_matter(self) -> bool:
        """True if it may start with front matter."""
        return not self.is_readable or _MAY_BEGIN_FRONT_MATTER.match(self.data) is not None

    def may_have(self, text: str) -> bool:
        """Return True if it may contain `text`, ignoring newline style."""
        return may_contain(self.data, self.encoding, text)

    def may_have_section(self, title: str) -> bool:
        """Return True if it may have a heading that renders as `title`, ignoring case.

        Markup only adds characters to the letters of a title, except for entities.
        """
        letters = _PLAIN.sub("", title.lower()).encode("ascii")
        if not letters or not self.is_readable or not _MARKUP.isdisjoint(title):
            return True
        return self._has_underlines or any(_contains(line, letters) for line in self._headings)

    @cached_property
    def _headings(self) -> list[bytes]:
        """Lines that may be ATX headings, without marks, in lower case."""
        return [line.lower() for line in _ATX.findall(self._lines)]

    @cached_property
    def _has_underlines(self) -> bool:
        """True if there may be setext headings; front matter fences do not count."""
        front_matter = _FRONT_MATTER.match(self._lines)
        return _UNDERLINE.search(self._lines, front_matter.end() if front_matter else 0) is not None

    @cached_property
    def _lines(self) -> bytes:
        return self.data.removeprefix(codecs.BOM_UTF8).replace(b"\r", b"\n")


def may_be_met(condition: Condition, raw: BytePrefilter, values: Values) -> bool:
    """Return True if a file with these bytes may meet `condition`; `values` apply to all files."""
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


def unmet(condition: Condition, facts: FileFacts, path: Path) -> str:
    """Return why the file does not meet `condition`, at `path` of the manifest; empty if it does.

    Raise `ManifestProblem`.
    """
    return next(filter(None, _parts(condition, facts, path)), "")


def _parts(condition: Condition, facts: FileFacts, path: Path) -> Iterator[str]:
    """Yield why each part is false, or an empty text, cheapest first."""

    def texts(
        name: str, given: Iterable[str], has: Callable[[str, FileFacts], bool], no: str
    ) -> Iterator[str]:
        for template in given:
            with placed((*path, name)):
                text = filled_text(template, facts.values)
                yield "" if has(text, facts) else f"{name}: {no} `{text}`"

    yield from texts("hasText", condition.has_text, _has_text, "the file has no")
    if condition.has_front_matter or condition.front_matter is not None:
        _check_readable(facts, path)
    yield from texts("hasFrontMatter", condition.has_front_matter, _has_key, "the front matter has no")
    yield from _values(condition.front_matter or {}, facts, (*path, "frontMatter"))
    if condition.has_section:
        with placed((*path, "hasSection")):
            titles = [filled_text(title, facts.values) for title in condition.has_section]
            has = _has_section(titles, facts)
            yield "" if has else f"hasSection: the file has no section `{' / '.join(titles)}`"
    patterns = [] if condition.matches is None else [condition.matches]
    yield from texts("matches", patterns, _matches, "nothing matches")
    for index, each in enumerate(condition.all_):
        reason = unmet(each, facts, (*path, "all", index))
        yield reason and f"all: {reason}"
    if condition.any_:
        reasons = (unmet(each, facts, (*path, "any", index)) for index, each in enumerate(condition.any_))
        failed = list(takewhile(bool, reasons))
        yield f"any: {'; '.join(failed)}" if len(failed) == len(condition.any_) else ""
    if condition.not_ is not None:
        is_true = not unmet(condition.not_, facts, (*path, "not"))
        yield f"not: {condition.not_.shown} is true" if is_true else ""


def _check_readable(facts: FileFacts, path: Path) -> None:
    """Raise `ManifestProblem` (FRONT_MATTER_INVALID) for unreadable front matter."""
    content = data_content(facts.outline)
    if isinstance(content, Unreadable) and facts.outline.format is DocumentFormat.MARKDOWN:
        problem = unreadable(facts.outline, content)
        hint = "correct these lines, or name the file in `exclude`"
        raise ManifestProblem(replace(problem, hint=hint), path)


def _has_text(text: str, facts: FileFacts) -> bool:
    return to_lf(text) in facts.outline.view.text


def _has_key(key: str, facts: FileFacts) -> bool:
    return _value_at(key, facts.front_matter[1]) is not _ABSENT


def _matches(pattern: str, facts: FileFacts) -> bool:
    text = facts.outline.view.text
    regex = Pattern(text=to_lf(pattern), match_type=MatchType.REGEX)
    matches = regex.find(text, Span(0, len(text)), facts.outline.limits.pattern_seconds)
    if isinstance(matches, PatternProblem) and matches.failure is not PatternFailure.TOO_MANY:
        raise ManifestProblem(pattern_problem(matches))
    return bool(matches)


def _values(expected: dict[str, Any], facts: FileFacts, path: Path) -> Iterator[str]:
    format_, values = facts.front_matter if expected else (DocumentFormat.YAML, {})
    for key, template in expected.items():
        with placed((*path, key)):
            wanted = filled(template, facts.values) if isinstance(template, str) else template
        value = _value_at(key, values)
        if value is _ABSENT:
            yield f"frontMatter: there is no `{key}`"
        else:
            is_equal = value_matches(format_, value, wanted)
            yield "" if is_equal else f"frontMatter: `{key}` is `{value}`, not `{wanted}`"


def _has_section(titles: Sequence[str], facts: FileFacts) -> bool:
    section = or_problem(find_by_path, facts.outline, titles)
    if not isinstance(section, Diagnostic) or section.code is Code.AMBIGUOUS_HEADING:
        return True
    if section.code is not Code.SECTION_NOT_FOUND:
        raise ManifestProblem(section)
    return False


_ABSENT = object()


def _value_at(key: str, values: dict[str, Any]) -> object:
    """Return the value of `key`, which is read as edits read it. Raise `ManifestProblem` if it is unclear."""
    found = or_problem(find, values, key)
    if isinstance(found, Diagnostic):
        if found.code is Code.KEY_NOT_FOUND:
            return _ABSENT
        raise ManifestProblem(found)
    return _ABSENT if found.missing else value_at(values, found.path)


def _fixed(texts: Sequence[str], values: Values) -> Iterator[str]:
    """Yield the `texts` that do not depend on the file."""
    for template in texts:
        with suppress(ManifestProblem):
            text = filled(template, values)
            if isinstance(text, str):
                yield text


# --- Checks of a file's bytes before decoding: "no" is certain, "yes" requires a closer look

_MAY_BEGIN_FRONT_MATTER: Final = lazy_pattern(rb"[\s\x80-\xff]*+(?:[-+;{<%]|[A-Za-z][\w-]*+:)")
_ATX: Final = lazy_pattern(rb"#[ \t]([^\n]*)")
_UNDERLINE: Final = lazy_pattern(rb"^[ \t>]*(?:=+|-+)[ \t]*$", re.MULTILINE)
_FRONT_MATTER: Final = lazy_pattern(rb"---[ \t]*\n(?![ \t]*\n).*?\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_PLAIN: Final = lazy_pattern(r"[^a-z0-9]+")

# Possible markup, whose letters may be missing in the heading.
_MARKUP: Final = frozenset("[]<>&\\")

# Stand-ins for ASCII letters: entities, and two characters that lower-case to ASCII.
_STAND_INS: Final = lazy_pattern("&|\u212a|\u0130".encode())


def _contains(line: bytes, letters: bytes) -> bool:
    """Return True if `line` contains `letters` in order, or stand-ins for them."""
    at = -1
    for letter in letters:
        at = line.find(letter, at + 1)
        if at < 0:
            return _STAND_INS.search(line) is not None
    return True
