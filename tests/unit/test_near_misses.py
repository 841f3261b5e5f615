"""Near misses: what differs is named, with its place, and no text of the file is told."""

from collections.abc import Callable

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from mdplan.markdown.outline import Outline
from mdplan.operations import OPERATIONS
from mdplan.text import near_misses as folded_text
from mdplan.text import pattern as pattern_cost
from mdplan.text.lines import NearMiss, Span
from mdplan.text.near_misses import FoldedText, SearchTerm, describe_near_misses, find_near_misses
from mdplan.text.pattern import MOST_PARTS, has_too_many_parts, required_texts
from mdplan.text.source import Source
from mdplan.text.visible import nearest_names
from tests.unit.test_planning import steps

TEXT = """\
# Guide

It’s a “quoted” word – and\u00a0more.
The quick brown fox jumps  over
\tthe lazy dog.\x20\x20
Café au lait\u200b here, ﬁnd it.

Use the `--flag` option and **bold** text.
- item one
- item two

```
code(a,b)
```
Installation of the Server
First line

Second line
A\u3000wide and a \u202fnarrow space
A full\uff0dwidth ＡＢＣ
pages 3–4 of 10 − 2
soft\u00adhyphen and e\u0301te\u0301
trailing tab\t
  \t
last — line
"""


def near(text: str, wanted: SearchTerm | str, within: Span | None = None) -> list[tuple[int, int, int, str]]:
    if isinstance(wanted, str):
        wanted = SearchTerm(text=wanted)
    found = find_near_misses(FoldedText(text), wanted, within or Span(0, len(text)))
    return [(miss.line, miss.col, miss.end_line, miss.differs) for miss in found]


@pytest.mark.parametrize(
    ("wanted", "place", "differs"),
    [
        # Quotes.
        ("It's a", (3, 1, 3), "curly quotes (U+2019, not U+0027) at column 3"),
        ('a "quoted" word', (3, 6, 3), "curly quotes (U+201C, not U+0022) at column 8 and 1 other place"),
        ('fox "jumps"', (4, 17, 4), "quotes (nothing, not U+0022) at column 21 and 1 other place"),
        # Dashes.
        ("last -- line", (25, 1, 25), "dashes (U+2014, not U+002D U+002D) at column 6"),
        # Blanks that are no plain ones.
        ("and more.", (3, 24, 3), "a non-breaking space (U+00A0, not U+0020) at column 27"),
        ("A wide and", (19, 1, 19), "an ideographic space (U+3000, not U+0020) at column 2"),
        # Characters that show as nothing.
        ("lait here", (6, 9, 6), "a zero width space (U+200B, not nothing) at column 13"),
        ("the\ufeff lazy", (5, 2, 5), "a zero width no-break space (nothing, not U+FEFF) at column 6"),
        # The amount of blanks.
        ("jumps over", (4, 21, 4), "blanks (2, not 1) at column 27"),
        ("code(a, b)", (13, 1, 13), "blanks (none, not 1) at column 8"),
        ("quick\tbrown", (4, 5, 4), "blanks (1 blank, not 1 tab) at column 10"),
        ("trailing tab\n", (23, 1, 23), "trailing blanks (1 tab, not none) at column 13"),
        ("over  \n\tthe", (4, 28, 5), "trailing blanks (none, not 2) at column 32"),
        ("over\n  the lazy", (4, 28, 5), "indentation (1 tab, not 2 blanks) at 5:1"),
        ("dog.\n\tCafé", (5, 11, 6),
         "trailing blanks (2, not none) at column 15, indentation (none, not 1 tab) at 6:1"),
        ("tab\t\n\nlast", (23, 10, 25), "blanks on an empty line (1 tab and 2 blanks, not none) at 24:1"),
        # Line breaks.
        ("over the lazy", (4, 28, 5), "line breaks (1, not none) at column 32"),
        ("quick\nbrown", (4, 5, 4), "line breaks (none, not 1) at column 10"),
        ("First line\nSecond line", (16, 1, 18), "blank lines (1, not none) at 17:1"),
        ("Second line\n\n\nA", (18, 1, 19), "blank lines (none, not 2) at 19:1"),
        # Letters.
        ("installation OF the", (15, 1, 15), "case at column 1 and 1 other place"),
        ("Cafe\u0301 au", (6, 1, 6), "Unicode normalization (composed, not decomposed) at column 4"),
        ("e\u0301t\u00e9", (22, 17, 22), "Unicode normalization (decomposed, not composed) at column 20"),
        ("Cafe au", (6, 1, 6), "accents at column 4"),
        ("find it", (6, 21, 6), "another form of a character (U+FB01, not U+0066 U+0069) at column 21"),
        # Markup.
        ("Use the --flag option", (8, 1, 8), "markup (1 character, not none) at column 9 and 1 other place"),
        ("and bold text", (8, 25, 8), "markup (2 characters, not none) at column 29 and 1 other place"),
        ("and __bold", (8, 25, 8), "markup (U+002A U+002A, not U+005F U+005F) at column 29"),
        ("* item one\n* item", (9, 1, 10), "markup (U+002D, not U+002A) at column 1 and 1 other place"),
        ("the **quick** fox", None, None),
        # Escapes.
        ("over\\n\\tthe", (4, 28, 5), "escapes (given as a backslash and a letter)"),
        ("OVER\\n\\tthe", (4, 28, 5), "escapes (given as a backslash and a letter), case at column 28"),
        ("lazy\\_dog.", (5, 6, 5), "blanks (1, not none) at column 10, markup (none, not 2) at column 11"),
        # Several at once.
        ("it's a “quoted", (3, 1, 3), "case at column 1, curly quotes (U+2019, not U+0027) at column 3"),
        # Similar text.
        ("instalation of the server", (15, 1, 15), "about 1 of 22 characters, from column 7 on"),
        ("The fast brown fox jumps over", (4, 1, 4), "about 5 of 24 characters, from column 5 on"),
        ("the lazy cat.", None, None),
        # Nothing like it.
        ("Nowhere to be seen", None, None),
        ("  \n ", None, None),
    ],
)  # fmt: skip
def test_difference_is_reported_with_its_position(
    wanted: str, place: tuple[int, int, int] | None, differs: str | None
) -> None:
    assert near(TEXT, wanted) == ([(*place, differs)] if place is not None else [])


