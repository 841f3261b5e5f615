"""Batches of all operations on one file: of each operation, edits whose places mostly exist."""

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from mdplan.markdown.enclosure_search import find_regions
from mdplan.markdown.outline import Outline
from mdplan.operations import OPERATIONS
from mdplan.operations.base import Operation, SectionTargeted
from mdplan.operations.blocks import BlockOperation
from mdplan.operations.keys import DataOperation
from mdplan.operations.lines import LineOperation
from mdplan.operations.lists import ListOperation
from mdplan.operations.matches import ReplaceMatch
from mdplan.operations.tables import TableTargeted
from mdplan.requests.spellings import operation_named
from mdplan.text.source import DocumentFormat
from tests.properties.block_edits import block_edits, code_block_edits, diff_edits, region_edits, toc_edits
from tests.properties.data_edits import data_edits
from tests.properties.front_matter_edits import front_matter_edits
from tests.properties.ini_files import ini_edits
from tests.properties.list_and_table_edits import list_edits, table_edits
from tests.properties.markdown_documents import payloads
from tests.properties.section_edits import section_edits, section_targets
from tests.properties.text_edits import match_edits, place_edits

Edit = dict[str, Any]
Edits = Callable[[Outline, str], SearchStrategy[Edit]]


def appended_lines(outline: Outline, op: str) -> SearchStrategy[Edit]:
    """Lines for the end of the file."""
    del outline, op
    return st.fixed_dictionaries({"markdown": payloads | st.sampled_from(["- three", "k = v", "[n]\nk = 1"])})


def saved_files(outline: Outline, op: str) -> SearchStrategy[Edit]:
    """The whole text as an editor returns it: unchanged, with a change, or another."""
    del op
    text = outline.source.text.encode("utf-8", "replace").decode()
    returned = st.sampled_from(
        [text, text.replace("one", "two"), f"{text}\n\nNew *text*.\n", text.replace("* ", "- ")]
    )
    return st.fixed_dictionaries({"markdown": returned | payloads})


def of_whole_files(outline: Outline, op: str) -> SearchStrategy[Edit]:
    """An operation on the file as a whole; what it makes has a name that no file has."""
    del outline
    if op == "create_file":
        return st.fixed_dictionaries({"markdown": payloads | st.just("")})
    if op == "create_page":
        lists = st.sampled_from(["guide.md", "notes.md", "mkdocs.yml"])
        return st.fixed_dictionaries({"markdown": payloads, "navigation": lists})
    names = st.sampled_from(["new.md", "docs/new.md", "a/b/new.ini"])
    return st.fixed_dictionaries({"newFile": names} if op == "rename_file" else {})


# What draws the fields of an operation: its own entry, or else the first base class that it has.
OWN: dict[str, Edits] = {
    "append_to_file": appended_lines,
    "apply_diff": diff_edits,
    "create_file": of_whole_files,
    "create_page": of_whole_files,
    "delete_file": of_whole_files,
    "delete_region": region_edits,
    "format_section": section_targets,
    "rename_file": of_whole_files,
    "replace_code_block": code_block_edits,
    "replace_range": place_edits,
    "replace_region": region_edits,
    "save_file": saved_files,
    "update_toc": toc_edits,
}
BY_BASE: tuple[tuple[type[Operation], Edits], ...] = (
    (ListOperation, list_edits),
    (TableTargeted, table_edits),
    (BlockOperation, block_edits),
    (ReplaceMatch, match_edits),
    (SectionTargeted, section_edits),
    (DataOperation, data_edits),
    (LineOperation, place_edits),
)


# Other spellings of operations, in Markdown and in INI files; `preview_match` is for any.
FRONT_MATTER = (
    "set_front_matter",
    "delete_front_matter",
    "add_to_front_matter_list",
    "remove_from_front_matter_list",
)
INI = ("set_ini_key", "delete_ini_key", "replace_ini_section")


def drawn(op: str) -> Edits | None:
    """Return the strategy for the fields of the operation `op`, or None."""
    by_base = (edits for base, edits in BY_BASE if issubclass(OPERATIONS[op], base))
    return OWN.get(op) or next(by_base, None)


DRAWN = {op: found for op in OPERATIONS if (found := drawn(op)) is not None}
OF_FILES = {op: edits for op, edits in DRAWN.items() if OPERATIONS[op].file_effect != "edit"}
_IN_FILES = {op: edits for op, edits in DRAWN.items() if op not in OF_FILES}
IN_INI: dict[str, Edits] = dict.fromkeys(INI, ini_edits)
IN_MARKDOWN = {op: edits for op, edits in _IN_FILES.items() if OPERATIONS[op].needs_markdown}
EVERYWHERE = {op: edits for op, edits in _IN_FILES.items() if op not in IN_MARKDOWN}
EVERYWHERE["preview_match"] = match_edits
IN_MARKDOWN |= dict.fromkeys(FRONT_MATTER, front_matter_edits)

_OPTIONS: dict[str, SearchStrategy[Any]] = {
    "sequential": st.booleans(),
    "allowOutlineChange": st.sampled_from([False, False, True]),
    "allowDuplicateHeadings": st.booleans(),
    "updateReferences": st.sampled_from(["none", "file", "workspace"]),
    "backup": st.sampled_from([False, False, True]),
}


def batch_options() -> SearchStrategy[dict[str, Any]]:
    """Any of the options that decide what the plan is."""
    return st.fixed_dictionaries({}, optional=_OPTIONS)


def batches(outline: Outline, file: str) -> SearchStrategy[dict[str, Any]]:
    """Draw a batch for the file with this `outline`, with its base hash and any options."""
    named = st.fixed_dictionaries(
        {
            "file": st.just(file),
            "baseSha256": st.just(outline.source.sha256),
            "edits": st.lists(edits(outline), min_size=1, max_size=4),
        }
    )
    return st.builds(dict.__or__, named, batch_options())


@st.composite
def edits(draw: DrawFn, outline: Outline) -> Edit:
    """One edit of the text of `outline`, whose address mostly exists."""
    if outline.format is DocumentFormat.INI:
        fitting = IN_INI if draw(st.booleans()) else EVERYWHERE
    else:
        fitting = EVERYWHERE | IN_MARKDOWN
    has_place = [op for op in fitting if _has_place(outline, fitting[op])]
    op = draw(st.sampled_from(sorted(has_place if draw(st.integers(0, 9)) else fitting)))
    assert operation_named(op) is not None, f"there is no operation {op}"
    return {"op": op} | draw(fitting[op](outline, op))


def _has_place(outline: Outline, strategy: Edits) -> bool:
    """Return True if edits of `strategy` can name a place in the document."""
    if strategy is list_edits:
        return bool(outline.lists.outermost)
    if strategy is table_edits:
        return bool(outline.tables)
    if strategy is code_block_edits:
        return bool(outline.tree.fences)
    if strategy in {region_edits, toc_edits}:
        return bool(find_regions(outline).by_name)
    return strategy not in {section_edits, section_targets} or len(outline.sections) > 1
