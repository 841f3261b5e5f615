"""Links are counted by kind, and those of a document into itself that lead to nothing are listed."""

from dataclasses import fields

import pytest

from mdplan.markdown.links import count_links, local_links
from mdplan.markdown.outline import Outline
from mdplan.text.lines import Span
from mdplan.text.source import Source


def check(text: str, expected: str, broken: list[tuple[int, str]] | None = None) -> None:
    """`expected` are the counts that are not 0, as ``name number``."""
    outline = Outline(Source.from_text(text))
    found = count_links(outline)
    counts = ((each.name, getattr(found, each.name)) for each in fields(found))
    links = local_links(outline, [Span(0, len(text))])

    assert " ".join(f"{name} {count}" for name, count in counts if count) == expected
    assert [(link.line, link.target) for link in links if not link.resolves] == (broken or [])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("No link: [a] (b), `[a](b)`, \\[a](b), a\\@b.c\n", ""),
        ("[a](b) and [c](<d e> 'f'), [g](\n  h\n  (i))\n", "inline 3"),
        ("[![badge](a.svg)](b) ![c][d]\n\n[d]: e.png\n", "inline 1 image 2"),
        ("[a][B  c], [b\nC], [b c][] and [nothing][here]\n\n[b c]: d\n", "reference 3"),
        ("<https://a.b> https://c.d. (www.e.f) me@g.hi <me@g.hi> mailto:me@g.hi\n", "autolink 6"),
        ("[see www.a.b](c) <a href='d'>http://e.f</a> *http://g.h*\n", "inline 1 autolink 2 html 1"),
        (
            "# [a](b) #c\n\n[d](e)\n===\n\n| [f](g) | `|\n|---|---|\n| h | <ij:k> | [k](l) |\n",
            "inline 3 autolink 1",
        ),
        ("- [ ] [a](b)\n  - c\n    [d](e)\n\n  > [f](g)\n  > h\n\n  ```\n  [i](j)\n  ```\n", "inline 3"),
        ("[[page]] and [[page|text]] and `[[code]]`\n", "wiki 2"),
        ("<div>\n<a href=b>[c](d)</a>\n</div>\n\nx <!-- [e](f) --> <a\nhref=g>\n", "html 2"),
        ("```\n[a](b)\n```\n\n    [c](d)\n\n[e]: f\n", ""),
    ],
)
def test_links_are_counted_by_kind(text: str, expected: str) -> None:
    check(text, expected)


def test_unknown_fragments_are_reported_with_their_lines() -> None:
    text = (
        "# One\n\n[a](#one) [b](#two)\n- c\n  [d](#three) <a href='#four'>e</a>\n\n"
        "[f]: #five\n\n| a |\n|---|\n| [g](#six) |\n\n<p id=six>\n<a href=#seven>\n"
    )

    check(text, "inline 4 html 2", [(3, "#two"), (5, "#three"), (5, "#four"), (7, "#five"), (14, "#seven")])
