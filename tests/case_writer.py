"""Write golden cases: bytes and JSON as blocks, and new blocks in place of those of one case."""

import codecs
import fcntl
import itertools
import json
import re
import unicodedata
from collections.abc import Callable, Iterable
from pathlib import PurePosixPath
from typing import Final

from docs.codegen.cases import REPEATED, CaseBlock, CaseText, read_cases

_WIDTH: Final = 100
# Shorter runs of numbered lines are easier to read in full.
_LEAST_REPEATED: Final = 20
_LANGUAGES: Final = {
    ".md": "md",
    ".ini": "ini",
    ".json": "json",
    ".yml": "yaml",
    ".html": "html",
    ".diff": "diff",
}
_ESCAPES: Final = {"\\": r"\\", "\r": r"\r", "\t": r"\t"}
# Invisible characters, and those that are not text: controls, formats, surrogates, spaces, unassigned.
_ODD: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})


def file_block(role: str, path: str, data: bytes, *, name: str = "", encoding: str = "utf-8") -> CaseBlock:
    """Return the block of a file with this `data`. `name` is empty where the block needs no path.

    `encoding` is used where the bytes are not UTF-8 and have no byte order mark.
    """
    text, attributes = _decoded(data, encoding)
    kinds = set(re.findall(r"\r\n|\r|\n", text))
    if kinds in ({"\r\n"}, {"\r"}):
        attributes["eol"] = "crlf" if kinds == {"\r\n"} else "cr"
        text = re.sub(r"\r\n?", "\n", text)
    if text and not text.endswith("\n"):
        attributes["final-newline"] = "no"
        text += "\n"
    if re.search(" $", text, re.MULTILINE) or any(map(_is_odd, text)):
        attributes["escapes"] = ""
        text = re.sub(" $", r"\\s", "".join(map(_escaped, text)), flags=re.MULTILINE)
    shortened = _with_repeats(text)
    if shortened != text:
        attributes["repeat"] = ""
    language = _LANGUAGES.get(PurePosixPath(path).suffix, "text")
    return CaseBlock(language=language, role=role, path=name, attributes=attributes, text=shortened)


def json_block(role: str, value: object) -> CaseBlock:
    """Return the block of a request or of an expected value."""
    return CaseBlock(language="json", role=role, text=compact_json(value) + "\n")


def compact_json(value: object, indent: str = "", width: int = _WIDTH) -> str:
    """JSON in which an object or list has one line where it fits into `width`, else a line per item."""
    line = _json_text(value)
    if len(indent + line) <= width or not value or not isinstance(value, dict | list):
        return line
    inner = indent + "  "
    if isinstance(value, dict):
        keys = [f"{_json_text(key)}: " for key in value]
        items = list(zip(keys, value.values(), strict=True))
    else:
        items = [("", item) for item in value]
    body = ",\n".join(inner + key + compact_json(item, inner, width - len(key) - 1) for key, item in items)
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}\n{body}\n{indent}{closing}"


def replace_blocks(
    case: CaseText, new: Iterable[CaseBlock], *, is_stale: Callable[[CaseBlock], bool]
) -> None:
    """Write `new` blocks into the file of `case`, and remove the `is_stale` ones. No other line changes.

    A block takes the place of the one with its role and path; else it becomes the last of the case.
    """
    with case.path.open("r+", encoding="utf-8", newline="") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # Several test processes may update cases of one file.
        (current,) = (each for each in read_cases(case.path) if each.slug == case.slug)
        text = _with_blocks(file.read(), current, new, is_stale)
        file.seek(0)
        file.write(text)
        file.truncate()


def _with_blocks(
    text: str, case: CaseText, new: Iterable[CaseBlock], is_stale: Callable[[CaseBlock], bool]
) -> str:
    lines = text.split("\n")
    added = {(block.role, case.path_of(block)): block.markdown.removesuffix("\n") for block in new}
    replaced = [added.pop((block.role, case.path_of(block)), None) for block in case.blocks]
    last = case.blocks[-1].last_line + 1
    lines[last:last] = [line for block in added.values() for line in ("", *block.split("\n"))]
    for block, markdown in reversed(list(zip(case.blocks, replaced, strict=True))):
        if markdown is not None:
            lines[block.first_line : block.last_line + 1] = markdown.split("\n")
        elif is_stale(block):
            del lines[block.first_line - 1 : block.last_line + 1]
    return "\n".join(lines)


def _with_repeats(text: str) -> str:
    """`text` with `{1..100}` in one line in place of 100 numbered lines."""
    if REPEATED.search(text):
        return text  # It would be read as a repeat.
    lines = text.split("\n")[:-1]
    numbered = [re.fullmatch(r"(.*?)(0|[1-9]\d*)(\D*)", line) for line in lines]

    def group(at: int) -> tuple[str, str, int] | int:
        # Lines that differ by their number alone, which grows by one for each line, are of one group.
        found = numbered[at]
        return at if found is None else (found[1], found[3], int(found[2]) - at)

    result: list[str] = []
    for key, run in itertools.groupby(range(len(lines)), group):
        places = list(run)
        if isinstance(key, tuple) and len(places) >= _LEAST_REPEATED:
            before, after, shift = key
            result.append(f"{before}{{{places[0] + shift}..{places[-1] + shift}}}{after}")
        else:
            result += [lines[at] for at in places]
    return "".join(f"{line}\n" for line in result)


def _decoded(data: bytes, encoding: str) -> tuple[str, dict[str, str]]:
    for name, mark in (("utf-16-le", codecs.BOM_UTF16_LE), ("utf-16-be", codecs.BOM_UTF16_BE)):
        # Bytes that end in the middle of a character are not UTF-16.
        if data.startswith(mark) and len(data) % 2 == 0:
            return data[2:].decode(name), {"encoding": name, "bom": ""}
    body = data.removeprefix(codecs.BOM_UTF8)
    attributes = {"bom": ""} if len(body) < len(data) else {}
    try:
        return body.decode(), attributes
    except UnicodeDecodeError:
        if encoding == "utf-8" or attributes:
            return body.decode("utf-8", "surrogateescape"), attributes
        return data.decode(encoding), {"encoding": encoding}


def _is_odd(character: str) -> bool:
    return character not in " \n" and unicodedata.category(character) in _ODD


def _escaped(character: str) -> str:
    if character in _ESCAPES or not _is_odd(character):
        return _ESCAPES.get(character, character)
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return rf"\x{code - 0xDC00:02x}"
    if code < 0x80:
        return rf"\x{code:02x}"
    return rf"\u{code:04x}" if code <= 0xFFFF else rf"\U{code:08x}"


def _json_text(value: object) -> str:
    line = json.dumps(value, ensure_ascii=False)
    return "".join(json.dumps(each)[1:-1] if _is_odd(each) else each for each in line)
