"""Sections of a document, and the names by which they are found."""

from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from mdplan.diagnostics import Code, Diagnostic, or_problem
from mdplan.documents.documents import Documents
from mdplan.documents.files import OutlineCache, OutlinedFiles, read_site_rules
from mdplan.documents.workspace import Workspace
from mdplan.engine.engine import Engine
from mdplan.markdown.addresses import find_by_anchor, find_by_id, find_by_path
from mdplan.markdown.headings import GITHUB, STYLES
from mdplan.markdown.outline import Outline
from mdplan.markdown.paths import SiteRules
from mdplan.markdown.payload import read_payload
from mdplan.markdown.sections import Section
from mdplan.planning.build import BuiltFile
from mdplan.requests.queries import StatRequest
from mdplan.storage.files import FileName
from mdplan.storage.root import Root
from mdplan.text.lines import Span
from mdplan.text.source import Source
from tests.support.case_tables import CaseTables
from tests.support.edit_trials import Document

CASE_TABLES = CaseTables(__file__)


def outline(text: str) -> Outline:
    return Outline(Source.from_text(dedent(text)))


def texts(document: Outline) -> list[str]:
    return [document.text_of(section.span) for section in document.sections]


def titles(document: Outline) -> list[str]:
    return [section.title for section in document.sections[1:]]


def test_headings_equal_in_bytes_have_different_ids() -> None:
    source = Source.decode(b"# A\xf0<b>\x9f\x98\x80\n# A\xf0\x9f\x98\x80\n")
    assert isinstance(source, Source)

    first, second = Outline(source).sections[1:]
    assert first.title != second.title
    assert (first.ordinal, second.ordinal) == (1, 2)
    assert first.section_id != second.section_id


# Sections.
@CASE_TABLES.parametrize("text")
def test_heading_look_alike_starts_no_section(text: str) -> None:
    assert len(outline(text).sections) == 1


@CASE_TABLES.parametrize("text", "title")
def test_title_is_the_heading_as_a_reader_sees_it(text: str, title: str) -> None:
    assert titles(outline(text))[0] == title


def test_anchor_keeps_the_space_next_to_an_html_anchor_like_github() -> None:
    anchors = [section.anchor for section in outline('# <a name="x"></a> In\n# In <a id="y"></a>\n').sections]

    assert anchors == [None, "-in", "in-"]


@pytest.mark.requirement("outline-2")
def test_headings_in_quotes_and_lists_delimit_nothing() -> None:
    document = outline("# A\n> ## Q\n> q\n\n- ### L\n  l\n# B\n")

    assert titles(document) == ["A", "B"]
    assert texts(document)[1] == "# A\n> ## Q\n> q\n\n- ### L\n  l\n"
    nested = [(section.path, section.nested, document.text_of(section.span)) for section in document.nested]
    assert nested == [(("A", "Q"), True, "> ## Q\n"), (("A", "L"), True, "- ### L\n")]


@pytest.mark.requirement("outline-6")
def test_definitions_at_the_end_belong_to_no_section() -> None:
    definitions = '[a]: /u\n[b]:\n  /v "t"\n\n[^c]: note\n\n    more\n\n'
    document = outline("# A\na\n\n" + definitions)

    assert document.text_of(document.sections[1].span) == "# A\na\n\n"
    assert document.text_of(Span(document.content_end, len(document.source.text))) == definitions


def test_too_deeply_nested_content_is_reported_and_the_rest_parsed() -> None:
    deep = outline("- " * 300 + "x\n\n# After\n")
    deeper = outline("# Before\n\n" + "> " * 2_000 + "x\n\n# After\n")

    assert titles(outline("- " * 50 + "x\n\n# After\n")) == ["After"]
    assert (deep.tree.nesting_limit, deeper.tree.nesting_limit) == (True, True)
    assert titles(deeper)[0] == "Before"


# IDs.
def ids(text: str) -> dict[str, str]:
    """ID of each section by its title and its number among equal paths."""
    return {
        f"{section.title}:{section.ordinal}": str(section.section_id) for section in outline(text).sections
    }


BASE = "pre\n# Guide\n## Install `x`\ntext\n## Use\n# Guide\n"


