"""Edits of lists, tables and sections of real sites stay in the containers that these sites see.

The judges are remark with directives and MDX (Astro), markdown-it-container (VitePress) and myst-parser. All
edits of one kind are planned at once for each document. Other text of the page keeps its containers, too.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count, groupby
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser

from mdplan.markdown.outline import Outline
from mdplan.planning.build import BuiltFile
from tests.clients.node_tools import node_tools
from tests.conftest import FULL
from tests.support.edit_trials import Document

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

Leaves = Sequence[tuple[str, str]]
# An edit, the source of its neighbour, in whose containers new text belongs, and the source that goes.
Trial = tuple[dict[str, object], str, str]
_LIST = re.compile("( list)+$")
_TEXTS = 200


def tidy(text: str) -> str:
    return re.sub(r"[\s>]+", " ", re.sub(r"(?m)^[ \t]*</[\w-]+>[ \t]*$", "", text)).strip()


def groups_of(outline: Outline) -> Iterator[list[Trial]]:
    """Groups of edits of each list, table and section; no edit of a group meets another one."""
    text, lists, names = outline.source.text, outline.lists, (f"Zqx{number}x" for number in count())
    outer = [({"list": {"index": number}}, listing) for number, listing in enumerate(lists.outermost)]
    for descending in (False, True):
        yield [({"op": "sort_list", "descending": descending, **at}, "", "") for at, _ in outer]
    yield [
        ({"op": "add_list_item", "item": next(names), **at}, each.items[-1].text, "") for at, each in outer
    ]
    for edge in (0, -1):
        items = [each.items[edge] for each in lists.all if len(lists.items_named(each.items[edge].text)) == 1]
        for depth in {item.block.depth for item in items}:
            here = [item for item in items if item.block.depth == depth and item.text]
            gone = [outline.text_of(item.block.span) for item in here]
            yield [
                ({"op": "add_list_item", "item": next(names), "after": each.text}, each.text, "")
                for each in here
            ]
            yield [
                ({"op": "remove_list_item", "item": each.text}, "", old)
                for each, old in zip(here, gone, strict=True)
            ]
    yield [
        (
            {
                "op": "upsert_table_row",
                "table": {"index": number},
                "keyColumn": name,
                "key": next(names),
                "row": {},
            },
            name,
            "",
        )
        for number, table in enumerate(outline.tables)
        for name in [*filter(None, table.columns)][:1]
    ]
    heads = [(each, each.heading.content if each.heading else "") for each in outline.sections]
    yield [
        ({"op": "append_to_section", "sectionId": each.section_id, "markdown": next(names)}, head, "")
        for each, head in heads
    ]
    delete: list[Trial] = [
        ({"op": "delete_section", "sectionId": each.section_id}, "", text[each.span.start : each.span.end])
        for each in outline.sections[1:]
    ]
    leaves = [len(outline.members(each)) == 1 for each in outline.sections[1:]]
    alone = [trial for trial, is_leaf in zip(delete, leaves, strict=True) if is_leaf]
    yield from (alone[::2], alone[1::2])
    yield from ([trial] for trial, is_leaf in zip(delete, leaves, strict=True) if not is_leaf)


def planned(
    document: Document, group: Sequence[Trial], refused: Counter[str]
) -> tuple[list[Trial], str] | None:
    """The edits that can be planned, and the result of all of them."""
    outcome = document.plan(*(edit for edit, *_ in group)) if group else ()
    if not isinstance(outcome, BuiltFile):
        outcomes = [(trial, document.plan(trial[0])) for trial in group]
        refused.update(f"{one[0].code}" for _, one in outcomes if not isinstance(one, BuiltFile))
        group = [trial for trial, one in outcomes if isinstance(one, BuiltFile)]
        outcome = document.plan(*(edit for edit, *_ in group)) if group else ()
    return (list(group), outcome.result.source.text) if isinstance(outcome, BuiltFile) else None


def myst_leaves(parser: MarkdownIt, text: str, around: str = "") -> Iterator[tuple[str, str]]:
    stack = [around]
    for token in parser.parse(text):
        name = token.info.split()[0] if token.info.strip() else ""
        if token.type.endswith("_list_open"):
            stack.append(f"{stack[-1]} list")
        elif token.type.endswith("_list_close"):
            stack.pop()
        elif token.type == "colon_fence" or (token.type == "fence" and name.startswith("{")):
            yield from myst_leaves(parser, token.content, f"{stack[-1]} :{name}")
        elif token.content and token.type in {"inline", "math_block", "code_block", "fence"}:
            yield stack[-1], tidy(token.content)


def leaves_of(site: str, texts: Sequence[str], folder: Path) -> dict[str, Leaves | str]:
    """What each text shows, with the containers of each piece, or why the site cannot read it."""
    if site == "mystmd":
        extensions = {"colon_fence", "dollarmath", "deflist", "fieldlist", "attrs_block"}
        parser = create_md_parser(MdParserConfig(enable_extensions=extensions), RendererHTML)
        return {text: [*myst_leaves(parser, text)] for text in texts}
    found: dict[str, Leaves | str] = {}
    for first in range(0, len(texts), _TEXTS):
        (folder / "texts.json").write_text(
            json.dumps([[site, text] for text in texts[first : first + _TEXTS]])
        )
        script = Path(__file__).parent / "containers.mjs"
        done = node_tools().run_script(script, [str(folder / "texts.json")], cwd=folder)
        answers = json.loads(done.stdout) if not done.returncode else pytest.fail(done.stderr)
        read = (each if isinstance(each, str) else [*map(tuple, each)] for each in answers)
        found |= zip(texts[first:], read, strict=False)
    return found


def problems_of(group: Sequence[Trial], base: Leaves, result: Leaves) -> Iterator[str]:
    """What is in another container than before, or than its neighbour."""
    lost, new = Counter(base) - Counter(result), Counter(result) - Counter(base)
    gone, gained = (tidy("\n".join(old for *_, old in group)), {text: around for around, text in new})
    yield from (f"lost {text}" for _, text in lost if text.strip("|") not in gone)
    for edit, near, _ in group:
        name = (
            str(edit.get("item") or edit.get("key") or edit.get("markdown"))
            if not edit.get("descending")
            else ""
        )
        if not name.startswith("Zqx"):
            continue
        here = {around for around, text in base if tidy(near) and tidy(near) in text}
        here = {_LIST.sub("", around) for around in here} if "markdown" in edit else here
        place = gained.pop(name, None)
        if place is None or (here and place not in here):
            yield f"{edit} is not in {here}"
    yield from (f"{text} is in {around}" for text, around in gained.items())


@pytest.mark.parametrize("site", ["astro-docs", "vuejs-docs", "mystmd"])
def test_edited_text_stays_in_its_container(corpus: Path, tmp_path: Path, site: str) -> None:
    files = sorted((corpus / site).rglob("*.md*"))[:: 1 if FULL else 10]
    if not files:
        pytest.skip(f"no documents of {site} in {corpus}")
    refused, trials, problems = Counter[str](), [], []
    for path in files:
        document = Document(path.name, path.read_bytes())
        for group in groups_of(document.outline):
            plan = planned(document, group, refused)
            if plan is not None:
                trials.append((path.name, document.outline.source.text, *plan))
    texts = [*dict.fromkeys(text for _, base, _, result in trials for text in (base, result))]
    leaves = leaves_of(site, texts, tmp_path)
    for name, base, group, result in trials:
        before, after = leaves[base], leaves[result]
        if isinstance(before, str) or isinstance(after, str):
            problems += [f"{name}: {after}"] if isinstance(after, str) and not isinstance(before, str) else []
        else:
            problems += (f"{name}: {group[0][0]['op']}: {each}" for each in problems_of(group, before, after))

    bases = [leaves[base] for base in {base for _, base, *_ in trials}]
    runs = [around for base in bases for around, _ in groupby(base, lambda leaf: leaf[0])]
    containers = [around for around in runs if re.search("[:<]", around)]
    assert len(containers) >= (100 if FULL else 1), "the judge is blind"
    assert problems == []
    assert refused.total() <= sum(len(group) for _, _, group, _ in trials) / 100, refused
