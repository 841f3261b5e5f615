"""The animation of the README shows what a terminal shows: its commands are typed again, into a real one."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.docs.animation import PICTURE, drawn, recorded_frames, shown_text
from tests.docs.recording import PAGE, recorded
from tests.docs.shown import masked


@pytest.mark.slow
def test_animation_shows_what_a_terminal_shows(tmp_path: Path, *, update_cases: bool) -> None:
    now = drawn(recorded_frames(tmp_path))
    if update_cases:
        PICTURE.parent.mkdir(exist_ok=True)
        PICTURE.write_text(now, encoding="utf-8")

    committed = PICTURE.read_text(encoding="utf-8")
    assert [*map(masked, shown_text(now))] == [*map(masked, shown_text(committed))]


def test_animation_is_one_picture_without_scripts_or_links() -> None:
    names = {element.tag.rpartition("}")[2] for element in ET.parse(PICTURE).iter()}

    assert names == {"svg", "style", "rect", "g", "text", "tspan"}


# --- The tutorial shows what a terminal shows: its commands are typed again, into a real one.


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_tutorial_shows_what_a_new_user_sees(tmp_path: Path, *, update_cases: bool) -> None:
    text = PAGE.read_text(encoding="utf-8")
    now = recorded(text, tmp_path)
    if update_cases and masked(now) != masked(text):
        PAGE.write_text(now, encoding="utf-8")
        text = now

    assert masked(now) == masked(text)
