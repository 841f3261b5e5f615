"""Laws of the rules of a site: what a link names can be written again, in the style of the link."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdplan.documents.site_links import SiteLinks
from mdplan.markdown.paths import PRESETS, SiteRules, followed, leads_out
from tests.conftest import REPOSITORY
from tests.docs.pages import blocks_of

NAMES = st.sampled_from(["a", "b.md", "index.md", "guide", "README.md", "en", "x.html"])
FILES = st.lists(NAMES, min_size=1, max_size=4).map(lambda parts: "/".join([*parts[:-1], "page.md"]))
RULES = st.sampled_from(
    [
        *PRESETS.values(),
        SiteRules.of({"/docs": "content/docs", "/": "static"}, ("index",), ("en", "fr")),
        SiteRules.of({}, ("index",)),
    ]
)


@given(
    rules=RULES,
    file=FILES,
    slash=st.sampled_from(["", "/"]),
    is_page=st.booleans(),
    locale=st.sampled_from(["", "en", "fr"]),
)
def test_rewritten_link_keeps_its_style(
    rules: SiteRules, file: str, slash: str, *, is_page: bool, locale: str
) -> None:
    for prefix, folder in rules.roots:
        path = f"{folder}/{file}" if folder else file
        before = f"/{locale}" if locale in rules.locales else ""
        link = f"{before}{prefix}{file.removesuffix('.md')}{slash}" if is_page else f"{before}{prefix}{file}"
        named = [
            (form, form_style)
            for start, style in rules.starts("any.md", link)
            for form, form_style in ((start, style), *rules.forms(start, style))
        ]
        found = next((style for form, style in named if form == path), None)
        assert found is not None
        assert rules.written(path, found, link) == link


@given(RULES, st.text(st.sampled_from("./ab-"), max_size=12), st.text(st.sampled_from("./ab-"), max_size=12))
def test_site_rules_leave_the_root_only_where_the_link_does(
    rules: SiteRules, document: str, link: str
) -> None:
    for start, _ in rules.starts(document, link):
        if leads_out(start):
            assert not link.startswith("/") or ".." in link
            assert ".." in followed("", link) or ".." in link or ".." in document


def test_rules_of_the_how_to_are_valid() -> None:
    """Those of `docs/how-to/keep-links-right.md`."""
    page = REPOSITORY / "docs" / "how-to" / "keep-links-right.md"
    (shown,) = [block.text for block in blocks_of(page) if block.info == ("toml", "mdplan.toml")]

    rules = SiteLinks.model_validate(tomllib.loads(shown)["links"]).rules()

    assert rules.roots == PRESETS["docusaurus"].roots
    assert rules.locales == ("en", "fr")


@pytest.mark.parametrize("folder", ["../x", "/etc", "../../..", "a/../../b"])
def test_site_root_outside_names_no_file_inside(folder: str) -> None:
    rules = SiteRules.of({"/docs": folder})

    for start, _ in rules.starts("a.md", "/docs/secret.md"):
        assert leads_out(start) or not folder.startswith("..")
