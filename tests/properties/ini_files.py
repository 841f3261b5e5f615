"""INI files as people write them with hostile lines in between, and edits of their keys and sections."""

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from mdplan.data.ini import IniOutline
from mdplan.markdown.outline import Outline, of_source

Edit = dict[str, Any]
NAMES = ("host", "Host", "port", "a b", "x.y", "päth", "k")
SECTIONS = ("db", "cache", "a b", "x.y")
VALUES = ("1", "", "a = b", "c:\\d;e", '"quoted # text"', "two words", "[x]", "ü\u2028v", "a\x0bb", "%(x)s")
_INDENTS = ("", "", "", "", "  ", "\t", "      ")
_SEPARATORS = (" = ", "=", ": ", ":", "   = ", " =", "\t=\t", "= ")
_COMMENTS = ("", "", "", " ; note", "\t# note", ";no note", "   ", " ;a ;b")
_LINE_ENDS = ("\n", "\n", "\n", "\r\n", "\r")
_ODD = (
    "",
    "",
    "   ",
    "; note",
    "# note",
    "   ; note",
    "plain",
    "= x",
    "[",
    "[]",
    "]",
    "[a",
    "\x0c",
    "   more = x",
    "\ttext",
)

_headers = st.builds(
    "{}[{}]{}".format,
    st.sampled_from(["", "", "", " ", "\t"]),
    st.sampled_from([*SECTIONS, "b]c", " db "]),
    st.sampled_from(["", "", " ; note", " x"]),
)
_keys = st.builds(
    "{}{}{}{}{}".format,
    st.sampled_from(_INDENTS),
    st.sampled_from(NAMES),
    st.sampled_from(_SEPARATORS),
    st.sampled_from(VALUES),
    st.sampled_from(_COMMENTS),
)
_noise = st.text("[]=:;# \tab\x1c\x85\u2028\xa0", max_size=8)
_lines = st.one_of(_headers, _keys, _keys, _keys, st.sampled_from(_ODD), _noise)


@st.composite
def ini_texts(draw: DrawFn) -> str:
    """Text with one kind of line end, or several, with or without a final one."""
    lines = draw(st.lists(_lines, max_size=14))
    ends: SearchStrategy[str] = st.sampled_from(_LINE_ENDS)
    end = draw(ends)
    is_mixed = draw(st.booleans())
    text = "".join(line + (draw(ends) if is_mixed else end) for line in lines)
    return text if draw(st.booleans()) else text.rstrip("\r\n")


def ini_edits(outline: Outline, op: str) -> SearchStrategy[Edit]:
    """Draw an edit that usually names an existing key."""
    return edits_by(outline.derived(of_source, IniOutline), op)


@st.composite
def edits_by(draw: DrawFn, ini: IniOutline, *ops: str) -> Edit:
    """Draw an edit by one of `ops` that usually names an existing key."""
    op = draw(st.sampled_from(ops))
    keys = list(ini.every_key())
    section = draw(st.sampled_from([*(each.name for each in ini.sections), *SECTIONS, None]))
    name = draw(st.sampled_from(NAMES))
    if draw(st.integers(0, 3)) and keys:
        key = draw(st.sampled_from(keys))
        section, name = ini.sections[key.section].name, key.name
    edit: Edit = {"op": op, "section": section, "occurrence": draw(st.sampled_from([None, None, 1, 2]))}
    if op == "replace_ini_section":
        body = draw(st.lists(st.one_of(_keys, st.sampled_from(_ODD)), min_size=1, max_size=4))
        return edit | {
            "section": section or "db",
            "markdown": "\n".join(body),
            "createIfMissing": draw(st.booleans()),
        }
    edit |= {"key": name}
    if op == "set_ini_key":
        value = draw(st.one_of(st.sampled_from(VALUES), _noise))
        edit |= {"value": value, "createIfMissing": draw(st.booleans())}
    return edit
