"""The commit message that `docs/contributing/index.md` shows has the form that the page prescribes."""

import re

from tests.conftest import REPOSITORY
from tests.docs.pages import blocks_of


def test_shown_commit_message_has_the_prescribed_form() -> None:
    page = REPOSITORY / "docs" / "contributing" / "index.md"
    (shown,) = [block.text for block in blocks_of(page) if block.info == ("text",)]
    subject, blank, *body = shown.rstrip("\n").split("\n")

    assert re.fullmatch(r"[a-z][a-z-]*: [a-z].*[^.]", subject)
    assert len(subject) <= 72
    assert blank == ""
    assert body
