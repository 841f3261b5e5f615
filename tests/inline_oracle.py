"""What the parser itself says about inline nodes, to be compared with what their spans hold.

The tokens come from a parser without any recording. Columns are in neither, so both sides become facts: for
each node, in document order, its kind and what it says.
"""

import re
from collections.abc import Iterator
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.common.utils import normalizeReference, unescapeAll
from markdown_it.token import Token
from mdit_py_plugins.footnote import footnote_plugin

from mdplan.markdown.inline import InlineMap
from mdplan.markdown.inline_node import InlineKind, InlineNode
from mdplan.markdown.reference_parser import inert_parser
from mdplan.text.lines import LineIndex, Span

Fact = tuple[str, ...]
Definitions = dict[str, dict[str, str]]

# What may be before an address to the plugin that reads bare ones.
_BEFORE_ADDRESS = frozenset(("", *" \t\r\n*_~("))


@cache
def _parser() -> MarkdownIt:
    """GFM with footnotes and HTML, in which definitions are tokens."""
    parser = inert_parser(100)
    parser.options["html"] = parser.options["inline_definitions"] = True
    return parser.use(footnote_plugin, inline=False, move_to_end=False)


def all_nodes(text: str) -> tuple[tuple[InlineNode, ...], tuple[Span, ...]]:
    """Nodes and undecided spans of a document without front matter."""
    nodes = InlineMap(text, LineIndex(text))
    whole = Span(0, len(text))
    return nodes.nodes_in(whole), nodes.undecided_in(whole)


def disagreements(text: str, nodes: tuple[InlineNode, ...]) -> list[tuple[Fact | None, Fact | None]]:
    """Facts of the parser beside those of `nodes`, where they differ."""
    environment: dict[str, Definitions] = {}
    expected = list(_token_facts(_parser().parse(text + "\n", environment)))
    seen = text.replace("\0", "\ufffd")
    found = []
    for node in nodes:
        if node.kind is InlineKind.WIKI_LINK:
            continue
        fact = _node_fact(node, seen, environment.get("references", {}))
        if fact in expected or not _is_unseen_address(node, text):
            found.append(fact)
    length = max(len(expected), len(found))
    rows = zip(_padded(expected, length), _padded(found, length), strict=True)
    return [(want, have) for want, have in rows if want is None or have is None or not _agree(want, have)]


def _is_unseen_address(node: InlineNode, text: str) -> bool:
    """Whether `node` is a mail address that the plugin of the parser does not see for what is before it.

    GFM (section 6.9) and cmark-gfm take an address after any character that cannot be a part of it, as in
    ``"a@b.org"``. The plugin wants one of those that may be before a bare URL.
    """
    is_bare = node.kind is InlineKind.AUTOLINK and not text.startswith("<", node.span.start)
    return (
        is_bare
        and node.href.startswith("mailto:")
        and not text.startswith("mailto:", node.span.start)
        and text[: node.span.start][-1:] not in _BEFORE_ADDRESS
    )


def _padded(facts: list[Fact], length: int) -> list[Fact | None]:
    return [*facts, *[None] * (length - len(facts))]


def _agree(expected: Fact, found: Fact) -> bool:
    """Whether two facts are the same.

    What stands in several lines, or may hold an escaped pipe of a table, is compared without white space,
    marks of quotes, pipes and backslashes: content does not have all of those that the source has.
    """
    if any(mark in part for part in found for mark in ("\n", "\r", "\\|")):
        return [_bare(part) for part in expected] == [_bare(part) for part in found]
    return expected == found


def _bare(text: str) -> str:
    return re.sub(r"[\s>|\\]", "", text)


def _token_facts(tokens: list[Token]) -> Iterator[Fact]:
    for index, token in enumerate(tokens):
        if token.type == "definition":
            yield "definition", token.meta["label"], token.meta["url"], token.meta["title"]
        elif token.type == "footnote_reference_open":
            yield "footnoteDefinition", token.meta["label"]
        elif token.type == "footnote_ref":
            yield "footnoteReference", token.meta["label"]
        elif token.type == "code_inline":
            yield "inlineCode", token.content
        elif token.type == "html_inline":
            yield "html", token.content
        elif token.type == "link_open" and token.info == "auto":
            yield "autolink", tokens[index + 1].content, str(token.attrs["href"])
        elif token.type == "link_open":
            yield "link", str(token.attrs["href"]), str(token.attrs.get("title", ""))
        elif token.type == "image":
            yield "image", str(token.attrs["src"]), str(token.attrs.get("title", "")), token.content
        yield from _token_facts(token.children or [])


def _node_fact(node: InlineNode, text: str, definitions: Definitions) -> Fact:
    def cut(span: Span | None) -> str:
        return "" if span is None else text[span.start : span.end]

    whole = cut(node.span)
    label = cut(node.label)
    match node.kind:
        case InlineKind.DEFINITION:
            assert whole.startswith(f"[{label}]:")
            return (node.kind, label, *_target(cut(node.destination), cut(node.title)))
        case InlineKind.FOOTNOTE_DEFINITION | InlineKind.FOOTNOTE_REFERENCE:
            assert whole == f"[^{label}]" + ":" * (node.kind is InlineKind.FOOTNOTE_DEFINITION)
            return node.kind, label
        case InlineKind.CODE:
            marks = "`" * (len(whole) - len(whole.lstrip("`")))
            inside = cut(node.text)
            assert marks
            assert whole == marks + inside + marks
            spaced = len(inside) > 2 and inside[0] == inside[-1] == " " and inside.strip(" ")
            return node.kind, inside[1:-1] if spaced else inside
        case InlineKind.HTML:
            assert whole[0] + whole[-1] == "<>"
            return node.kind, whole
        case InlineKind.AUTOLINK:
            written = cut(node.destination)
            assert whole in {written, f"<{written}>"}
            assert node.href.endswith((written, written.replace("\\|", "|")))
            return node.kind, written, node.href
    opening = "!" if node.kind is InlineKind.IMAGE else ""
    assert whole.startswith(f"{opening}[{cut(node.text)}]")
    if node.destination is None:
        assert whole.endswith((f"[{label}]", f"[{label}][]"))
        definition = definitions[normalizeReference(_joined(label))]
        target = definition["href"], definition["title"]
    else:
        assert whole.endswith(")")
        target = _target(cut(node.destination), cut(node.title))
    return (node.kind, *target, cut(node.text)) if opening else (node.kind, *target)


def _target(destination: str, title: str) -> tuple[str, str]:
    if destination.startswith("<"):
        assert destination.endswith(">")
        destination = destination[1:-1]
    assert not title or title[0] + title[-1] in {'""', "''", "()"}
    return unescapeAll(destination), unescapeAll(title[1:-1])


def _joined(label: str) -> str:
    """A label as it is in content: without what stands before its second line, and unescaped pipes."""
    return re.sub(r"[\r\n]+[ \t>]*", "\n", label).replace("\\|", "|")