@pytest.mark.parametrize(
    ("text", "wanted", "expected"),
    [
        ("one\ntwo\nthree\n", "two", [(2, 1, 2, "the place only")]),
        ("one\ntwo\nthree\n", "two\nthree", [(2, 1, 3, "the place only")]),
        ("one\ntwo\n\nthree\n", "two\n", [(2, 1, 3, "the place only")]),
        ("a\n---\nb\n", "---", [(2, 1, 2, "the place only")]),
        ("a\n-----\nb\n", "---", []),
        ("a\n  two\nb\n", "two", [(2, 1, 2, "indentation (2, not none) at column 1")]),
        ("a\ntwo  \nb\n", "two", [(2, 1, 2, "trailing blanks (2, not none) at column 4")]),
        ("a\ntwo", "two ", [(2, 1, 2, "trailing blanks (none, not 1) at column 4")]),
        ("a\nor two\nb\n", "two", [(2, 4, 2, "more text before it at column 1")]),
        ("a\ntwo of\nb\n", "two", [(2, 1, 2, "more text after it at column 4")]),
        ("a\n> two\nb\n", "two", [(2, 3, 2, "more text before it at column 1")]),
        ("-two\n", "two", [(1, 1, 1, "dashes (U+002D, not nothing) at column 1")]),
        ("one\n\n\ntwo\n", "one\n\ntwo", [(1, 1, 4, "blank lines (2, not 1) at 3:1")]),
        ("an entirly new\n", "an entirely new!", [(1, 1, 1, "about 2 of 14 characters, from column 9 on")]),
    ],
)  # fmt: skip
def test_line_near_miss_covers_whole_lines(
    text: str, wanted: str, expected: list[tuple[int, int, int, str]]
) -> None:
    assert near(text, SearchTerm(text=wanted, whole_lines=True)) == expected


