"""The byte prefilter of conditions rules out only files that do not meet them."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdplan.bot.conditions import BytePrefilter, FileFacts, is_met, may_be_met
from mdplan.bot.expansion import ManifestProblem, Values
from mdplan.bot.manifest import Condition
from mdplan.diagnostics import Code
from mdplan.documents.documents import Documents
from mdplan.markdown.outline import Outline
from mdplan.text.source import DocumentFormat, Source
from tests.bot.golden import open_engine, planned

VALUES = Values({"vars": {"x": "Install"}})
PAGE = """\
---
title: A
nested: {deep: 1}
when: 2024-05-06
---
# A

Text of A.

## In*stall*

Run.

Use &amp; See
---
"""


def answer(condition: dict[str, Any], text: str | bytes) -> bool | ManifestProblem:
    """What `condition` says of a file; its quick look must not deny what holds."""
    data = text if isinstance(text, bytes) else text.encode()
    source = Source.decode(data)
    assert isinstance(source, Source)
    read = Condition.model_validate(condition)
    found = is_met(read, FileFacts(Outline(source, DocumentFormat.MARKDOWN), VALUES), ())
    may = may_be_met(read, BytePrefilter(data), VALUES)
    assert may or found is False
    return found


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"hasSection": "Install"}, True),
        ({"hasSection": ["A", "install"]}, True),
        ({"hasSection": "{{vars.x}}"}, True),
        ({"hasSection": "## Install"}, True),
        ({"hasSection": "Use & See"}, True),
        ({"hasSection": ["B", "Install"]}, False),
        ({"hasSection": "Missing"}, False),
        ({"hasText": "Text of A."}, True),
        ({"hasText": ["Text", "Run."]}, True),
        ({"hasText": ["Text", "Walk."]}, False),
        ({"matches": "^Run\\.$"}, True),
        ({"matches": "^run"}, False),
        ({"hasFrontMatter": "title"}, True),
        ({"hasFrontMatter": ["title", "nested.deep"]}, True),
        ({"hasFrontMatter": "nested.deeper"}, False),
        ({"frontMatter": {"title": "A", "nested.deep": 1}}, True),
        ({"frontMatter": {"when": "2024-05-06"}}, True),
        ({"frontMatter": {"title": "B"}}, False),
        ({"frontMatter": {"missing": None}}, False),
        ({"not": {"hasText": "Text"}}, False),
        ({"not": {"hasText": "absent"}}, True),
        ({"any": [{"hasText": "absent"}, {"hasSection": "Install"}]}, True),
        ({"any": [{"hasText": "absent"}, {"hasText": "gone"}]}, False),
        ({"all": [{"hasText": "Text"}, {"not": {"hasSection": "Gone"}}]}, True),
        ({"hasText": "Text", "hasSection": "Gone"}, False),
    ],
)
def test_condition_has_the_expected_value(condition: dict[str, Any], expected: bool) -> None:
    assert answer(condition, PAGE) is expected


@pytest.mark.parametrize(
    ("condition", "code", "path"),
    [
        ({"matches": "("}, Code.INVALID_REGEX, ("matches",)),
        ({"any": [{"hasText": "{{vars.y}}"}]}, Code.INVALID_ARGUMENT, ("any", 0, "hasText")),
    ],
)
def test_invalid_condition_is_reported_with_its_position(
    condition: dict[str, Any], code: Code, path: tuple[str | int, ...]
) -> None:
    found = answer(condition, PAGE)

    assert isinstance(found, ManifestProblem)
    assert (found.problem.code, found.path) == (code, path)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_prefilter_finds_text_in_every_encoding(encoding: str) -> None:
    data = PAGE.encode(encoding)

    assert answer({"hasSection": "Install", "hasFrontMatter": "title", "hasText": "Run."}, data) is True


@pytest.mark.parametrize("line_end", ["\r\n", "\r"])
def test_byte_prefilter_finds_text_across_line_ends(line_end: str) -> None:
    text = PAGE.replace("\n", line_end)

    assert answer(
        {"hasSection": "Use & See", "hasText": "Text of A.\n\n## In", "frontMatter": {"title": "A"}}, text
    )


TITLES = st.sampled_from(
    [
        "Install",
        "In*st*all",
        "`Install`",
        "[Install](x)",
        "&#73;nstall",
        "Inst\\all",
        "INSTALL",
        "Insta\u212a",
        "Instak",
    ]
)
SHAPES = st.sampled_from(
    [
        "# {}\n",
        "## {} ##\n",
        "> # {}\n",
        "- # {}\n",
        "{}\n===\n",
        "{}\nmore\n---\n",
        "---\nk: v\n---\n# {}\n",
        "---\n\n{}\n---\n",
    ]
)


@given(SHAPES, TITLES, TITLES, st.booleans())
def test_byte_prefilter_finds_every_heading(shape: str, title: str, wanted: str, before: bool) -> None:
    answer({"hasSection": wanted}, ("Text.\n\n" if before else "") + shape.format(title))


@pytest.mark.parametrize(
    ("edits", "page", "wanted"),
    [
        ([{"pattern": r"v\d+", "matchType": "regex"}], "v1\n", True),
        ([{"pattern": r"v\d+", "matchType": "regex"}], "w1\n", False),
        ([{"pattern": "{{vars.x}} now"}], "Install now\n", True),
        ([{"pattern": "{{vars.x}} now"}], "Install later\n", False),
        ([{"pattern": "{{stem}}"}], "text\n", True),
        ([{"pattern": "one two", "softBreaks": True}], "> one\n> two\n", True),
        ([{"pattern": "one two", "softBreaks": True}], "> two\n", False),
        ([{"pattern": "one three", "softBreaks": True}], "> one\n", False),
        ([{"pattern": "old", "caseSensitive": False}], "OLD\n", True),
        ([{"pattern": "v(", "matchType": "regex"}], "none\n", True),
        ([{"pattern": r"v\d", "matchType": "regex", "replacement": r"\9"}], "none\n", True),
        ([{"pattern": "old"}, {"pattern": "new", "onlyIfChanged": True}], "new\n", False),
        ([{"pattern": "old"}, {"pattern": "new", "onlyIfChanged": True}], "old new\n", True),
    ],
)
def test_pages_without_the_literals_of_a_pattern_are_not_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, edits: list[dict[str, Any]], page: str, wanted: bool
) -> None:
    (tmp_path / "page.md").write_text(page)
    listed = [{"op": "replace_match", "replacement": "x", "matchSelection": "all", **each} for each in edits]
    # An edit of a rule follows the edits of other rules too.
    rules = [{"glob": "*.md", "edits": [each]} for each in listed]
    manifest = tmp_path / "bot.json"
    manifest.write_text(json.dumps({"vars": {"x": "Install"}, "files": rules}))
    parsed: list[str] = []
    opened = Documents.open
    monkeypatch.setattr(
        Documents, "open", lambda self, name, *rest: parsed.append(str(name)) or opened(self, name, *rest)
    )
    planned(open_engine(tmp_path), str(manifest), keeps=False)

    assert bool(parsed) is wanted