@pytest.mark.requirement("outline-3")
@pytest.mark.parametrize(
    "edited",
    [
        BASE.replace("text", "other\n\ntext\n"),
        BASE.replace("pre\n", ""),
        BASE.replace("pre\n", "---\na: 1\n---\n# New\n"),
        BASE.replace("## Install `x`", "## *Install*   x ##"),
        BASE.replace("## Install `x`", "### install X"),
        BASE.replace("## Install `x`", "Install\nx\n---"),
        BASE.replace("## Install `x`", "## [Install][] x"),
        BASE.replace("\n", "\r\n"),
        BASE + "### Another\n# Guide\n## Install x\n",
        BASE.replace("text", "> # Guide\n> ## Install x\n"),
    ],
    ids=range(10),
)
def test_id_survives_edits_elsewhere_and_new_marks(edited: str) -> None:
    before, after = ids(BASE), ids(edited)

    assert (after["Guide:1"], after["Use:1"]) == (before["Guide:1"], before["Use:1"])
    assert before["Install x:1"] in after.values()


@pytest.mark.parametrize(
    "edited",
    [
        BASE.replace("Install `x`", "Install y"),
        BASE.replace("Install `x`", "Install x!"),
        BASE.replace("# Guide\n## I", "# Handbook\n## I"),
        BASE.replace("## Install", "# Install"),
    ],
)
def test_id_ends_with_the_name_of_the_heading_or_of_one_above(edited: str) -> None:
    assert ids(BASE)["Install x:1"] not in ids(edited).values()


def test_repeated_paths_are_numbered_and_the_first_keeps_its_id() -> None:
    document = outline("> # A\n\n# A\n# a\n# **A**\n")
    sections = list(document.every_section())[1:]

    assert [(section.ordinal, section.repeats) for section in sections] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert len({section.section_id for section in sections}) == 4
    assert sections[0].section_id == outline("# A\n").sections[1].section_id


@pytest.mark.requirement("outline-3")
def test_quoted_heading_does_not_change_section_ids() -> None:
    plain, quoted = outline("# A\n# A\n"), outline("> # A\n\n# A\n# A\n")

    assert [section.section_id for section in plain.sections] == [
        section.section_id for section in quoted.sections
    ]


def test_id_depends_on_path_elements_not_on_joined_text() -> None:
    assert len(set(ids("# A B\n# A\n## B\n# A/B\n").values())) == 5


# Finding by ID and anchor.
def test_section_is_found_by_its_id_and_by_a_prefix_of_eight_digits() -> None:
    document = outline(BASE)
    section = document.sections[2]
    digits = section.section_id.removeprefix("sha256-")

    for reference in (section.section_id, digits, digits[:8], digits[:8].upper(), f"sha256-{digits[:11]}"):
        assert find_by_id(document, reference) is section


@pytest.mark.parametrize(
    ("reference", "code"),
    [
        ("sha256-0123456789abcdef", Code.SECTION_NOT_FOUND),
        ("0123456", Code.INVALID_ARGUMENT),
        ("sha256-", Code.INVALID_ARGUMENT),
        ("guide/install", Code.INVALID_ARGUMENT),
        ("", Code.INVALID_ARGUMENT),
    ],
)
def test_unknown_id_is_refused(reference: str, code: Code) -> None:
    found = or_problem(find_by_id, outline(BASE), reference)

    assert isinstance(found, Diagnostic)
    assert found.code is code
    assert found.hint


def test_section_is_found_by_the_anchor_of_its_heading() -> None:
    document = outline("# A b\n# A b\n> # C\n")

    assert find_by_anchor(document, "a-b-1") is document.sections[2]
    assert find_by_anchor(document, "#a-b") is document.sections[1]
    assert find_by_anchor(document, "c") is document.nested[0]


# Finding by heading path.
def line_of(text: str, *path: str, occurrence: int | None = None) -> int | Code:
    """First line of the section that is found, or the code of the problem."""
    found = or_problem(find_by_path, outline(text), path, occurrence)
    return found.first_line if isinstance(found, Section) else found.code


TIERS = "# Guide\n## Setup\n## `setup!`\n# setup\n## Use\n"


