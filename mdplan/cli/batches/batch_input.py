"""A batch, a plan document or a report that comes back, read from a file, standard input or an argument."""

import json
import os
import re
import stat
import sys
from pathlib import Path
from typing import Any, Final

from mdplan.cli.batches.bad_input import BadInput
from mdplan.cli.batches.json_problem import json_problem
from mdplan.cli.batches.text_files import with_text_files
from mdplan.diagnostics import Diagnostic
from mdplan.text.visible import escaped

STANDARD_INPUT: Final = "-"
_YAML: Final = (".yaml", ".yml")
_PAGES: Final = (".md", ".markdown", ".mdx", ".txt", ".rst", ".html")
_EXAMPLE: Final = "`mdplan help batch` shows one"
_START_OF_ID: Final = re.compile(r"(?:sha256-)?[0-9a-fA-F]{1,3}")
_EMPTY: Final = f"send a batch ({_EXAMPLE}), or name a saved plan (`mdplan review --list`)"


def read_input(name: str) -> object | BadInput:
    """The value in `name`: a file relative to the current folder, ``-`` for standard input, or JSON itself.

    Files that end in .yaml or .yml are YAML; other text is JSON where it begins so, else YAML. Texts of edits
    that are in files (`markdownFile`) are read.
    """
    if name.lstrip()[:1] in ("{", "["):
        return _decoded(name, "the argument", name, os.curdir)
    where = "standard input" if name == STANDARD_INPUT else f"`{escaped(name)}`"
    try:
        data = sys.stdin.buffer.read() if name == STANDARD_INPUT else Path(name).read_bytes()
    except (OSError, AttributeError) as error:  # A standard input that was closed has no attributes.
        return BadInput(_unreadable(name, where, error))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return BadInput(Diagnostic.invalid(f"{where} is not UTF-8", "save it as UTF-8"))
    if not text.strip():
        return BadInput(Diagnostic.invalid(f"{where} is empty", _EMPTY))
    folder = os.curdir if name == STANDARD_INPUT else os.path.dirname(name) or os.curdir  # noqa: PTH120
    return _decoded(text, where, name, folder)


def has_no_input() -> bool:
    """Whether standard input is a terminal or nothing at all, so that nobody sends a batch there."""
    try:
        return sys.stdin is None or sys.stdin.isatty() or stat.S_ISCHR(os.fstat(sys.stdin.fileno()).st_mode)
    except (OSError, ValueError):
        return False


def _decoded(text: str, where: str, name: str, folder: str) -> object | BadInput:
    if name.lower().endswith(_PAGES):
        return BadInput(_no_batch(name, where))
    is_json = text.lstrip()[:1] in ("{", "[") and not name.lower().endswith(_YAML)
    decoded = _from_json(text, where) if is_json else _from_yaml(text, where, name)
    return decoded if isinstance(decoded, BadInput) else with_text_files(decoded, folder)


def _from_json(text: str, where: str) -> Any:  # noqa: ANN401 (any JSON)
    try:
        return json.loads(text)
    except (RecursionError, ValueError) as error:
        return json_problem(text, where, error)


def _from_yaml(text: str, where: str, name: str) -> Any:  # noqa: ANN401 (any JSON)
    # Few batches are YAML.
    from mdplan.bot.expansion import SEVERAL, read_source_map

    located = read_source_map(text, "batch.yaml", where, _EXAMPLE)
    is_yaml = name.lower().endswith(_YAML)
    if isinstance(located, Diagnostic):
        if not is_yaml and SEVERAL in located.message:
            return BadInput(_no_batch(name, where))
        return BadInput.at(text, located.place, located.message, located.hint)
    if not isinstance(located.data, dict | list):
        return BadInput(_no_batch(name, where))
    return located.data


def _no_batch(name: str, where: str) -> Diagnostic:
    """`name` has text, but that is not a batch: a page that somebody wants to edit, perhaps."""
    is_page = name.lower().endswith(_PAGES)
    what = f"{where} is a document, not a batch of edits" if is_page else f"{where} is not a batch of edits"
    page = escaped(name) if is_page else "FILE"
    return Diagnostic.invalid(
        what,
        f"to edit it: `mdplan edit OP {page}` or `mdplan replace OLD NEW {page}`; for a batch, {_EXAMPLE}",
    )


def _unreadable(name: str, where: str, error: Exception) -> Diagnostic:
    if isinstance(error, FileNotFoundError) and _START_OF_ID.fullmatch(name):
        return Diagnostic.invalid(
            f"{where} is no file, and too short for the ID of a plan",
            "give at least 4 of its digits: `mdplan review --list` lists the plans",
        )
    if isinstance(error, FileNotFoundError):
        similar = _similar(name)
        hint = (
            f"did you mean `{escaped(similar)}`?"
            if similar
            else f"name a JSON or YAML file, or a plan (`mdplan review --list`); {_EXAMPLE}"
        )
        return Diagnostic.invalid(f"there is no file {where}", hint)
    if isinstance(error, IsADirectoryError):
        return Diagnostic.invalid(f"{where} is a folder", f"name a JSON or YAML file; {_EXAMPLE}")
    reason = getattr(error, "strerror", None) or "there is none"
    return Diagnostic.invalid(f"{where} cannot be read: {reason}", f"name a JSON or YAML file; {_EXAMPLE}")


def _similar(name: str) -> str | None:
    """A file next to the missing `name` that was meant, perhaps."""
    from difflib import get_close_matches

    folder, leaf = os.path.split(name)
    try:
        entries = [entry.name for entry in Path(folder or os.curdir).iterdir()]
    except OSError:
        return None
    found = get_close_matches(leaf, entries, n=1, cutoff=0.7)
    return str(Path(folder, found[0])) if found else None
