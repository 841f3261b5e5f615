"""Snippets: parts of source files between tags in comments, as documentation tools mark them."""

import re
import textwrap
from dataclasses import dataclass, field
from typing import Final

from mdplan.diagnostics import Diagnostic
from mdplan.storage.names import visible
from mdplan.text.line_end_view import lines_of, to_lf

# The only snippet name that is not one: it stands for all of a file.
ALL: Final = "*"
_NAME: Final = r"[\w.-]+"
_FRAGMENT: Final = re.compile(r"(.+)#([\w-]+|\*)", re.DOTALL)
# In their order: our own and AWS, Google, mdBook, Visual Studio.
_STARTS: Final = re.compile(
    rf"\W*(?:snippet[:-]start[: ]\s*\[?({_NAME})\]?|\[START ({_NAME})\]|ANCHOR: *({_NAME})"
    rf"|#region ({_NAME}))\W*"
)
_ENDS: Final = re.compile(
    rf"\W*(?:snippet[:-]end(?:[: ]\s*\[?({_NAME})\]?)?|\[END ({_NAME})\]|ANCHOR_END: *({_NAME})"
    rf"|#?endregion(?: ({_NAME}))?)\W*"
)
_HINT: Final = "put it between `snippet:start NAME` and `snippet:end`, each in a comment on a separate line"


@dataclass(slots=True)
class _Open:
    """A snippet that has begun in `line`, from 1."""

    name: str
    line: int
    lines: list[str] = field(default_factory=list)


def split_name(name: str) -> tuple[str, str | None]:
    """The file that `name` gives, and the snippet of it: None without `#SNIPPET` at its end."""
    found = _FRAGMENT.fullmatch(name)
    return (found[1], found[2]) if found else (name, None)


def read_snippets(text: str, file: str) -> dict[str, str] | Diagnostic:
    """The snippets in the `text` of `file` by name, without common indent and without lines of tags.

    Errors: INVALID_ARGUMENT for one that repeats, has no end or no start.
    """
    done: dict[str, str] = {}
    pending: list[_Open] = []
    for number, line in enumerate(lines_of(to_lf(text)), 1):
        if started := _STARTS.fullmatch(line):
            name = next(filter(None, started.groups()))
            if name in done or any(each.name == name for each in pending):
                return _problem(f"the snippet `{name}` begins again in line {number}", file)
            pending.append(_Open(name, number))
        elif ended := _ENDS.fullmatch(line):
            name = next(filter(None, ended.groups()), pending[-1].name if pending else "")
            found = next((each for each in pending if each.name == name), None)
            if found is None:
                return _problem(f"the snippet that ends in line {number} has no start", file)
            pending.remove(found)
            done[name] = textwrap.dedent("\n".join(found.lines))
        else:
            for each in pending:
                each.lines.append(line)
    if pending:
        return _problem(f"the snippet `{pending[0].name}` of line {pending[0].line} has no end", file)
    return done


def read_snippet(text: str, name: str, file: str) -> str | list[dict[str, str]] | Diagnostic:
    """The snippet `name` in the `text` of `file`; for `*` all of them, each a map of `name` and `text`.

    Errors: INVALID_ARGUMENT, also where there is none of that name.
    """
    found = read_snippets(text, file)
    if isinstance(found, Diagnostic):
        return found
    if name == ALL:
        return [{"name": each, "text": part} for each, part in found.items()]
    if name in found:
        return found[name]
    known = ", ".join(f"`{each}`" for each in list(found)[:10])
    return _problem(f"there is no snippet `{name}`" + (f", only {known}" if known else ""), file)


def _problem(reason: str, file: str) -> Diagnostic:
    return Diagnostic.invalid(f"in `{visible(file)}` {reason}", _HINT)