@pytest.mark.requirement("outline-4")
@pytest.mark.parametrize(
    ("text", "path", "line"),
    [
        # The exact full path wins over an exact suffix and over all that is canonical.
        ("# A\n## B\n# X\n## A\n### B\n# a\n## b\n", ["A", "B"], 2),
        ("# X\n## A\n# A\n# a\n", ["A"], 3),
        # An exact suffix wins over a canonical suffix.
        ("# X\n## A\n# Y\n## a\n", ["A"], 2),
        ("# X\n## A\n### B\n# Y\n## a\n### b\n", ["A", "B"], 3),
        # The canonical full path wins over a canonical suffix.
        ("# X\n## a\n# A!\n", ["A"], 3),
        # A canonical suffix is better than nothing.
        ("# X\n## `Read` the *docs*, please!\n", ["read the docs please"], 2),
        ("# X\n## B-c \N{SPARKLES}\n", ["b-c"], 2),
        # Callers may write the markup of the heading.
        ("# X\n## `fs.open(path)`\n", ["`fs.open(path)`"], 2),
        ("# X\n## fs.open\\_x\n", ["fs.open\\_x"], 2),
        ("# X\n## fs.open\\_x\n", ["fs.open_x"], 2),
        ('# X\n## B <a name="b"></a>\n', ["B"], 2),
        # Headings with an empty canonical form are compared verbatim.
        ("# ?\n# !\n", ["!"], 2),
        # A level may stand before any element.
        ("# A\n## A\n### A\n", ["## A"], 2),
        ("# A\n## A\n### A\n", ["# A", "### A"], 0),
        ("# A\n## B\n### C\n", ["## B", "### c"], 3),
        ("# A\n## # B\n", ["# B"], 2),
        ("# A\n# C# \\#\n", ["C# #"], 2),
        # The empty path is the preamble.
        ("text\n# A\n", [], 1),
        # Nested headings are found only if there is no other.
        ("> # A\n\n# X\n## a!\n", ["A"], 4),
        ("# X\n> # A\n", ["X", "A"], 2),
        ("".join(f"{'#' * level} {level}\n" for level in range(1, 7)) + "> # 7\n", list("1234567"), 7),
        # White space is collapsed.
        ("# X\n## B   c\n## B_c\n", [" B  c"], 2),
    ],
)
def test_best_tier_that_matches_wins(text: str, path: list[str], line: int) -> None:
    assert line_of(text, *path) == (line or Code.SECTION_NOT_FOUND)


@pytest.mark.requirement("outline-4")
@CASE_TABLES.parametrize("text", "path")
def test_equal_matches_are_ambiguous_without_an_occurrence(text: str, path: list[str]) -> None:
    document = outline(text)
    found = or_problem(find_by_path, document, path)

    assert isinstance(found, Diagnostic)
    assert found.code is Code.AMBIGUOUS_HEADING
    assert len(found.candidates) == 2
    for number, candidate in enumerate(found.candidates, start=1):
        picked = find_by_path(document, path, number)
        assert picked.first_line == candidate.start_line
        assert find_by_id(document, candidate.section_id) is picked
    assert line_of(text, *path, occurrence=3) == Code.AMBIGUOUS_HEADING
    assert line_of(text, *path, occurrence=0) == Code.AMBIGUOUS_HEADING


@pytest.mark.parametrize(
    ("path", "code"),
    [
        (["Nope"], Code.SECTION_NOT_FOUND),
        (["Use", "Guide"], Code.SECTION_NOT_FOUND),
        (["Guide", "Use"], Code.SECTION_NOT_FOUND),
        (["### Setup"], Code.SECTION_NOT_FOUND),
        (["### Use"], Code.SECTION_NOT_FOUND),
        ([""], Code.SECTION_NOT_FOUND),
        (["a", "b", "c", "d", "e", "f", "g", "h"], Code.INVALID_HEADING_PATH),
        (["a\nb"], Code.INVALID_HEADING_PATH),
    ],
)
def test_unknown_path_is_refused(path: list[str], code: Code) -> None:
    found = or_problem(find_by_path, outline(TIERS), path)

    assert isinstance(found, Diagnostic)
    assert found.code is code
    assert found.hint


