"""Front matter: where it stands, and what may be read of it."""

import pytest

from mdplan.markdown.format_detection import find_front_matter
from mdplan.markdown.front_matter import read_keys, read_values
from mdplan.markdown.outline import Outline
from mdplan.text.source import Source


def headings(text: str) -> list[str]:
    return [section.title for section in Outline(Source.from_text(text)).sections[1:]]


@pytest.mark.requirement("outline-7")
@pytest.mark.parametrize(
    ("text", "block"),
    [
        ("---\na: 1\n---\n# T\n", "---\na: 1\n---\n"),
        ("---\na: 1\n...\n# T\n", "---\na: 1\n...\n"),
        ("+++\na = 1\n+++\n# T\n", "+++\na = 1\n+++\n"),
        ("--- \t\na: 1\n---  \n# T\n", "--- \t\na: 1\n---  \n"),
        ("---\r\na: 1\r\n---\r\n# T\r\n", "---\r\na: 1\r\n---\r\n"),
        ("---\ra: 1\r---\r# T\r", "---\ra: 1\r---\r"),
        ("---\na: 1\n---", "---\na: 1\n---"),
        ("---\n---\n# T\n", "---\n---\n"),
        ("---\na: [\n---\n# T\n", "---\na: [\n---\n"),
        ("---\na: |\n  ---\nb: 1\n---\n# T\n", "---\na: |\n  ---\nb: 1\n---\n"),
        ("---\na: 1\n----\nb: 1\n---\n# T\n", "---\na: 1\n----\nb: 1\n---\n"),
        ("---\na: 1\n\nb: 2\n---\n# T\n", "---\na: 1\n\nb: 2\n---\n"),
    ],
)
def test_front_matter_reaches_from_fence_to_fence(text: str, block: str) -> None:
    found = find_front_matter(text)

    assert found is not None
    assert text[found.span.start : found.span.end] == block
    assert headings(text) == (["T"] if "T" in text else [])


@pytest.mark.requirement("outline-7")
@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ("--- x\na: 1\n---\n# A\n", ["--- x a: 1", "A"]),
        ("----\na: 1\n----\n", ["a: 1"]),
        ("- |---|\n# A\n", ["A"]),
        ("---\n\ntext\n\n---\n\n# A\n", ["A"]),
        ("---\n \t\ntext\n\n---\n", []),
        (" ---\na: 1\n---\n", ["a: 1"]),
        ("\n---\na: 1\n---\n", ["a: 1"]),
        ("---\na: 1\n", []),
        ("---", []),
        ("---\n", []),
        ("+++\na = 1\n---\n", ["+++ a = 1"]),
        ("---\na: 1\n--- #\n", []),
        ("---\na: 1\n---x\n", []),
        ("", []),
    ],
)
def test_what_only_looks_like_front_matter_is_markdown(text: str, titles: list[str]) -> None:
    assert find_front_matter(text) is None
    assert headings(text) == titles


@pytest.mark.parametrize("bom", [b"\xef\xbb\xbf", b"\xff\xfe"], ids=["utf-8", "utf-16"])
def test_front_matter_is_found_after_a_byte_order_mark(bom: bytes) -> None:
    text = "---\na: 1\n---\n# T\n"
    source = Source.decode(bom + text.encode("utf-8" if len(bom) == 3 else "utf-16-le"))
    assert isinstance(source, Source)

    outline = Outline(source)
    assert outline.body_start == 13
    assert [section.title for section in outline.sections] == ["", "T"]


def keys(text: str) -> tuple[str, ...] | None:
    found = find_front_matter(text)
    assert found is not None
    return read_keys(text, found)


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ("---\nb: 1\na:\n  c: 2\n---\n", ("b", "a")),
        ("---\r\nb: 1\r\na: 2\r\n---\r\n", ("b", "a")),
        ("---\rb: 1\ra: 2\r---\r", ("b", "a")),
        ("+++\nb = 1\n[a]\nc = 2\n+++\n", ("b", "a")),
        ("---\n2024: x\nyes: x\n---\n", ("2024", "yes")),
        ("---\n# only a comment\n---\n", ()),
        ("---\n---\n", ()),
        ("---\nb: 1\n...\n", ("b",)),
        ("---\na: |\n  ---\nb: 1\n---\n", ("a", "b")),
        ("---\ntitle: ü\U0001f600\n---\n", ("title",)),
    ],
)
def test_keys_are_listed_in_order(block: str, expected: tuple[str, ...]) -> None:
    assert keys(block) == expected


def nested(depth: int) -> str:
    return "a: " + "[" * depth + "]" * depth


BOMB = "\n".join(
    ["a: &a [x, x]", *(f"{b}: &{b} [*{a}, *{a}]" for a, b in zip("abcdefgh", "bcdefghi", strict=True))]
)


@pytest.mark.requirement("safety-2")
@pytest.mark.parametrize(
    "content",
    [
        BOMB,
        "a: &x 1",
        "b: {c: 1}\na:\n  <<: {d: 1}",
        "a: !!python/object/apply:os.system [x]",
        "a: !tag 1",
        "a: !!str 1",
        nested(40),
        nested(5_000),
        "a: [" + "x," * 6_000 + "]",
        "a: " + "x" * 70_000,
        "a: [",
        "- a\n- b",
        "just text",
        "a: 1\na: b: c",
        "? [x]\n: 1",
        "a: 0000-99-99",
        "a: \x07",
        "a: \ud800",
    ],
    ids=lambda content: content[:20],
)
def test_front_matter_that_cannot_be_read_safely_has_no_keys(content: str) -> None:
    assert keys(f"---\n{content}\n---\n") is None


@pytest.mark.parametrize("content", ["a = ", "a = 1\na = 2", "= 1", "x" * 70_000])
def test_toml_that_cannot_be_read_has_no_keys(content: str) -> None:
    assert keys(f"+++\n{content}\n+++\n") is None


def test_values_are_those_of_the_safe_loader() -> None:
    text = "---\ntitle: 'A: b'\ntags: [x, y]\ndraft: true\n---\n"
    found = find_front_matter(text)
    assert found is not None

    assert read_values(text, found) == {"title": "A: b", "tags": ["x", "y"], "draft": True}