def test_at_most_three_near_misses_are_listed_closest_first() -> None:
    text = "Run  It Now\nrun it now.\nRUN  it  now\nRun it\tnow\nrun It now\n"

    assert near(text, "Run it now") == [
        (2, 1, 2, "case at column 1"),
        (4, 1, 4, "blanks (1 tab, not 1 blank) at column 7"),
        (5, 1, 5, "case at column 1 and 1 other place"),
    ]


def test_intended_place_comes_first_then_the_closest() -> None:
    text = "same\n" * 5 + "Same  \n" + "same\n" * 5
    meant = Span(25, 31)

    assert near(text, SearchTerm(text="same", whole_lines=True, addressed=meant)) == [
        (6, 1, 6, "case at column 1, trailing blanks (2, not none) at column 5"),
        (5, 1, 5, "the place only"),
        (7, 1, 7, "the place only"),
    ]


def test_intended_place_is_compared_among_many_others() -> None:
    text = "same line here\n" * 400 + "same  line here\n" + "same line here\n" * 400
    meant = Span(6000, 6015)

    assert near(text, SearchTerm(text="same line here", addressed=meant, or_exact=False)) == [
        (401, 1, 401, "blanks (2, not 1) at column 6")
    ]


def test_short_text_is_near_only_as_a_whole_word() -> None:
    assert near("an Option, options and a co-Opt\n", "opt") == [(1, 29, 1, "case at column 29")]


def test_text_of_a_script_without_case_needs_no_word_ends() -> None:
    assert near("これは 日本語\u3000です。", "語です") == [
        (1, 7, 1, "an ideographic space (U+3000, not nothing) at column 8")
    ]


def test_case_insensitive_search_ignores_case_differences() -> None:
    text = "Big  Apple\nbig apple\n"

    assert near(text, SearchTerm(text="BIG APPLE", any_case=True, or_exact=False)) == [
        (1, 1, 1, "blanks (2, not 1) at column 5")
    ]


def test_exact_text_is_a_near_miss_only_on_request() -> None:
    assert near("one two three\n", SearchTerm(text="two", or_exact=False)) == []
    assert near("one two three\n", SearchTerm(text="two")) == [(1, 5, 1, "the place only")]


def test_only_the_searched_span_counts() -> None:
    text = "First  part\nfirst part\nFIRST part\n"

    assert near(text, "First part", Span(12, 23)) == [(2, 1, 2, "case at column 1")]


def test_edges_of_the_searched_span_count_as_word_ends() -> None:
    assert near("word   and\n", "word    and", Span(0, 5)) == []
    assert near("word   and\n", "WORD  ", Span(0, 5)) == [
        (1, 1, 1, "case at column 1, blanks (1, not 2) at column 6")
    ]


def test_near_misses_with_a_remark_come_last() -> None:
    text = "Good\ngood  one\n"
    found = find_near_misses(
        FoldedText(text),
        SearchTerm(text="gooD"),
        Span(0, len(text)),
        lambda span: "in code" if span.start == 0 else "",
    )

    assert [(miss.line, miss.differs) for miss in found] == [
        (2, "case at column 4"),
        (1, "case at column 1 and 1 other place (in code)"),
    ]


def test_long_list_of_differences_is_shortened() -> None:
    ((_, _, _, differs),) = near("“A – big”\u200b  café\u00a0Market", '"a - big" cafe market')

    assert differs == (
        "curly quotes (U+201C, not U+0022) at column 1 and 1 other place, "
        "case at column 2 and 1 other place, dashes (U+2013, not U+002D) at column 4, "
        "a zero width space (U+200B, not nothing) at column 10, and more"
    )


def test_near_miss_contains_no_text_of_the_file() -> None:
    secret = "Passw\u00f6rd\u2019s  “hunter2”\u00a0– ok"
    for wanted in ("passw\u00f6rd's hunter2 - ok", "Passwords 'hunter3' ok", "passwOrd’s hunter2 – okay"):
        (miss,) = near(f"x\n{secret}\ny\n", wanted)
        assert not any(word in miss[3].casefold() for word in ("passw", "hunter", "ok"))


