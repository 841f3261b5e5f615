"""Documents as people write them with hostile parts in between, and batches of all operations on them."""

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from mdplan.markdown.outline import Outline
from mdplan.markdown.section import Section
from mdplan.operation import Operation, SectionTargeted
from mdplan.operations import OPERATIONS
from tests.properties.block_edits import code_block_edits, diff_edits, region_edits
from tests.properties.hostile_markdown import hostile_documents
from tests.properties.list_and_table_edits import list_edits, table_edits

Edit = dict[str, Any]

_TITLES = ("Guide", "Install", "Use", "`Use` it", "FAQ", "Install", "v1.0 & more")
_BLOCKS = (
    "Some text here.\n",
    "Two lines\nof version 1.0.\n",
    "- one\n- two\n",
    "1. one\n\n2. two\n",
    "- [ ] task\n- [x] done\n  - nested\n",
    "| a | b |\n|---|---|\n| 1 | 2 |\n",
    "```sh\n# no heading\nrun 1.0\n```\n",
    "> # Quoted\n> text\n",
    "<!-- note -->\n",
    "<!-- r:start -->\ntext\n<!-- r:end -->\n",
    "    code\n",
    "See [use](#use) and [a].\n",
    "",
)
_ENDINGS = (
    "",
    "",
    "",
    "\n[a]: https://example.org\n",
    "\n[^1]: A note.\n",
    "\n\n",
    "```\nopen\n",
    "<!-- open\n",
)
_FRONT_MATTER = ("", "", "", "---\ntitle: T\n---\n\n", "+++\na = 1\n+++\n")
_LINE_ENDS = ("\n", "\n", "\n", "\r\n", "\r")
_PATTERNS = ("text", "1.0", "o", "e", "one", "#", "nothing like it", "\n", "Install")
_REGEXES = ("t.xt", r"(\w+)\.0", "^#+ ", "$", r"\s+", "(o)|(e)", "(", "^.*$")


def _first_lines(text: str) -> str:
    return "".join(f"{line}\n" for line in text.split("\n")[:4])


_few_hostile_lines = hostile_documents(("\n",)).map(_first_lines)


@st.composite
def _sections(draw: DrawFn) -> str:
    marks = draw(st.sampled_from(["#", "##", "##", "###", "####", "######", "===", "---"]))
    title = draw(st.sampled_from(_TITLES))
    heading = f"{title}\n{marks}\n" if marks[0] in "=-" else f"{marks} {title}\n"
    blocks = draw(st.lists(st.sampled_from(_BLOCKS), max_size=3))
    return "\n".join([heading, *blocks]) + draw(st.sampled_from(["\n", "\n", "", "\n\n"]))


@st.composite
def documents(draw: DrawFn) -> str:
    """Sections, with hostile lines among some of them; every kind of line end, and some without the last."""
    parts = _sections() | _sections() | _sections() | _few_hostile_lines
    text = draw(st.sampled_from(_FRONT_MATTER)) + draw(st.sampled_from(["", "Before all.\n\n"]))
    text += "".join(draw(st.lists(parts, max_size=5))) + draw(st.sampled_from(_ENDINGS))
    if draw(st.integers(0, 7)) == 0:
        text = text.removesuffix("\n")
    return text.replace("\n", draw(st.sampled_from(_LINE_ENDS)))


_payload_blocks = st.sampled_from((*_BLOCKS, "New text.\n", "- three\n", "| 3 | 4 |\n", "Line 1\r\nLine 2"))
# Text that came over the wire is Unicode, and a NUL in it is refused.
_hostile_payloads = _few_hostile_lines.map(lambda text: text.replace("\udc80", "?").replace("\0", "!"))
_payload_sections = st.builds(
    "{} {}\n\n{}".format, st.sampled_from(["#", "##", "####"]), st.sampled_from(_TITLES), _payload_blocks
)
_new_sections = st.builds(
    "{} {}\n\n{}".format,
    st.sampled_from(["#", "##", "###"]),
    st.sampled_from(["New", "Newer"]),
    _payload_blocks,
)
_payloads = st.one_of(
    _payload_blocks,
    _payload_blocks,
    _new_sections,
    _new_sections,
    _payload_sections,
    st.builds(str.__add__, _payload_blocks, _new_sections),
    _hostile_payloads,
)


