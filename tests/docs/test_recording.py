"""The tutorial shows what a terminal shows: its commands are typed again, into a real one."""

from pathlib import Path

import pytest

from tests.docs.recording import PAGE, recorded
from tests.docs.shown import masked


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_tutorial_shows_what_a_new_user_sees(tmp_path: Path, *, update_cases: bool) -> None:
    text = PAGE.read_text(encoding="utf-8")
    now = recorded(text, tmp_path)
    if update_cases and masked(now) != masked(text):
        PAGE.write_text(now, encoding="utf-8")
        text = now

    assert masked(now) == masked(text)
