"""Links that follow, across plan and apply: what is planned again, pinned, repeated and refused."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mdplan.checks import check_documents
from mdplan.diagnostics import Code
from mdplan.engine.engine import Engine
from mdplan.markdown import outline
from mdplan.markdown.destinations import Destination, DestinationForm, destinations, with_fragment, with_path
from mdplan.markdown.links import count_links, local_links, target_key
from mdplan.markdown.outline import Outline
from mdplan.markdown.paths import (
    as_variant,
    folder_of,
    followed,
    leads_out,
    link_between,
    page_key,
    page_variants,
)
from mdplan.memory import Document
from mdplan.planning.build import BuildResult, BuiltFile, SnapshotFile, build_file, resolve_edits
from mdplan.planning.link_changes import linked_places, may_name, possible_links, text_of_bytes
from mdplan.planning.links import derive_link_edits
from mdplan.reports.base import to_wire
from mdplan.reports.plan import ApplyReport
from mdplan.requests.batch import read_batch
from mdplan.requests.queries import StatRequest
from mdplan.settings import Settings
from mdplan.storage.filesystem import Durability
from mdplan.text.edit import EditList, TextEdit
from mdplan.text.lines import Span
from mdplan.text.source import DocumentFormat, Source
from tests.properties.strategies import characters
from tests.support.case_tables import CaseTables
from tests.support.files import NoOtherFiles
from tests.unit.test_planning import steps

CASE_TABLES = CaseTables(__file__)


GUIDE = "# Guide\n\n## Install\n\n## Use\n"
RENAME = {"op": "rename_heading", "heading": "Install", "newTitle": "Setup"}
BATCH: dict[str, Any] = {"file": "guide.md", "updateReferences": "workspace", "edits": [RENAME]}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path, "guide.md", GUIDE)
    write(tmp_path, "docs/a.md", "[x](../guide.md#install) [y](../guide.md#use)\n")
    return tmp_path


@pytest.fixture
def engine(root: Path) -> Iterator[Engine]:
    engine = Engine.open([root], settings=Settings(durability=Durability.PROCESS))
    with engine.workspace:
        yield engine


def write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="")


def read(root: Path, name: str) -> str:
    return (root / name).read_bytes().decode()


def codes(report: ApplyReport) -> list[Code]:
    return [problem.code for problem in report.diagnostics]


def test_linking_file_is_changed_in_the_same_commit(engine: Engine, root: Path) -> None:
    plan = engine.plan(BATCH)
    report = engine.apply({"planId": plan.plan_id})

    assert [file.file for file in plan.files] == ["guide.md", "docs/a.md"]
    assert [result.edit_index for result in plan.edit_results] == [0]
    assert report.applied
    assert [file.file for file in report.written or ()] == ["guide.md", "docs/a.md"]
    assert read(root, "docs/a.md") == "[x](../guide.md#setup) [y](../guide.md#use)\n"


def test_changed_linking_file_is_stale(engine: Engine, root: Path) -> None:
    plan = engine.plan(BATCH)
    write(root, "docs/a.md", "[x](../guide.md#install) and more\n")

    report = engine.apply({"planId": plan.plan_id})

    assert codes(report) == [Code.STALE_BASE]
    assert report.diagnostics[0].file == "docs/a.md"
    assert read(root, "guide.md") == GUIDE


def test_rebased_plan_derives_links_of_the_current_files(engine: Engine, root: Path) -> None:
    plan = engine.plan(BATCH)
    write(root, "docs/a.md", "[x](../guide.md#install) and more\n")
    write(root, "docs/b.md", "[new](../guide.md#install)\n")

    report = engine.apply({"planId": plan.plan_id, "onStale": "rebase"})

    assert report.rebased
    assert read(root, "docs/a.md") == "[x](../guide.md#setup) and more\n"
    assert read(root, "docs/b.md") == "[new](../guide.md#setup)\n"


def test_accepted_part_of_a_plan_needs_the_bases_of_all_its_files(engine: Engine, root: Path) -> None:
    edits = [RENAME, {"op": "rename_heading", "heading": "Use", "newTitle": "Run"}]
    plan = engine.plan({**BATCH, "edits": edits})
    write(root, "docs/a.md", "[x](../guide.md#install) and more\n")

    assert codes(engine.apply({"planId": plan.plan_id, "accept": [0]})) == [Code.STALE_BASE]

    write(root, "docs/a.md", "[x](../guide.md#install) [y](../guide.md#use)\n")
    report = engine.apply({"planId": plan.plan_id, "accept": [0]})

    assert report.applied
    assert read(root, "docs/a.md") == "[x](../guide.md#setup) [y](../guide.md#use)\n"


def test_repeated_batch_gives_its_receipt_while_all_files_have_their_result(
    engine: Engine, root: Path
) -> None:
    edits = [{"op": "replace_match", "pattern": "# Guide", "replacement": "# Book", "expectedMatchCount": 1}]
    again = {**BATCH, "edits": edits}
    write(root, "docs/c.md", "[x](../guide.md#guide)\n")

    first, second = engine.apply(again), engine.apply(again)

    assert first.applied, to_wire(first)
    assert second.already_applied
    assert [file.file for file in second.files] == ["guide.md", "docs/c.md"]
    write(root, "docs/c.md", "[x](../guide.md#guide)\n")
    assert not engine.apply(again).already_applied


def test_read_only_linking_file_refuses_the_plan(engine: Engine, root: Path) -> None:
    (root / "docs/a.md").chmod(0o444)

    plan = engine.plan(BATCH)

    assert [(problem.code, problem.file) for problem in plan.diagnostics] == [(Code.READ_ONLY, "docs/a.md")]


def test_links_stay_in_their_own_root(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(tmp_path / name, "guide.md", GUIDE)
        write(tmp_path / name, "a.md", "[x](guide.md#install)\n")
    engine = Engine.open(
        [tmp_path / "one", tmp_path / "two"], settings=Settings(durability=Durability.PROCESS)
    )
    with engine.workspace:
        plan = engine.plan({**BATCH, "file": "one:guide.md"})
        report = engine.apply({"planId": plan.plan_id})

    assert [file.file for file in plan.files] == ["one:guide.md", "one:a.md"]
    assert report.applied, to_wire(report)
    assert read(tmp_path, "one/a.md") == "[x](guide.md#setup)\n"
    assert read(tmp_path, "two/a.md") == "[x](guide.md#install)\n"


@pytest.mark.requirement("references-3")
def test_stat_lists_broken_links_to_any_file(engine: Engine, root: Path) -> None:
    write(
        root,
        "docs/b.md",
        "# B\n\n[ok](a.md) [no](gone.md) [anchor](../guide.md#gone) [ok](../guide.md#use) ![i](gone.png)\n\n"
        "[own](#gone) [ok](..) [ok](/gone.md) [ok](../../out.md) [ok](https://e.org/x)\n"
        "[[gone]] [[guide#Gone]]\n",
    )

    links = engine.stat(StatRequest(file="docs/b.md", links=True)).links
    without = engine.stat(StatRequest(file="docs/b.md")).links
    rows = engine.stat(StatRequest(file=".", links=True)).files

    assert links is not None
    assert without is not None
    assert rows is not None
    expected = [(3, "gone.md"), (3, "../guide.md#gone"), (5, "#gone"), (6, "guide#Gone")]
    assert [(link.line, link.target) for link in links.broken] == expected
    assert [(link.line, link.target) for link in without.broken] == [(5, "#gone")]
    by_file = {row.file: [link.target for link in row.broken_links or ()] for row in rows}
    assert by_file == {"docs/a.md": [], "docs/b.md": [target for _, target in expected], "guide.md": []}


# --- What following links costs: counts of parses and of steps, so that no clock is needed.

OTHERS = 30


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """First lines of the documents that were parsed."""
    lines: list[str] = []
    original = outline.parse_blocks

    def recorded(text: str, *arguments: object) -> object:
        lines.append(text.partition("\n")[0])
        return original(text, *arguments)

    monkeypatch.setattr(outline, "parse_blocks", recorded)
    return lines


def parses(linked_root: Path, scope: str, parsed: list[str]) -> Sequence[str]:
    """What is parsed for a plan that renames a heading and the file `guide.md` of `root`."""
    engine = Engine.open([linked_root], settings=Settings(durability=Durability.PROCESS))
    with engine.workspace:
        parsed.clear()
        plan = engine.plan(
            {
                "file": "guide.md",
                "updateReferences": scope,
                "edits": [
                    {"op": "rename_heading", "heading": "Install", "newTitle": "Setup"},
                    {"op": "rename_file", "newFile": "manual.md"},
                ],
            }
        )
        assert plan.ok, plan.diagnostics
        return tuple(parsed)


@pytest.fixture
def linked_root(tmp_path: Path) -> Path:
    (tmp_path / "guide.md").write_text("# Guide\n\n## Install\n")
    for number in range(OTHERS):
        (tmp_path / f"other{number}.md").write_text(f"# Other {number}\n\n[x](other1.md) guide.md install\n")
    (tmp_path / "links.md").write_text("# Links\n\n[x](guide.md#install)\n")
    (tmp_path / "mentions.md").write_text("# Mentions\n\n`[x](guide.md)`\n")
    return tmp_path


@pytest.mark.parametrize("scope", ["none", "file", "workspace"])
def test_only_files_that_may_link_are_parsed(linked_root: Path, scope: str, parsed: list[str]) -> None:
    found = parses(linked_root, scope, parsed)

    assert sorted(found) == ["# Guide", "# Links", "# Mentions"]


def steps_of_links(links: int, headings: int) -> int:
    """Count the steps to follow this many links after every one of this many headings was renamed."""
    text = "".join(f"## Section {number:04}\n\n" for number in range(headings)) + "".join(
        f"[link](#section-{number % headings:04}) and [other](b{number:04}.md)\n\n" for number in range(links)
    )
    edits = [
        {"op": "rename_heading", "anchor": f"section-{number:04}", "newTitle": f"Renamed {number:04}"}
        for number in range(headings)
    ]
    batch = read_batch({"files": [{"file": "a.md", "edits": edits}]})
    base = Outline(Source.from_text(text))
    file = SnapshotFile(path="a.md", relative="a.md", requested=batch.files[0], outline=base, first_edit=0)
    resolved, problems = resolve_edits(file)
    assert problems == ()
    built = build_file(file, resolved)
    assert isinstance(built, BuiltFile)
    made: list[BuildResult] = []

    def follow() -> None:
        found = derive_link_edits([built], "file", NoOtherFiles())
        assert isinstance(found, BuildResult)
        made.append(found)

    count = steps(follow)
    assert made[0].files[0].references_updated == links
    return count


def test_steps_are_linear_in_the_links() -> None:
    steps_of_links(8, 8)  # Fills the caches of words that outlive a plan.
    one, two, four = (steps_of_links(number, 8) for number in (20, 40, 80))

    assert four - two < 2.1 * (two - one)


def test_steps_are_linear_in_the_headings() -> None:
    one, two, four = (steps_of_links(80, number) for number in (20, 40, 80))

    assert four - two < 2.1 * (two - one)


# --- Destinations: their parts, and new paths and fragments in their style.

# The place of a destination, and whether it contains unencoded spaces.
PLACES = CASE_TABLES.value("PLACES")


def destinations_outline(text: str) -> Outline:
    return Outline(Source.from_text(text))


def only(text: str, path: str | None = None) -> Destination:
    """Return the only destination of `text`, or the one with that path."""
    found = destinations(destinations_outline(text), [Span(0, len(text))])
    return next(each for each in found if path is None or each.path == path)


def edited(text: str, edit: TextEdit | None) -> str:
    assert edit is not None
    edits = EditList.of([edit])
    assert isinstance(edits, EditList)
    return edits.apply(text)


@pytest.mark.parametrize(
    ("text", "form", "path", "fragment"),
    [
        ("[a](b.md)", DestinationForm.BARE, "b.md", None),
        ("[a](b.md#c)", DestinationForm.BARE, "b.md", "c"),
        ("[a](#c)", DestinationForm.BARE, "", "c"),
        ("[a](b.md?x=1#c)", DestinationForm.BARE, "b.md", "c"),
        ("[a](my%20b.md#%C3%BC)", DestinationForm.BARE, "my b.md", "%C3%BC"),
        ("[a](b\\_c.md)", DestinationForm.BARE, "b_c.md", None),
        ("[a](b\\#c)", DestinationForm.BARE, "b", "c"),
        ("[a](b&amp;c.md)", DestinationForm.BARE, "b&c.md", None),
        ("[a](b%23c.md)", DestinationForm.BARE, "b#c.md", None),
        ("[a](<b c.md#d e>)", DestinationForm.ANGLE, "b c.md", "d e"),
        ("<a href='b&amp;c.md#d'>x</a>", DestinationForm.QUOTED, "b&c.md", "d"),
        ("<a href=b.md#d>x</a>", DestinationForm.UNQUOTED, "b.md", "d"),
        ("[[b c#D e|f]]", DestinationForm.WIKI, "b c", "D e"),
        ("[[#Part#Chapter]]", DestinationForm.WIKI, "", "Chapter"),
    ],
)
def test_destination_is_split_into_path_and_fragment(
    text: str, form: DestinationForm, path: str, fragment: str | None
) -> None:
    found = only(text)

    assert (found.form, found.path, found.fragment) == (form, path, fragment)


@CASE_TABLES.parametrize("text")
def test_external_destination_is_ignored(text: str) -> None:
    assert destinations(destinations_outline(text), [Span(0, len(text))]) == ()


_NAME = st.text(
    characters(":%&()[] #<>\"'|^?@=;*_`~$!.", exclude_categories=["C", "Zl", "Zp"], exclude_characters="/\\"),
    min_size=1,
).filter(lambda name: name.strip(".") and name == name.strip())

_PATH = st.lists(_NAME, min_size=1, max_size=3).map("/".join)


@given(st.sampled_from(PLACES), _PATH)
@example(PLACES[0], "x:y.md")
def test_rewritten_path_parses_back_and_passes_the_prefilter(place: str, path: str) -> None:
    text = place.format("old.md#x") + "\n"
    old = only(text, "old.md")

    result = edited(text, with_path(destinations_outline(text), old, path))
    new = next(
        each
        for each in destinations(destinations_outline(result), [Span(0, len(result))])
        if each.fragment == "x"
    )

    assert followed("", new.path) == followed("", path)
    assert result[: new.path_span.start] + "old.md" + result[new.path_span.end :] == text
    assert linked_places(text_of_bytes(result.encode()), {page_key(path): None}) == {page_key(path)}
    assert may_name(possible_links(result), frozenset({page_key(path)}))
    assert not may_name(possible_links(result), frozenset({page_key(path) + "-not"}))


@given(st.sampled_from(PLACES), _NAME)
def test_rewritten_fragment_parses_back(place: str, anchor: str) -> None:
    text = place.format("old.md#x") + "\n"
    old = only(text, "old.md")

    result = edited(text, with_fragment(destinations_outline(text), old, anchor))
    new = only(result, "old.md")

    assert new.fragment is not None
    assert new.fragment_span is not None
    assert target_key(new.fragment) == anchor.lower().removeprefix("user-content-")
    assert result[: new.fragment_span.start] + "x" + result[new.fragment_span.end :] == text
    assert linked_places(result, {"old": frozenset({target_key(new.fragment)})}) == {"old"}
    assert linked_places(result, {"old": frozenset({"another place"}), "other": None}) == set()


_FOLDER = st.lists(st.sampled_from("abc"), max_size=4).map("/".join)


@given(_FOLDER, st.integers(0, 3), st.lists(st.sampled_from("abc"), min_size=1, max_size=4))
def test_relative_link_between_files_resolves_to_the_path(
    folder: str, ups: int, components: list[str]
) -> None:
    path = "/".join([*[".."] * ups, *components])

    assert followed(folder, link_between(folder, path)) == path
    assert leads_out(path) == (ups > 0)


@CASE_TABLES.parametrize("folder", "link", "path")
def test_link_follows_its_renamed_target(folder: str, link: str, path: str) -> None:
    assert followed(folder, link) == path


def test_page_names_come_from_markdown_files() -> None:
    assert "a/b.md" in list(page_variants("a/b.html"))
    assert "a/b.md" in list(page_variants("a/b"))
    assert "a/v1.2.md" in list(page_variants("a/v1.2"))
    assert list(page_variants("a/b.md")) == []
    assert as_variant("x/y.md", "b.html") == "x/y.html"
    assert as_variant("x/y.md", "b") == "x/y"
    assert folder_of("a/b/c.md") == "a/b"
    assert page_key("a/My Page.MD") == page_key("my-page") == page_key("x/my page.html")


def test_prefilter_finds_names_in_utf_16() -> None:
    text = "[a](other.md)"

    assert linked_places(text_of_bytes(text.encode("utf-16")), {"other": None}) == {"other"}


# --- Links are counted by kind, and broken links within a document are listed.


def check(text: str, expected: str, broken: list[tuple[int, str]] | None = None) -> None:
    """`expected` are the counts that are not 0, as ``name number``."""
    outline = Outline(Source.from_text(text))
    found = count_links(outline)
    links = local_links(outline, [Span(0, len(text))])

    assert " ".join(f"{name} {count}" for name, count in found.items() if count) == expected
    assert [(link.line, link.target) for link in links if not link.resolves] == (broken or [])


@CASE_TABLES.parametrize("text", "expected")
def test_links_are_counted_by_kind(text: str, expected: str) -> None:
    check(text, expected)


@CASE_TABLES.parametrize("text", "broken")
def test_fragment_names_an_anchor_of_any_notation(text: str, broken: list[str]) -> None:
    assert [link.target for link in local_links(outline_of(text)) if not link.resolves] == broken


# --- Which links a plan reports as left without a definition.

TEXT = CASE_TABLES.value("TEXT")


@CASE_TABLES.parametrize("old", "new", "lines")
def test_links_that_lose_their_definition_are_reported(old: str, new: str, lines: list[int]) -> None:
    edit = {"op": "replace_match", "pattern": old, "replacement": new}
    plan = Document.from_text(TEXT).plan([edit])

    assert plan.ok, plan.diagnostics
    broken = [each for each in plan.warnings if each.code is Code.BROKEN_LINK]
    assert [each.place.line for each in broken if each.place] == lines


# --- What `mdplan check` finds in one document: code and line, for an old and a new version of it.

TABLE = "# T\n\n| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n"


@CASE_TABLES.parametrize("old", "new", "expected")
def test_change_is_reported_once_with_its_line(old: str, new: str, expected: list[list[Any]]) -> None:
    report = check_documents("a.md", outline_of(old), outline_of(new))

    found = [[each.code, each.place.line if each.place else None] for each in report.warnings]
    assert found == expected


@CASE_TABLES.parametrize("page", "text", "damage", "code")
def test_planted_damage_is_reported(page: str, text: str, damage: str, code: str) -> None:
    old: str = CASE_TABLES.value("DAMAGED")[page]
    assert text in old
    report = check_documents("a.md", outline_of(old), outline_of(old.replace(text, damage, 1)))

    assert code in {warning.code for warning in report.warnings}


def outline_of(text: str) -> Outline:
    source = Source.decode(text.encode())
    assert isinstance(source, Source)
    return Outline(source, DocumentFormat.MARKDOWN)
