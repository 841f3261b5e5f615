"""Each row of the table in `docs/explanation/section-ids.md` says what happens to the ID."""

import re

import pytest

from mdplan.markdown.addresses import find_by_path
from mdplan.markdown.outline import Outline
from mdplan.markdown.sections import Section
from mdplan.text.source import Source
from tests.conftest import REPOSITORY

PAGE = (REPOSITORY / "docs" / "explanation" / "section-ids.md").read_text(encoding="utf-8")
BEFORE = "# Guide\n\n## Install\n\nRun it.\n\n## Use\n\nUse it.\n"
# The document after the change of each row, and the heading path of the section then.
AFTER = {
    "text of the section": (BEFORE.replace("Run it.", "Run it twice."), ["Install"]),
    "lines are added": (BEFORE.replace("# Guide\n", "# Guide\n\nHello.\n"), ["Install"]),
    "another section is added": (BEFORE.replace("## Install", "## New\n\n## Install"), ["Install"]),
    "the level of the heading": (BEFORE.replace("## Install", "### Install"), ["Install"]),
    "the heading is marked": (BEFORE.replace("## Install", "## *Install*"), ["Install"]),
    "letters of the heading": (BEFORE.replace("## Install", "## INSTALL"), ["INSTALL"]),
    "`#` becomes an underline": (BEFORE.replace("## Install", "Install\n-------"), ["Install"]),
    "the heading is renamed": (BEFORE.replace("## Install", "## Set up"), ["Set up"]),
    "punctuation of the heading": (BEFORE.replace("## Install", "## Install++"), ["Install++"]),
    "a heading above it": (BEFORE.replace("# Guide", "# Manual"), ["Install"]),
    "it moves below": (BEFORE.replace("## Install", "## First\n\n### Install"), ["Install"]),
    "an equal section": (BEFORE.replace("## Install", "## Install\n\n## Install"), ["Install"]),
}
ROWS = re.findall(r"^\| ([^|]+) \| (stays|changes) \|$", PAGE, re.MULTILINE)


def id_of(text: str, path: list[str]) -> str:
    source = Source.decode(text.encode())
    assert isinstance(source, Source)
    outline = Outline(source)
    occurrence = 2 if text.count("## Install\n") > 1 else None
    section = find_by_path(outline, path, occurrence)
    assert isinstance(section, Section)
    return section.section_id


@pytest.mark.parametrize(("change", "told"), ROWS)
def test_documented_row_matches_what_happens_to_the_section_id(change: str, told: str) -> None:
    (after,) = [after for begin, after in AFTER.items() if change.startswith(begin)]

    assert (id_of(*after) == id_of(BEFORE, ["Install"])) is (told == "stays")


def test_each_kind_of_change_has_a_row() -> None:
    assert len(ROWS) == len(AFTER)
