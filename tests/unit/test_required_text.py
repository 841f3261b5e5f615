"""The literals of a pattern: where one is missing, nothing matches."""

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from mdplan.text.pattern import required_texts


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        ("plain", ("plain",)),
        (r"powershell-7\.\d", ("powershell-7.",)),
        (r"Azure\s+AD|Entra", ("Azure", "Entra")),
        ("colou?r", ("colo",)),
        ("ab+c", ("ab",)),
        ("ab*cde", ("cde",)),
        ("ab{0,2}cd", ("cd",)),
        ("(?:x|y)lease (old|new) re(?=d)", ("lease ",)),
        ("(?P<name>old)tail", ("tail",)),
        ("[a-z]+tail", ("tail",)),
        (r"[\]x]tail", ("tail",)),
        ("^# Title$", ("# Title",)),
        (r"\*\*bold\*\*", ("**bold**",)),
        ("old|(new)", None),
        ("(a|b)", None),
        ("a?", None),
        ("", None),
        (r"\d+", None),
        ("(?i)old", None),
        ("(?x) o l d", None),
        ("x(?#comment)y", None),
        (r"\x41bc", None),
        (r"\p{Lu}bc", None),
        (r"(a)\1bc", None),
        ("(?:old){e<=1}", None),
        ("(?r)old", None),
        ("[[a-z]--[b]]x", None),
        ("a{b", None),
        ("old{3,1}", None),
    ],
)
def test_required_literals_of_a_pattern_are_found(pattern: str, texts: tuple[str, ...] | None) -> None:
    assert required_texts(pattern) == texts


_PIECES = r"""a b ab \. . ^ $ (a) (?:b|ab) (?=a) (?<!b) [ab] [^a] \d \b * + ? {2} {0,1} *? ++ | (?i) \x61 (?:
) {e<=1} [ ] \K \N{DIGIT+ONE} (?i:a) (?|a|b) (?>a) (?P<n>a) \g<n> (?(1)a|b) #"""
_PIECE = st.sampled_from([*_PIECES.split(), " ", "\n"])


@given(st.lists(_PIECE, max_size=6).map("".join), st.text("aAbB.1 #\n", max_size=8))
def test_text_without_required_literals_never_matches(pattern: str, text: str) -> None:
    texts = required_texts(pattern)
    try:
        found = regex.search(pattern, text, regex.MULTILINE | regex.VERSION0, timeout=1)
    except (regex.error, ValueError):
        return
    if texts is not None and found is not None:
        assert any(each in text for each in texts)