def test_undecodable_bytes_are_compared_like_characters() -> None:
    assert near("caf\udce9  au lait", "caf\udce9 au lait") == [(1, 1, 1, "blanks (2, not 1) at column 6")]
    assert near("caf\udce9 au lait", "caf\u00e9 au lait") == [
        (1, 1, 1, "about 1 of 10 characters, from column 4 on")
    ]


def test_very_long_text_has_no_near_miss_search() -> None:
    text = "word " * 4_001

    assert near(text.upper(), text) == []


def test_near_misses_share_one_hint() -> None:
    misses = (
        NearMiss(line=12, col=5, end_line=12, differs="case at column 9"),
        NearMiss(line=40, col=1, end_line=40, differs="the place only"),
        NearMiss(line=50, col=1, end_line=52, differs="accents at 51:2"),
        NearMiss(line=60, col=7, end_line=61, differs="accents at 61:2"),
    )

    assert describe_near_misses(misses) == (
        "nearest: line 12:5 differs in case at column 9; line 40 differs in the place only; "
        "lines 50-52 differ in accents at 51:2; lines 60:7-61 differ in accents at 61:2"
    )
    assert describe_near_misses(()) == ""


# --- What near misses cost, in steps: a text is folded once, and then little of it is compared.

LENGTH = 20_000

PROSE = "".join(
    f"The line {number} of a text that says little, and word{number % 97}.\n" for number in range(2_000)
)

# Texts of which any length can be had, and what is looked for in them.
KINDS = {
    "the same but for case": (PROSE, "THE LINE 7 OF A TEXT"),
    "similar": (PROSE, "The lime 17 of the text that said little, and wort17."),
    "nothing alike": (PROSE, "Completely different words everywhere"),
    "a short text": (PROSE, "sai"),
    "one letter": ("a" * LENGTH * 8, "b" + "a" * 40 + "b"),
    "two letters": ("ab" * LENGTH * 4, "ab" * 20 + "bb" + "ab" * 20),
    "one letter, as it is": ("a" * LENGTH * 8, "A" * 60),
    "blanks alone": (" \n" * LENGTH * 4, "   "),
    "marks alone": ("*-" * LENGTH * 4, "- -"),
    "blanks around": ((" " * 300 + "x\n") * 500, "  X  "),
}


def search(folded: FoldedText, wanted: str) -> None:
    find_near_misses(folded, SearchTerm(text=wanted, or_exact=False), Span(0, len(folded.text)))


def cost(text: str, wanted: str, searches: int) -> int:
    folded = FoldedText(text)
    return steps(lambda: [search(folded, wanted) for _ in range(searches)])


@pytest.mark.parametrize("kind", KINDS)
def test_second_search_cost_does_not_depend_on_text_length(kind: str) -> None:
    text, wanted = KINDS[kind]
    short, long = text[:LENGTH], text[: 4 * LENGTH]

    assert cost(long, wanted, 3) - cost(long, wanted, 1) < 1.5 * (
        cost(short, wanted, 3) - cost(short, wanted, 1)
    )


@pytest.mark.parametrize("kind", KINDS)
def test_first_search_cost_is_linear_in_the_text(kind: str) -> None:
    text, wanted = KINDS[kind]

    short, long = (
        steps(lambda part=text[:length]: search(FoldedText(part), wanted)) for length in (LENGTH, 4 * LENGTH)
    )

    assert long < 4.5 * short


@pytest.mark.parametrize("change", [str.upper, str.swapcase, lambda text: text.replace("a", "e", 20)])
def test_search_cost_is_at_most_linear_in_the_text(change: Callable[[str], str]) -> None:
    folded = FoldedText(PROSE)
    search(folded, "Completely different words everywhere")  # Makes the index.

    def one(length: int) -> int:
        return steps(lambda: search(folded, change(PROSE[500 : 500 + length])))

    assert one(3_000) < 2.5 * one(1_500)