@pytest.mark.requirement("outline-5")
def test_unknown_path_suggests_the_nearest_with_their_lines() -> None:
    found = or_problem(find_by_path, outline("# Guide\n## Installation\n"), ["Guide", "Instalation"])

    assert isinstance(found, Diagnostic)
    assert [candidate.heading_path for candidate in found.candidates] == [("Guide", "Installation")]
    assert '["Guide", "Installation"] (line 2)' in found.hint


# Structure and hashes.
def test_innermost_section_of_each_offset_is_found() -> None:
    document = outline("pre\n# A\na\n## B\nb\n# C\n")
    at = [document.section_at(offset).title for offset in (0, 4, 8, 10, 15, 17, 21)]

    assert at == ["", "A", "A", "B", "B", "C", "C"]


def test_hash_of_a_section_is_that_of_its_bytes() -> None:
    text = "pre\n# Ä\nä\n## B\nb\n"
    source = Source.decode(b"\xff\xfe" + text.encode("utf-16-le"))
    assert isinstance(source, Source)
    document = Outline(source)
    alone = Source.decode("## B\nb\n".encode("utf-16-le"), "utf-16-le")
    assert isinstance(alone, Source)

    section = document.sections[2]
    assert document.section_sha256(section) == alone.sha256[:16]
    assert document.hashed_part(section, alone.sha256.upper()) == section.span
    assert document.hashed_part(section, document.body_sha256(section)) == section.body
    assert document.hashed_part(document.sections[1], alone.sha256) is None


# --- Unchanged content is parsed once, as long as there is room for it.


@pytest.fixture
def documents(tmp_path: Path) -> Iterator[Documents]:
    workspace = Workspace.open([tmp_path])
    yield Documents(workspace, max_file_bytes=1000, max_lines=100)
    workspace.close()


def opened(documents: Documents, file: str = "a.md", encoding: str | None = None) -> Outline:
    name = documents.workspace.locate(file)
    assert isinstance(name, FileName)
    outline = documents.open(name, encoding, None)
    assert isinstance(outline, Outline)
    return outline


