"""The page on the architecture names what exists."""

import re

from tests.conftest import REPOSITORY

PAGE = (REPOSITORY / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
CODE = "".join(path.read_text(encoding="utf-8") for path in (REPOSITORY / "mdplan").rglob("*.py"))


def test_paths_on_the_page_exist() -> None:
    paths = re.findall(r"`((?:mdplan|tests)/[\w/.*]+)`", PAGE)

    assert paths
    assert [path for path in paths if not list(REPOSITORY.glob(path))] == []


def test_every_package_is_on_the_page() -> None:
    packages = sorted(path.parent.name for path in (REPOSITORY / "mdplan").glob("*/__init__.py"))

    assert [name for name in packages if f"`mdplan/{name}`" not in PAGE] == []


def test_functions_and_classes_on_the_page_exist() -> None:
    ways = PAGE[PAGE.index("## The way of a batch") : PAGE.index("## Invariants")]
    names = re.findall(r"`(?:\w+\.)?(\w+)`", ways)
    fields = {"baseSha256", "accept", "sequential", "files", "rebase", "updateReferences"}

    assert [
        name
        for name in names
        if name not in fields and not name.isupper() and not re.search(rf"\b(?:def|class) {name}\b", CODE)
    ] == []
