"""Formatting of blocks by mdformat, an extra that is imported when it is asked for.

Only the text of single root blocks comes back from it: those with definitions and footnotes stay as they are.
"""

import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from mdplan.markdown.blocks.parser import new_formatting_parser

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from mdformat.renderer import RenderContext, RenderTreeNode

_WIKI_LINK: Final = re.compile(r"\[\[[^\[\]\n]+\]\]")
# Blocks that other text refers to by their labels: mdformat would sort them, and drop those without use.
_KEPT: Final = frozenset({"definition", "footnote_reference"})
NOT_INSTALLED: Final = "mdformat is not installed"


@dataclass(frozen=True, slots=True)
class FormattedBlock:
    """One root block: its lines, 1-based and inclusive, without blank ones at its end, and its new lines.

    `lines` is None where the block stays as it is, with the blank lines around it.
    """

    first_line: int
    last_line: int
    lines: tuple[str, ...] | None


def format_blocks(text: str, definitions: Mapping[str, object]) -> tuple[FormattedBlock, ...] | str:
    """Root blocks of `text`, which has LF line ends, as mdformat writes them; or why it cannot.

    `definitions` is the environment of a block pass: what labels in the text can mean.
    """
    try:
        rendered = _rendered(text, deepcopy(dict(definitions)))
    except ImportError:
        return NOT_INSTALLED
    except Exception as error:  # noqa: BLE001 (plugins of others run in it, and all they raise is a refusal)
        return f"mdformat stopped with {type(error).__name__}"
    lines = text.split("\n")
    starts = [node.map[0] for node, _ in rendered if node.map] + [len(lines)]
    return tuple(
        _block(lines, range(start, following), new_text)
        for (_, new_text), (start, following) in zip(rendered, pairwise(starts), strict=True)
    )


def _rendered(text: str, environment: dict[str, Any]) -> list[tuple["RenderTreeNode", str | None]]:
    """Root blocks with their new text; None for those that stay as they are."""
    parser = formatting_parser()
    from mdformat.renderer import RenderTreeNode

    tree = RenderTreeNode(parser.parse(text, environment))
    context = _context(parser, environment)
    return [(node, None if _is_kept(node) else node.render(context)) for node in tree.children]


def _is_kept(node: "RenderTreeNode") -> bool:
    return any(each.type in _KEPT for each in node.walk())


def _block(lines: Sequence[str], own: range, new_text: str | None) -> FormattedBlock:
    """The block of the lines `own`, 0-based, with the blank ones after it; where it ends the parser errs."""
    end = own.stop
    while end > own.start + 1 and not lines[end - 1].strip(" \t"):
        end -= 1
    return FormattedBlock(own.start + 1, end, None if new_text is None else tuple(new_text.split("\n")))


def _context(parser: "MarkdownIt", environment: dict[str, Any]) -> "RenderContext":
    """What the renderers of mdformat are called with, as its own renderer calls them."""
    from mdformat.renderer import DEFAULT_RENDERERS, RenderContext

    environment |= {"indent_width": 0, "used_refs": set()}
    renderers: dict[str, Any] = dict(DEFAULT_RENDERERS)
    postprocessors: dict[str, tuple[Any, ...]] = {}
    for extension in parser.options["parser_extension"]:
        renderers |= extension.RENDERERS
        for name, function in getattr(extension, "POSTPROCESSORS", {}).items():
            postprocessors[name] = (*postprocessors.get(name, ()), function)
    return RenderContext(renderers, postprocessors, parser.options, environment)


@cache
def formatting_parser() -> "MarkdownIt":
    """Parser of mdformat with GFM, by which destinations stay as they are written. Raises `ImportError`."""
    from mdformat.plugins import PARSER_EXTENSIONS
    from mdformat.renderer import MDRenderer

    if "gfm" not in PARSER_EXTENSIONS:
        raise ImportError
    parser = new_formatting_parser(MDRenderer)
    parser.options["mdformat"] = {}
    parser.options["store_labels"] = True
    parser.options["parser_extension"] = [PARSER_EXTENSIONS["gfm"], _OurExtension]
    # This appends the extension for tables, whose rule we have at another place.
    PARSER_EXTENSIONS["gfm"].update_mdit(parser)
    parser.disable("table")
    parser.inline.ruler.after("image", "wiki_link", _wiki_link)
    return parser


def _wiki_link(state: "StateInline", silent: bool) -> bool:  # noqa: FBT001 (the parser calls its rules so)
    match = _WIKI_LINK.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        state.push("wiki_link", "", 0).content = match[0]
    state.pos = match.end()
    return True


def _write_wiki_link(node: "RenderTreeNode", _context: "RenderContext") -> str:
    return node.content


def _write_footnote_reference(node: "RenderTreeNode", _context: "RenderContext") -> str:
    return f"[^{node.meta['label']}]"


class _OurExtension:
    """How what mdformat does not know is written."""

    RENDERERS: Final = {"footnote_ref": _write_footnote_reference, "wiki_link": _write_wiki_link}