def batches(outline: Outline, file: str) -> SearchStrategy[dict[str, Any]]:
    """Batch on the one file whose `outline` is given, with its base hash and any options."""
    options = st.fixed_dictionaries(
        {},
        optional={
            "sequential": st.booleans(),
            "allowOutlineChange": st.sampled_from([False, False, True]),
            "allowDuplicateHeadings": st.booleans(),
        },
    )
    named = st.fixed_dictionaries(
        {
            "file": st.just(file),
            "baseSha256": st.just(outline.source.sha256),
            "edits": st.lists(edits(outline), min_size=1, max_size=4),
        }
    )
    return st.builds(dict.__or__, named, options)


@st.composite
def edits(draw: DrawFn, outline: Outline) -> Edit:
    """One edit whose address mostly exists in `outline`."""
    op = draw(st.sampled_from(sorted(OPERATIONS)))
    edit: Edit = {"op": op}
    placed = _placed(outline, op)
    if placed is not None:
        return edit | draw(placed)
    section = draw(st.sampled_from(_sections_for(outline, OPERATIONS[op])))
    edit |= draw(_addresses(outline, section))
    if draw(st.integers(0, 3)) == 0:
        edit["sectionSha256"] = outline.section_sha256(section)
    return edit | draw(_section_fields(outline, section, op))


def _placed(outline: Outline, op: str) -> SearchStrategy[Edit] | None:
    """Fields of an edit whose place is no section."""
    found: SearchStrategy[Edit] | None = None
    match op:
        case "replace_match" | "preview_match":
            found = _matches(outline, replaces=op == "replace_match")
        case "insert_lines" | "replace_lines" | "delete_lines" | "replace_range":
            found = _places(outline, op)
        case "replace_code_block":
            found = code_block_edits(outline)
        case "replace_region":
            found = region_edits(outline, _payloads)
        case "apply_diff":
            found = diff_edits(outline, _payloads)
        case "delete_table_row" | "upsert_table_row":
            found = table_edits(outline, op)
        case "add_list_item" | "remove_list_item" | "set_task":
            found = list_edits(outline, op)
    return found


def _sections_for(outline: Outline, operation: type[Operation]) -> list[Section]:
    """Sections that `operation` accepts; all where there are none."""
    assert issubclass(operation, SectionTargeted)
    fitting = [
        section
        for section in outline.every_section()
        if (not section.is_root or operation.accepts_root)
        and (not section.nested or operation.accepts_nested)
    ]
    return fitting or list(outline.every_section())


@st.composite
def _addresses(draw: DrawFn, outline: Outline, section: Section) -> Edit:
    occurrence = {"occurrence": section.ordinal} if section.repeats > 1 and not section.nested else {}
    ways: list[Edit] = [
        {"sectionId": section.section_id},
        {"sectionId": section.section_id},
        {"headingPath": list(section.path), **occurrence},
        {"headingPath": list(section.path[-1:])},
    ]
    if section.heading:
        ways += [{"heading": section.title}, {"heading": "No such"}]
    if section.anchor:
        ways.append({"anchor": section.anchor})
    return draw(st.sampled_from(ways))


