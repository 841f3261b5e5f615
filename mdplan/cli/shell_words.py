"""Hints for mistakes that only happen in a shell."""

import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from mdplan.diagnostics import Code, Diagnostic
from mdplan.reports.next_steps import Caller, in_words_of
from mdplan.text.visible import escaped

_GLOB: Final = frozenset("*?[")


def in_shell(problem: Diagnostic, root: str | None, data: object = None) -> Diagnostic:
    """`problem` with the next step of somebody in a shell; names are relative to the folder `root`.

    `data` is the batch that it is about, as it was sent.
    """
    hint = lost_apostrophe(problem, data) or in_words_of(Caller.SHELL, problem.hint)
    if problem.code is Code.FILE_NOT_FOUND and problem.file is not None:
        hint = _missing_file(problem.file, root) or hint
    if problem.code is Code.PATH_OUTSIDE_ROOT and problem.file is not None and "://" not in problem.file:
        folder = os.path.dirname(os.path.abspath(problem.file))  # noqa: PTH100, PTH120 (links stay)
        hint = f"name its folder as the root: `--root {shlex.quote(folder)}`"
    if problem.code is Code.PRECONDITION_REQUIRED:
        hint = "plan it first: `mdplan plan BATCH`, then `mdplan apply`; or add `baseSha256`"
    if problem.code is Code.MATCH_COUNT_MISMATCH and hint.startswith("check spelling"):
        hint = "check spelling and case: `mdplan search -i TEXT FILE` shows similar places"
    return replace(problem, hint=hint)


def lost_apostrophe(problem: Diagnostic, edits: object) -> str:
    """The hint where a field is missing because an apostrophe has ended the shell's quotes; else empty."""
    name = problem.message.removesuffix(" is missing").strip("`")
    texts = [text for text in _texts(edits) if re.search(rf"[,{{] ?{re.escape(name)}: ", text)]
    if not problem.message.endswith(" is missing") or not texts:
        return ""
    hint = "an apostrophe has ended the quotes of the shell; put the batch into a file"
    return f"a text contains `{name}:`: {hint}"


def _texts(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for each in value.values():
                yield from _texts(each)
        case list():
            for each in value:
                yield from _texts(each)
        case _:
            return


def _missing_file(file: str, root: str | None) -> str:
    if _GLOB & set(file):
        return f'a glob is no file: write "glob": "{file}" instead of "file", or use `mdplan replace`'
    here = os.path.abspath(file)  # noqa: PTH100 (links stay)
    if root is None or not os.path.lexists(here):
        return ""
    relative = os.path.relpath(here, root)
    if relative.startswith(".."):
        return f"the file is not in the root: name its folder with `--root {escaped(str(Path(here).parent))}`"
    return f"names are relative to the root: write `{escaped(relative)}`"