def test_unchanged_content_returns_the_cached_outline(documents: Documents, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n")
    first = opened(documents)
    (tmp_path / "a.md").write_text("# A\n")

    assert opened(documents) is first


def test_same_content_in_another_encoding_or_format_has_another_outline(
    documents: Documents, tmp_path: Path
) -> None:
    for name in ("a.md", "a.ini"):
        (tmp_path / name).write_text("# é\n", encoding="utf-8")

    assert opened(documents, encoding="latin-1").sections[1].title == "Ã©"
    assert opened(documents).sections[1].title == "é"
    assert len(opened(documents, "a.ini").sections) == 1


def test_number_of_cached_outlines_is_limited() -> None:
    cache = OutlineCache(max_outlines=2)
    for key in ("first", "second", "third"):
        cache.keep(key, cached_outline(4))

    assert [cache.get(key, b"xxxx") is None for key in ("first", "second", "third")] == [True, False, False]


def cached_outline(size: int) -> Outline:
    return Outline(Source.from_text("x" * size))


def test_least_recently_used_outlines_are_evicted() -> None:
    cache = OutlineCache(max_bytes=10)
    first, second, third = cached_outline(4), cached_outline(4), cached_outline(4)
    cache.keep("first", first)
    cache.keep("second", second)
    assert cache.get("first", b"xxxx") is first
    cache.keep("third", third)

    assert [cache.get(key, b"xxxx") for key in ("first", "second", "third")] == [first, None, third]


def test_evicted_outline_frees_its_space() -> None:
    cache = OutlineCache(max_bytes=10)
    for number in range(100):
        cache.keep(number, cached_outline(5))
        cache.keep(number, cached_outline(5))

    assert [number for number in range(100) if cache.get(number, b"xxxxx")] == [98, 99]


def test_versions_of_a_file_are_cached() -> None:
    cache = OutlineCache(max_bytes=10)
    first, second = Outline(Source.from_text("one")), Outline(Source.from_text("two"))
    cache.keep("file", first)
    cache.keep("file", second)

    assert (cache.get("file", b"one"), cache.get("file", b"two")) == (first, second)
    assert cache.get("file", b"six") is None


def test_document_larger_than_the_cache_is_not_cached() -> None:
    cache = OutlineCache(max_bytes=10)
    small = cached_outline(1)
    cache.keep("small", small)
    cache.keep("big", cached_outline(11))

    assert cache.get("big", b"x" * 11) is None
    assert cache.get("small", b"x") is small


def test_committed_result_is_not_parsed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.md").write_text("# A\n\nold\n", encoding="utf-8")
    engine = Engine.open([tmp_path])
    edit = {"op": "append_to_section", "heading": "A", "markdown": "## B"}
    sha256 = engine.stat(StatRequest(file="a.md")).base_sha256
    assert engine.apply({"file": "a.md", "baseSha256": sha256, "edits": [edit]}).ok
    monkeypatch.delattr(OutlinedFiles, "outline")

    report = engine.stat(StatRequest(file="a.md"))

    assert [section.level for section in report.sections] == [1, 2]


# --- Anchors in the styles of site generators.
#
# The table has the anchors of MkDocs' Python-Markdown 3.11 and pymdown-extensions 13.1, VitePress 1.6,
# and Hugo 0.168.

COLUMNS = ("vitepress", "python-markdown", "pymdownx", "hugo")

TABLE = {
    "Zwei & Drei": ("zwei-drei", "zwei-drei", "zwei--drei", "zwei--drei"),
    "**Bold** _it_ snake_case": ("bold-it-snake-case", *["bold-it-snake_case"] * 3),
    "`code<T>` here": ("code-t-here", "codet-here", "code-here", "codet-here"),
    "A ![logo](i.png) z": ("a-z", "a-z", "a-z", "a-logo-z"),
    "Über Straße ǅ": ("uber-straße-dz", "uber-strae-dz", "über-straße-ǆ", "über-straße-ǆ"),
    "हिन्दी x² Ⅻ": ("हिन्दी-x2-xii", "x2-xii", "हनद-x²-ⅻ", "हनद-x-"),
    "1. First": ("_1-first", "1-first", "1-first", "1-first"),
    "C++ / C#": ("c-c", "c-c", "c--c", "c--c"),
    "⚙️ Settings": ("⚙️-settings", "settings", "-settings", "-settings"),
    "中文，标题": ("中文-标题", "_1", "中文标题", "中文标题"),
    "!!!": ("", "_1", "_1", "heading"),
    "Ending -": ("ending", "ending-", "ending--", "ending--"),
    "it's “q” — dash": ("it-s-q-—-dash", "its-q-dash", "its-q--dash", "its-q--dash"),
    "Cafe\u0301": ("cafe", "cafe", "café", "cafe"),
    "The --force flag": ("the-force-flag", "the-force-flag", "the---force-flag", "the-force-flag"),
    "`--force` x": ("force-x", "-force-x", "--force-x", "--force-x"),
}


def anchors(text: str, style: str) -> list[str | None]:
    outline = Outline(Source.from_text(text), slugs=STYLES[style])
    return [section.anchor for section in outline.headings]


@pytest.mark.parametrize("title", TABLE)
def test_anchor_is_that_of_the_site_generator(title: str) -> None:
    found = [anchors(f"# {title}\n", style)[0] for style in COLUMNS]

    assert tuple(found) == TABLE[title]


@CASE_TABLES.parametrize("style", "wanted")
def test_repeated_and_empty_anchors_get_the_suffixes_of_the_generator(style: str, wanted: list[str]) -> None:
    text = "# A\n\n# A\n\n# A-1\n\n# X {#own}\n\n# Own\n\n# !\n\n# ?\n"

    assert anchors(text, style) == wanted


def test_python_markdown_counts_own_ids_below_and_goes_on_from_a_number() -> None:
    text = "# Own\n\n# A_1\n\n# A_1\n\n# A\n\n# A\n\n# X {#own}\n"

    assert anchors(text, "python-markdown") == ["own_1", "a_1", "a_2", "a", "a_3", "own"]


def test_hugo_takes_the_last_line_of_a_heading() -> None:
    assert anchors("Set\n*text*\n===\n", "hugo") == ["text"]
    assert anchors("Set\r\n*text*\r\n===\r\n", "hugo") == ["text"]


def rules_in(folder: Path) -> SiteRules:
    root = Root.open(folder)
    try:
        found = read_site_rules(root)
    finally:
        root.close()
    assert isinstance(found, SiteRules)
    return found


def test_mkdocs_configuration_selects_its_slug_style(tmp_path: Path) -> None:
    (tmp_path / "mkdocs.yml").write_text("site_name: X\ndocs_dir: 'manual'  # theirs\n")
    rules = rules_in(tmp_path)

    assert rules.slugs_of("manual/a.md") is STYLES["python-markdown"]
    assert rules.slugs_of("README.md") is GITHUB
    assert rules.roots == ()

    (tmp_path / "mkdocs.yml").write_text(
        "markdown_extensions:\n  - toc:\n      slugify: !!python/object/apply:pymdownx.slugs.slugify\n"
    )
    assert rules_in(tmp_path).slugs_of("docs/a.md") is STYLES["pymdownx"]


def test_own_rules_take_precedence_over_mkdocs(tmp_path: Path) -> None:
    (tmp_path / "mkdocs.yml").write_text("site_name: X\n")
    (tmp_path / "mdplan.toml").write_text('[links]\nslugs = "github"\n')

    assert rules_in(tmp_path).slugs_of("docs/a.md") is GITHUB


def test_anchors_change_when_the_rules_do(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# A & B\n")
    with Engine.open(tmp_path) as engine:
        before = engine.stat({"file": "docs/a.md", "detail": "full"})
        (tmp_path / "mkdocs.yml").write_text("site_name: X\n")
        after = engine.stat({"file": "docs/a.md", "detail": "full"})

    assert [section.anchor for section in before.sections] == ["a--b"]
    assert [section.anchor for section in after.sections] == ["a-b"]


# --- Footnote definitions contain blocks, as on GitHub, and these can be edited.

TEXT = CASE_TABLES.value("TEXT")


@CASE_TABLES.parametrize("edit", "old", "new")
def test_blocks_in_footnotes_are_edited(edit: dict[str, Any], old: str, new: str) -> None:
    built = Document("a.md", TEXT.encode()).plan(edit)

    assert isinstance(built, BuiltFile), built
    assert built.result.source.text == TEXT.replace(old, new)


def test_item_in_the_line_of_a_footnote_marker_is_not_removed() -> None:
    text = "[^1]: - three\n"
    problems = Document("a.md", text.encode()).plan({"op": "remove_list_item", "item": "three"})

    assert not isinstance(problems, BuiltFile)


def test_definitions_and_footnotes_at_the_end_belong_to_no_section() -> None:
    outline = Outline(Source.from_text(TEXT))

    assert outline.content_end == TEXT.index("[^1]: Note")
    assert [block.kind.value for block in outline.tree.roots[2:]] == [
        "footnote definition",
        "footnote definition",
        "definition",
    ]


def test_heading_in_a_footnote_is_nested() -> None:
    outline = Outline(Source.from_text("# A\n\n[^1]:\n    # B\n"))

    assert [(section.title, section.nested) for section in outline.headings] == [("A", False), ("B", True)]


def test_footnotes_in_one_line_do_not_overlap() -> None:
    roots = Outline(Source.from_text("[^1]: [^2]: # A\n\nText.\n")).tree.roots

    assert [(block.first_line, block.last_line) for block in roots] == [(1, 1), (3, 3)]


# --- Markdown that callers want to insert.


@CASE_TABLES.parametrize("markdown", "text")
def test_blank_lines_around_a_payload_do_not_belong_to_it(markdown: str, text: str) -> None:
    payload = read_payload(markdown)

    assert payload.text == text
    assert payload.is_blank is (text == "")


def test_blank_lines_in_a_payload_cost_no_more_than_others() -> None:
    """Each of them a look at all the others would take hours: the time limit of the tests would end it."""
    text = "a" + "\n" * 200_000 + "b"

    assert read_payload(text).text == text
