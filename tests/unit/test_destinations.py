"""Destinations: their parts, and new paths and fragments in their style."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mdplan.markdown.destinations import Destination, DestinationForm, destinations, with_fragment, with_path
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
from mdplan.markdown.targets import target_key
from mdplan.planning.link_changes import linked_places, may_link_to, text_of_bytes
from mdplan.text.edit import EditList, TextEdit
from mdplan.text.lines import Span
from mdplan.text.source import Source
from tests.properties.strategies import characters

# Where a destination stands, and what of it holds spaces unencoded.
PLACES = [
    "See [a]({}) and more.",
    'See [a]({} "title").',
    "See [a](<{}> 'title').",
    "![a]({})",
    "[![a](x.png)]({})",
    "See [a].\n\n[a]: {}",
    "See [a].\n\n[a]: <{}>\n  'title'",
    'See <a href="{}">a</a>.',
    "<p>\n<a class=x href='{}'>a</a>\n</p>",
    "<img alt=x src={}>",
    "> See [a](\n> {})",
    "| a |\n|---|\n| [b]({}) |",
    "- one\n  [a]({})",
    "## [a]({})",
]


def outline(text: str) -> Outline:
    return Outline(Source.from_text(text))


def only(text: str, path: str | None = None) -> Destination:
    """The one destination of `text`; where there are several, the one with that path."""
    found = destinations(outline(text), [Span(0, len(text))])
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


@pytest.mark.parametrize(
    "text",
    [
        "[a](https://e.org/b.md)",
        "[a](mailto:b@c.d)",
        "[a](//e.org/b.md)",
        "<https://e.org/b.md>",
        "www.example.org",
        "[a]()",
        "`[a](b.md)`",
        "\\[a](b.md)",
        "    [a](b.md)",
        "<!-- [a](b.md) -->",
        '<link href="b.css">',
        "[a][b]",
        "# [[b]]",
        # What stands before the sign cannot be told from the entity.
        "[a](b&num;c)",
    ],
)
def test_external_destination_is_ignored(text: str) -> None:
    assert destinations(outline(text), [Span(0, len(text))]) == ()


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

    result = edited(text, with_path(outline(text), old, path))
    new = next(each for each in destinations(outline(result), [Span(0, len(result))]) if each.fragment == "x")

    assert followed("", new.path) == followed("", path)
    assert result[: new.path_span.start] + "old.md" + result[new.path_span.end :] == text
    assert linked_places(text_of_bytes(result.encode()), {page_key(path): None}) == {page_key(path)}
    assert may_link_to(result, frozenset({page_key(path)}))
    assert not may_link_to(result, frozenset({page_key(path) + "-not"}))


@given(st.sampled_from(PLACES), _NAME)
def test_rewritten_fragment_parses_back(place: str, anchor: str) -> None:
    text = place.format("old.md#x") + "\n"
    old = only(text, "old.md")

    result = edited(text, with_fragment(outline(text), old, anchor, None))
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


@pytest.mark.parametrize(
    ("folder", "link", "path"),
    [
        ("a/b", "../c.md", "a/c.md"),
        ("a/b", "./c.md", "a/b/c.md"),
        ("a/b", "/c.md", "c.md"),
        ("a", "../../c.md", "../c.md"),
        ("a", "b//c/", "a/b/c"),
        ("", ".", ""),
    ],
)
def test_link_follows_its_renamed_target(folder: str, link: str, path: str) -> None:
    assert followed(folder, link) == path


def test_page_names_come_from_markdown_files() -> None:
    assert "a/b.md" in list(page_variants("a/b.html"))
    assert "a/b.md" in list(page_variants("a/b"))
    assert list(page_variants("a/b.png")) == []
    assert as_variant("x/y.md", "b.html") == "x/y.html"
    assert as_variant("x/y.md", "b") == "x/y"
    assert folder_of("a/b/c.md") == "a/b"
    assert page_key("a/My Page.MD") == page_key("my-page") == page_key("x/my page.html")


def test_prefilter_finds_names_in_utf_16() -> None:
    text = "[a](other.md)"

    assert linked_places(text_of_bytes(text.encode("utf-16")), {"other": None}) == {"other"}
