"""Names and sizes of packages: a stranger finds a class by its name, and a module in a short list."""

import ast
from collections import Counter

from tests.conftest import REPOSITORY

MODULES = sorted((REPOSITORY / "mdplan").rglob("*.py"))
MOST = 22
# One module for each operation, in alphabetical order.
LISTS = {REPOSITORY / "mdplan" / "operations"}


def test_no_two_public_classes_have_one_name() -> None:
    names = Counter(
        each.name
        for path in MODULES
        for each in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(each, ast.ClassDef) and not each.name.startswith("_")
    )

    assert len(names) > 500
    assert [name for name, count in names.items() if count > 1] == []


def test_no_package_has_too_many_modules() -> None:
    sizes = Counter(path.parent for path in MODULES if path.name != "__init__.py")

    assert len(sizes) > 50
    assert {str(folder): size for folder, size in sizes.items() if size > MOST} == {
        str(folder): sizes[folder] for folder in LISTS
    }
