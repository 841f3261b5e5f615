"""Edits of lines, ranges, regions and contents of real documents, and the text that plain Python makes."""

import difflib
import html
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import unquote

import yaml

from mdplan.markdown.blocks import Block, BlockKind
from tests.corpus.sample import spread
from tests.support.edit_trials import Document
from tests.support.pages import Page

WORD = "Zqxword"
_LINES = re.compile(r"[^\n]*\n|[^\n]+\Z")
_ITEM = re.compile(r'<a href="#([^"]*)">(.*?)</a>', re.DOTALL)
_TAG = re.compile(r"<[^>]*>")


@dataclass(frozen=True)
class TextTrial:
    """An edit of the text `base`, and whether it `is_right` that base becomes result."""

    edit: dict[str, object]
    base: str
    is_right: Callable[[str, str], bool]


def becomes(wanted: str) -> Callable[[str, str], bool]:
    """The result is `wanted`, to the byte."""
    return lambda _, result: result == wanted


def text_trials(document: Document, most: int) -> Iterator[TextTrial]:
    """Edits of `most` paragraphs, and of the contents, of `document`."""
    text = document.outline.source.text
    if "\r" in text.replace("\r\n", "\n"):
        return
    blocks = document.outline.blocks
    paragraphs = [each for each in blocks if each.kind is BlockKind.PARAGRAPH and not each.depth]
    for block in spread(paragraphs, most):
        yield from _of_lines(text, block)
        yield from _of_words(text, block)
        yield from _of_region(text, block)
    yield from _of_contents(document, text)
    yield from _of_front_matter(text, most)


def _of_lines(text: str, block: Block) -> Iterator[TextTrial]:
    lines = _LINES.findall(text)
    first, last = block.first_line, block.last_line
    end = "\r\n" if lines[0].endswith("\r\n") else "\n"
    before, behind = lines[: first - 1], lines[last:]
    # The next line would continue the new paragraph or underline it.
    if (behind and behind[0].strip()) or not lines[last - 1].endswith("\n"):
        return
    place = {"start": first, "end": last}
    new = f"{WORD}.{end}"
    edit: dict[str, object] = {"op": "replace_lines", "lines": place, "text": f"{WORD}.\n"}
    replaced = "".join([*before, new, *behind])
    yield TextTrial(edit, text, becomes(replaced))
    added = {"op": "insert_lines", "line": last, "position": "after", "text": f"\n{WORD}.\n"}
    yield TextTrial(added, text, becomes("".join([*lines[:last], end, new, *behind])))
    yield TextTrial({"op": "delete_lines", "lines": place}, text, becomes("".join([*before, *behind])))
    diff = "".join(difflib.unified_diff(lines, _LINES.findall(replaced)))
    yield TextTrial({"op": "apply_diff", "diff": diff}, text, becomes(replaced))


def _of_words(text: str, block: Block) -> Iterator[TextTrial]:
    found = re.search(r"(?<![\w-])[A-Za-z]{4,}(?![\w-])", text[block.span.start : block.span.end])
    if found is None:
        return
    start, end = block.span.start + found.start(), block.span.start + found.end()
    line = text.count("\n", 0, start) + 1
    column = start - (text.rfind("\n", 0, start) + 1) + 1
    places = {"start": {"line": line, "col": column}, "end": {"line": line, "col": column + end - start}}
    edit: dict[str, object] = {
        "op": "replace_range",
        "range": places,
        "expectedText": found[0],
        "replacement": WORD,
    }
    yield TextTrial(edit, text, becomes(text[:start] + WORD + text[end:]))
    yield TextTrial({"op": "preview_match", "pattern": found[0]}, text, becomes(text))


def _of_region(text: str, block: Block) -> Iterator[TextTrial]:
    lines = _LINES.findall(text)
    before, own, behind = (
        "".join(lines[slice(*each)])
        for each in (
            (0, block.first_line - 1),
            (block.first_line - 1, block.last_line),
            (block.last_line, None),
        )
    )
    if not own.endswith("\n") or "zq:" in text:
        return
    end = "\r\n" if own.endswith("\r\n") else "\n"
    start, stop = f"<!-- zq:start -->{end}", f"<!-- zq:end -->{end}"
    edit: dict[str, object] = {"op": "replace_region", "region": "zq", "markdown": f"{WORD}."}
    base = f"{before}{end}{start}{own}{stop}{end}{behind}"
    yield TextTrial(edit, base, becomes(f"{before}{end}{start}{WORD}.{end}{stop}{end}{behind}"))
    rest = (before + behind).split()
    yield TextTrial({"op": "delete_region", "region": "zq"}, base, lambda _, result: result.split() == rest)


