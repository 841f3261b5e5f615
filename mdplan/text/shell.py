"""Words quoted for the shell of the system, so that people can copy a command from a hint."""

import re
import shlex
import sys
from collections.abc import Iterable
from typing import Final

IS_POSIX: Final[bool] = sys.platform != "win32"
# Both shells of Windows take these as they are.
_PLAIN: Final = r"[\w./\\:+=-]+"
_SPECIAL: Final = r'["$`%!]'


def quote(word: str, *, posix: bool = IS_POSIX) -> str:
    """Return `word` as one argument: of a POSIX shell, or of PowerShell and, if it can be, of cmd.exe."""
    if posix:
        return shlex.quote(word)
    if re.fullmatch(_PLAIN, word):
        return word
    if not re.search(_SPECIAL, word) and not word.endswith("\\"):
        return f'"{word}"'
    # Only PowerShell has quotes in which nothing is special.
    return "'{}'".format(word.replace("'", "''"))


def join(words: Iterable[str]) -> str:
    """Return a command."""
    return " ".join(map(quote, words))


def split(command: str) -> list[str]:
    """Return the words of a command, such as that of an editor; paths of Windows stay as they are."""
    if IS_POSIX:
        return shlex.split(command)
    return [word.strip('"') for word in shlex.split(command, posix=False)]
