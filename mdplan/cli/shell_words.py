"""Hints for mistakes that only happen in a shell."""

import os
import re
from collections.abc import Sequence
from typing import Any, Final

from mdplan.diagnostics import Code, Diagnostic
from mdplan.storage.names import absolute, path_below
from mdplan.text import shell
from mdplan.text.visible import escaped
from mdplan.values import replace
from mdplan.words import ShellWords

_GLOB: Final = frozenset("*?[")


class SessionWords(ShellWords):
    """The words of a command on `roots`; file names are relative to `root`, if there is only one.

    `data` is the batch with the problems, as sent.
    """

    def __init__(self, roots: Sequence[str], root: str | None = None, data: object = None) -> None:
        super().__init__(roots)
        self._root, self._data = root, data

    def tell(self, problem: Any) -> Any:  # noqa: ANN401 (as all words have it)
        """Return the diagnostic `problem`, with mistakes that only a shell can cause."""
        told = super().tell(problem)
        hint = lost_apostrophe(told, self._data) or told.hint
        if problem.code is Code.FILE_NOT_FOUND and problem.file is not None:
            hint = _missing_file(problem.file, self._root) or hint
        if problem.code is Code.PATH_OUTSIDE_ROOT and problem.file is not None and "://" not in problem.file:
            folder = os.path.dirname(absolute(problem.file))  # noqa: PTH120 (pathlib is slow)
            hint = f"name its folder as the root: `--root {shell.quote(folder)}`"
        return replace(told, hint=hint)


def lost_apostrophe(problem: Diagnostic, edits: object) -> str:
    """Return a hint if a field is missing because an apostrophe has ended the shell's quotes; else empty."""
    from mdplan.data.tree import strings_of

    name, is_missing, _ = problem.message.partition(" is missing")
    name = re.escape(name.strip("`"))
    texts = strings_of(edits) if is_missing else ()
    if not any(re.search(rf"[,{{] ?{name}: ", text) for _, text in texts):
        return ""
    hint = "an apostrophe has ended the quotes of the shell; put the batch into a file"
    return f"a text contains `{name}:`: {hint}"


def _missing_file(file: str, root: str | None) -> str:
    if _GLOB & set(file):
        return f'a glob is no file: write "glob": "{file}" instead of "file", or use `mdplan replace`'
    here = absolute(file)
    # Where case does not count, the system finds a file that mdplan does not.
    if root is None or not os.path.lexists(here) or path_below(here, root) == file:
        return ""
    below = path_below(here, root)
    if below is None:
        folder = os.path.dirname(here)  # noqa: PTH120 (pathlib costs a tenth of a short command)
        return f"the file is not in the root: name its folder with `--root {escaped(folder)}`"
    return f"names are relative to the root: write `{escaped(below)}`"