def _of_contents(document: Document, text: str) -> Iterator[TextTrial]:
    sections = document.outline.sections[1:]
    first = next((each for each in sections if each.level > 1), None)
    if first is None or "toc" in text.lower():
        return
    end = "\r\n" if "\r\n" in text else "\n"
    at = first.span.start
    base = f"{text[:at]}<!-- toc:start -->{end}<!-- toc:end -->{end}{end}{text[at:]}"
    nested = {section.heading_line for section in document.outline.nested}
    page = document.page
    listed = [
        (anchor, _TAG.sub("", title).strip())
        for (level, title), line, anchor in zip(page.headings, page.heading_lines, page.slugs, strict=True)
        if level > 1 and line not in nested and line >= first.heading_line and _TAG.sub("", title).strip()
    ]
    if any("{" in title for _, title in listed):
        return

    def is_right(_: str, result: str) -> bool:
        """Links of the contents name the headings behind them, by their texts, and nothing else changes."""
        head, _, rest = result.partition("<!-- toc:start -->")
        contents, _, tail = rest.partition("<!-- toc:end -->")
        items = [
            (unquote(html.unescape(anchor)), _TAG.sub("", title).strip())
            for anchor, title in _ITEM.findall(Page.of(contents.encode()).body)
        ]
        return f"{head}<!-- toc:start -->{end}<!-- toc:end -->{tail}" == base and items == listed

    yield TextTrial({"op": "update_toc", "minLevel": 2, "maxLevel": 6}, base, is_right)


def _of_front_matter(text: str, most: int) -> Iterator[TextTrial]:
    """Keys and items of front matter that come, go, move and get other names, as PyYAML reads it."""
    values = _front_matter(text)
    if not values:
        return
    new = {"op": "set_value", "key": [WORD], "value": WORD, "createIfMissing": True}
    yield _of_values(text, new, {**values, WORD: WORD})
    for key in spread([key for key in values if isinstance(key, str)], most):
        renamed = {WORD if each == key else each: value for each, value in values.items()}
        yield _of_values(text, {"op": "rename_key", "key": [key], "newName": WORD}, renamed)
        rest = {each: value for each, value in values.items() if each != key}
        if rest:
            yield _of_values(text, {"op": "delete_value", "key": [key]}, rest)
    for name, items in values.items():
        if isinstance(items, list) and len(items) > 1 and all(isinstance(item, str) for item in items):
            named = {"key": [name], "value": WORD}
            yield _of_values(text, {"op": "add_to_list", **named}, {**values, name: [*items, WORD]})
            if len(set(items)) == len(items):
                fewer = {**values, name: items[1:]}
                yield _of_values(text, {"op": "remove_from_list", "key": [name], "value": items[0]}, fewer)
                moved = {**values, name: [items[-1], *items[:-1]]}
                move = {"op": "move_item", "key": [name, len(items) - 1], "before": items[0]}
                yield _of_values(text, move, moved)


def _of_values(text: str, edit: dict[str, object], wanted: object) -> TextTrial:
    body = text[_body_start(text) :]
    return TextTrial(
        edit,
        text,
        lambda _, result: _front_matter(result) == wanted and result[_body_start(result) :] == body,
    )


def _front_matter(text: str) -> dict[object, object] | None:
    """Return the front matter of `text` as PyYAML reads it; None unless it is a map."""
    try:
        values = (
            yaml.safe_load(text[3 : _body_start(text)].removesuffix("---\n")) if _body_start(text) else None
        )
    except yaml.YAMLError:
        return None
    return values if isinstance(values, dict) else None


def _body_start(text: str) -> int:
    end = text.find("\n---\n", 3) if text.startswith("---\n") else -1
    return end + len("\n---\n") if end >= 0 else 0