@st.composite
def _section_fields(draw: DrawFn, outline: Outline, section: Section, op: str) -> Edit:
    own = st.just(outline.text_of(section.span)) | st.just(outline.text_of(section.body))
    levels = st.fixed_dictionaries({}, optional={"levels": st.sampled_from(["fit", "fit", "verbatim"])})
    positions = st.sampled_from(["before", "after", "firstChild", "lastChild"])
    match op:
        case "append_to_section":
            extra = {"markdown": _payloads, "extent": st.sampled_from(["auto", "auto", "subtree"])}
        case "prepend_to_section":
            extra = {"markdown": _payloads}
        case "replace_section":
            extra = {
                "markdown": _payloads | own,
                "keepSubsections": st.sampled_from([None, None, True, False]),
            }
        case "insert_section":
            extra = {"markdown": _new_sections | _payloads, "position": positions}
        case "upsert_section":
            mode = draw(st.sampled_from(["replace", "append", "prepend"]))
            extra = {"markdown": _payloads, "mode": st.just(mode), "createIfMissing": st.booleans()}
        case "move_section":
            to = draw(st.sampled_from(list(outline.every_section())))
            extra = {"toSectionId": st.just(to.section_id), "position": positions}
        case "set_heading_level":
            return draw(
                st.fixed_dictionaries(
                    {"level": st.integers(1, 6)}, optional={"subsections": st.sampled_from(["shift", "keep"])}
                )
            )
        case "rename_heading":
            titles = (
                "New title",
                "`Code` title",
                "Guide",
                "a # b #",
                "12. x",
                "=",
                "[l](#use)",
                "\\#",
                "<b>",
            )
            return draw(st.fixed_dictionaries({"newTitle": st.sampled_from(titles)}))
        case "delete_section":
            return draw(
                st.fixed_dictionaries({}, optional={"part": st.sampled_from(["whole", "heading", "body"])})
            )
        case _:
            raise AssertionError(f"tests/properties/batches.py does not know {op}")
    return draw(st.builds(dict.__or__, st.fixed_dictionaries(extra), levels))


@st.composite
def _matches(draw: DrawFn, outline: Outline, *, replaces: bool) -> Edit:
    is_regex = draw(st.integers(0, 3)) == 0
    edit: Edit = {"pattern": draw(st.sampled_from(_REGEXES if is_regex else _PATTERNS))}
    if is_regex:
        edit["matchType"] = "regex"
    scope = draw(st.integers(0, 3))
    if scope == 0:
        edit |= draw(_addresses(outline, draw(st.sampled_from(list(outline.every_section())))))
    elif scope == 1 and outline.source.lines.count:
        edit["lines"] = draw(_line_ranges(outline))
    counts: list[Edit] = [{}, {"minMatches": 0}, {"matchSelection": "all"}, {"matchSelection": "1"}]
    edit |= draw(st.sampled_from([*counts[1:], *counts, {"matchSelection": "1-2"}]))
    if draw(st.integers(0, 4)) == 0:
        edit["include"] = ["codeBlocks", "html", "inlineCode", "linkDestinations", "frontMatter"]
    if replaces:
        edit["replacement"] = draw(
            st.sampled_from(["", "new", "2.0", "x text", "\n", "# x", "\n\n# N\n\n", "```", r"\1"])
        )
    return edit


@st.composite
def _line_ranges(draw: DrawFn, outline: Outline) -> dict[str, int]:
    count = outline.source.lines.count
    start = draw(st.integers(1, max(1, count)))
    return {
        "start": start,
        "end": draw(st.integers(start, min(start + 3, count + 1) if start <= count else start)),
    }


@st.composite
def _places(draw: DrawFn, outline: Outline, op: str) -> Edit:
    source = outline.source
    texts = _payload_blocks | _new_sections | _hostile_payloads
    if op == "replace_range":
        start = draw(st.integers(0, len(source.text)))
        end = draw(st.integers(start, min(start + 12, len(source.text))))
        places = [source.lines.position(offset) for offset in (start, end)]
        guard = draw(
            st.sampled_from([{"allowInsecureRange": True}, {"expectedText": source.text[start:end]}])
        )
        return {
            "range": {
                name: {"line": at.line, "col": at.col}
                for name, at in zip(("start", "end"), places, strict=True)
            },
            "replacement": draw(texts | st.sampled_from(["", "x", "\n", "# "])),
            **guard,
        }
    if op == "insert_lines":
        return {
            "line": draw(st.integers(1, max(1, source.lines.count))),
            "position": draw(st.sampled_from(["before", "after"])),
            "markdown": draw(texts),
        }
    edit: Edit = {"lines": draw(_line_ranges(outline))}
    if op == "replace_lines":
        edit["markdown"] = draw(texts)
    return edit