def test_document_is_folded_once_for_all_edits(monkeypatch: pytest.MonkeyPatch) -> None:
    folded: list[str] = []
    monkeypatch.setattr(folded_text, "FoldedText", lambda text: folded.append(text) or FoldedText(text))
    document = Outline(Source.from_text(PROSE))
    edits = [
        {"op": "replace_match", "pattern": "the line 9 of", "replacement": "x"},
        {
            "op": "replace_match",
            "pattern": "THE LINE 9 OF",
            "replacement": "",
            "preview": True,
            "expectedMatchCount": 1,
        },
        {"op": "delete_lines", "lines": {"start": 1, "end": 1}, "expectedText": "The line 1"},
    ]

    for edit in edits:
        (problem,) = OPERATIONS[edit["op"]].model_validate(edit).resolve(document)
        assert problem.near
    assert folded == [PROSE]


# --- Names that are most like a given one.

NAMES = (
    "installing",
    "getting started with the cli",
    "configuration",
    "environment variables",
    "faq",
    "api reference",
    "32 retry policy",
    "static method bufferconcatlist totallength",
    "buffer constants",
    "über uns",
    "contributing",
)

MANY = tuple(f"chapter {number} about topic {number}" for number in range(3_000))


@pytest.mark.parametrize("others", [(), MANY], ids=["few", "many"])
@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("instalation", "installing"),
        ("install", "installing"),
        ("getting started", "getting started with the cli"),
        ("confguration", "configuration"),
        ("enviroment variable", "environment variables"),
        ("retry policies", "32 retry policy"),
        ("api", "api reference"),
        ("the api reference page", "api reference"),
        ("bufferconcatt list", "static method bufferconcatlist totallength"),
        ("uber uns", "über uns"),
        ("contribute", "contributing"),
    ],
)
def test_nearest_name_is_the_first(others: tuple[str, ...], wanted: str, expected: str) -> None:
    assert nearest_names(wanted, (*others, *NAMES))[:1] == [expected]


@pytest.mark.parametrize("others", [(), MANY], ids=["few", "many"])
@pytest.mark.parametrize("wanted", ["", "zq", "zebra crossing", "in" * 200])
def test_dissimilar_names_give_no_suggestion(others: tuple[str, ...], wanted: str) -> None:
    assert nearest_names(wanted, (*others, *NAMES)) == []


def test_at_most_three_names_are_given() -> None:
    assert nearest_names("step x", (f"step {number}" for number in range(9))) == [
        "step 0",
        "step 1",
        "step 2",
    ]


# --- The literals of a pattern: where one is missing, nothing matches.


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


# --- Regular expressions that would take all time or memory to compile are told from those that do not.

MODEST = [
    "",
    "word",
    r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}",
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    r"(?P<year>[0-9]{4})(?:-[0-9]{2}){2}",
    "a{2,1000000000}",
    "a{,1000000000}",
    r"\{1000000000\}",
    "[a{1000000000}]b{3}",
    "(a{100}){100}",
    "[[:alpha:]]{3}",
    "#{1,6} title",
    f"a{{{MOST_PARTS - 10}}}",
]

EXCESSIVE = [
    "a{1000000000}",
    "a{1000000000,}",
    "(?:ab){100000000}",
    "(a{1000}){1000}",
    "((a{100}){100}){100}",
    "(?:(?:(?:a|b){50}){50}){50}",
    "(?x)((a{1000}) {1000})",
    "(?x)a{ 100 000 }",
    "(?x)(a{1000} # )\n){1000}",
    "(a{1000}(?#)b)){1000}",
    "(?V1)(x{1000}[[a](]){1000}",
    "(?V1)(x{1000}[[a])b]){1000}",
    "a{99999999999999999999999999}",
    "x" * (MOST_PARTS + 1),
    "(?:" * 900 + "a" + "{9}){9}" * 900,
]


@pytest.mark.parametrize("pattern", MODEST)
def test_modest_pattern_is_compiled(pattern: str) -> None:
    assert not has_too_many_parts(pattern)


@pytest.mark.parametrize("pattern", EXCESSIVE, ids=lambda pattern: pattern[:40])
def test_excessive_pattern_is_not_compiled(pattern: str) -> None:
    assert has_too_many_parts(pattern)


def test_first_counts_decide_about_a_long_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the product of all counts is a number of that many digits."""
    read: list[object] = []
    monkeypatch.setattr(pattern_cost, "_least", lambda count: read.append(count) or 9)

    assert has_too_many_parts("a{9}" * MOST_PARTS)
    assert len(read) == 1
