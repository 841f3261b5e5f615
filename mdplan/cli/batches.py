"""Reads batches and plan documents from a file, standard input or an argument, and explains JSON mistakes."""

import json
import os
import re
import stat
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource

from mdplan.cli.options import all_options, flag, intent_options, option
from mdplan.cli.suggestions import Misuse
from mdplan.cli.terminal import STANDARD_INPUT
from mdplan.diagnostics import Diagnostic, Refused
from mdplan.field_names import RepeatedNameError, camel_case, unique_names
from mdplan.plan import EditNumbers
from mdplan.requests.spellings import op_of
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import Position
from mdplan.text.visible import escaped, nearest_names
from mdplan.words import Command, say

_YAML: Final = (".yaml", ".yml")
_PAGES: Final = (".md", ".markdown", ".mdx", ".txt", ".rst", ".html")
# The first line of a file in a patch.
_PATCH: Final = lazy_pattern(r"^(?:diff --git |\*\*\* Begin Patch|--- [^\n]*\n\+\+\+ )", re.MULTILINE)
_EXAMPLE: Final = say("{mdplan help batch} shows one")
_START_OF_ID: Final = lazy_pattern(r"(?:sha256-)?[0-9a-fA-F]{1,3}")
_NAME_ONE: Final = say("name a JSON or YAML file, or a plan ({mdplan review --list}); {}", _EXAMPLE)
_EMPTY: Final = say("send a batch ({}), or name a saved plan ({mdplan review --list})", _EXAMPLE)


class BadInput(Refused):
    """INVALID_ARGUMENT: an input cannot be read.

    `excerpt` has the lines at a `place` in its `text` for people; it is empty without a place.
    """

    def __init__(self, message: str, hint: str, place: Position | None = None, text: str = "") -> None:
        super().__init__(Diagnostic.invalid(message, hint, place=place))
        self.excerpt = marked(text, place) if place is not None else ""


def read_input(name: str) -> object:
    """Return the decoded value of `name`: a file, ``-`` for standard input, or JSON itself.

    File names are relative to the current folder. Files with the suffix .yaml or .yml are YAML; other text
    is JSON if it starts like JSON, otherwise YAML. Texts of edits that are in files (`markdownFile`) are
    read too. A patch is a batch of its own. Raises `BadInput`.
    """
    if name.lstrip()[:1] in ("{", "["):
        return _decoded(name, "the argument", name, os.curdir)
    where = "standard input" if name == STANDARD_INPUT else f"`{escaped(name)}`"
    try:
        data = sys.stdin.buffer.read() if name == STANDARD_INPUT else Path(name).read_bytes()
    except (OSError, AttributeError) as error:  # A standard input that was closed has no attributes.
        raise _unreadable(name, where, error) from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadInput(f"{where} is not UTF-8", "save it as UTF-8") from None
    if not text.strip():
        raise BadInput(f"{where} is empty", _EMPTY)
    folder = os.curdir if name == STANDARD_INPUT else os.path.dirname(name) or os.curdir  # noqa: PTH120
    return _decoded(text, where, name, folder)


def stdin_is_unused() -> bool:
    """Return True if standard input is a terminal or nothing at all, so that nobody sends a batch there."""
    try:
        return sys.stdin is None or sys.stdin.isatty() or stat.S_ISCHR(os.fstat(sys.stdin.fileno()).st_mode)
    except (OSError, ValueError):
        return False


def _decoded(text: str, where: str, name: str, folder: str) -> object:
    if name.lower().endswith(_PAGES):
        raise _no_batch(name, where)
    if _PATCH.search(text):
        return {"diff": text}
    is_json = text.lstrip()[:1] in ("{", "[") and not name.lower().endswith(_YAML)
    try:
        decoded = (
            json.loads(text, object_pairs_hook=unique_names) if is_json else _from_yaml(text, where, name)
        )
    except (RecursionError, ValueError) as error:
        raise json_problem(text, where, error) from None
    return _with_text_files(decoded, folder)


def _from_yaml(text: str, where: str, name: str) -> Any:  # noqa: ANN401 (any JSON)
    # Few batches are YAML.
    from mdplan.bot.expansion import SEVERAL, read_source_map

    located = read_source_map(text, "batch.yaml", where, _EXAMPLE)
    is_yaml = name.lower().endswith(_YAML)
    if isinstance(located, Diagnostic):
        if not is_yaml and SEVERAL in located.message:
            raise _no_batch(name, where)
        raise BadInput(located.message, located.hint, located.place, text)
    if not isinstance(located.data, dict | list):
        raise _no_batch(name, where)
    return located.data


def _no_batch(name: str, where: str) -> BadInput:
    """Return the problem of a `name` whose text is not a batch, such as a page the user wants to edit."""
    is_page = name.lower().endswith(_PAGES)
    what = f"{where} is a document, not a batch of edits" if is_page else f"{where} is not a batch of edits"
    page = name if is_page else "FILE"
    return BadInput(
        what,
        say(
            "to edit it: {} or {}; for a batch, {}",
            Command("edit", "OP", page),
            Command("replace", "OLD", "NEW", page),
            _EXAMPLE,
        ),
    )


def _unreadable(name: str, where: str, error: Exception) -> BadInput:
    hint = say("name a JSON or YAML file; {}", _EXAMPLE)
    if isinstance(error, FileNotFoundError) and _START_OF_ID.fullmatch(name):
        return BadInput(
            f"{where} is no file, and too short for the ID of a plan",
            say("give at least 4 of its digits: {mdplan review --list} lists the plans"),
        )
    if isinstance(error, FileNotFoundError):
        similar = _similar(name)
        hint = f"did you mean `{escaped(similar)}`?" if similar else _NAME_ONE
        return BadInput(f"there is no file {where}", hint)
    if isinstance(error, IsADirectoryError):
        return BadInput(f"{where} is a folder", hint)
    return BadInput(f"{where} cannot be read: {getattr(error, 'strerror', None) or 'there is none'}", hint)


def _similar(name: str) -> str | None:
    """Return a file next to the missing `name` with a similar name, if any."""
    folder, leaf = os.path.split(name)
    try:
        entries = os.listdir(folder or os.curdir)  # noqa: PTH208 (names alone)
    except OSError:
        return None
    return next((os.path.join(folder, near) for near in nearest_names(leaf, entries)), None)  # noqa: PTH118


# --- The argument BATCH and the options that override fields of it

_HELP: Final = say("{}; one edit needs none: {mdplan edit --help}", _EXAMPLE)


def _not_a_keyboard(context: click.Context, parameter: click.Parameter, value: str) -> str:
    """Nobody types a batch: without an argument, and with nothing piped in, the argument was forgotten."""
    is_default = context.get_parameter_source(str(parameter.name)) is ParameterSource.DEFAULT
    if is_default and stdin_is_unused():
        raise Misuse(
            f"the {parameter.name} is missing", say("name its file, or pipe it in: {}", _HELP), context
        )
    return value


# BATCH: a file, or standard input when it is - or missing.
batch_argument: Final = click.argument(
    "batch",
    type=click.Path(readable=False, allow_dash=True),
    default=STANDARD_INPUT,
    callback=_not_a_keyboard,
)

# Options that override fields of the batch, under their names in snake_case.
override_options: Final = all_options(
    intent_options(),
    option("--revises", "The plan that this one replaces: reviewers see what differs.", "PLAN"),
    flag("--allow-outline-change", "Allow edits that add or remove headings outside the written text."),
    flag("--allow-duplicate-headings", "Accept heading paths that repeat more often than before."),
)


def with_overrides(data: object, overrides: Mapping[str, object]) -> object:
    """Return the batch `data` with the fields of `override_options` that were given."""
    given = {camel_case(name): value for name, value in overrides.items() if value}
    if not isinstance(data, dict) or not given:
        return data
    return {**{name: value for name, value in data.items() if camel_case(str(name)) not in given}, **given}


# --- The line of a mistake, with a caret under it

_WIDTH: Final = 76
_BEFORE: Final = 50


def marked(text: str, place: Position) -> str:
    """Return the numbered line of `place` in `text` with a caret below the column; long lines are cut."""
    lines = text.split("\n")
    line = lines[place.line - 1].replace("\t", " ") if place.line <= len(lines) else ""
    first = max(place.col - 1 - _BEFORE, 0) if len(line) > _WIDTH else 0
    shown = escaped(line[first : first + _WIDTH].rstrip("\r"))
    number = str(place.line)
    dots = "..." if first else ""
    caret = " " * (len(dots) + len(escaped(line[first : place.col - 1]))) + "^"
    return f"  {number} | {dots}{shown}\n  {' ' * len(number)} | {caret}"


# --- Common JSON mistakes and their corrections

_HERE_DOCUMENT: Final = "`mdplan plan <<'END'`, then the batch, then a line END"
_OR_YAML: Final = "or write the batch in YAML, where `markdown: |` takes whole lines"
_WORD: Final = lazy_pattern(r"[A-Za-z_][\w-]*")
_PYTHON: Final = {"True": "true", "False": "false", "None": "null", "undefined": "null"}
_QUOTES: Final = {"'": "single", "`": "back", **dict.fromkeys("\u2018\u2019\u201c\u201d", "curly")}


def json_problem(text: str, where: str, error: Exception) -> BadInput:
    """Return why `text` from `where` is not JSON, given the `error` of `json.loads`."""
    if isinstance(error, RepeatedNameError):
        return BadInput(f"{where} cannot be read: {error}", "keep one of the two")
    if not isinstance(error, json.JSONDecodeError):
        message = f"{where} is not JSON: it is nested too deeply, or a number in it is too long"
        return BadInput(message, "send a smaller batch")
    at, message, hint = next(_mistakes(text, error))
    place = Position(text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))
    return BadInput(f"{where} is not JSON: {message}", hint, place, text)


def _mistakes(  # noqa: C901, PLR0912 (one for each mistake)
    text: str, error: json.JSONDecodeError
) -> Iterator[tuple[int, str, str]]:
    """Yield possible mistakes, the likeliest first: the place to look at, what is wrong, the correction."""
    at, sign, reason = error.pos, text[error.pos : error.pos + 1], error.msg
    before, closes = text[:at].rstrip(), text[at:].lstrip(", \t\r\n")[:1]
    match = _WORD.match(text, at)
    word, misses_comma = match[0][:40] if match else "", reason.startswith("Expecting ','")
    if word and '"' not in text:
        hint = f"the shell removes quotes: put the batch into a file, or use {_HERE_DOCUMENT}"
        yield at, "it has no double quotes at all", hint
    if reason.startswith("Unterminated string"):
        yield at, "the text that begins here has no closing quote", 'close it with "'
    if at >= len(text.rstrip()):
        yield len(text.rstrip()), "it ends too early", "close all brackets: `]` and `}`"
    if reason.startswith("Invalid control character"):
        what = "a line break" if sign in "\r\n" else "a control character"
        escape = json.dumps(sign).strip('"')
        yield at, f"there is {what} inside a text", f"write {escape} for it, {_OR_YAML}"
    if reason.startswith("Invalid \\"):
        yield at, "a backslash begins no escape here", r"write \\ for a backslash"
    if closes in ("]", "}") and (sign == "," or before.endswith(",")):
        comma = at if sign == "," else len(before) - 1
        yield comma, f"there is a comma before `{closes}`", "remove this comma"
    if text.startswith(("//", "/*", "#"), at):
        yield at, "it has a comment", "JSON has no comments: remove it, or write the batch in YAML"
    if word in _PYTHON:
        yield at, f"`{word}` is not a JSON word", f"write `{_PYTHON[word]}`"
    if misses_comma and word and before.endswith('"'):
        quote = text.rindex('"', 0, at)
        yield quote, "a text ends at this quote, and more follows", r"write \" for a quote inside a text"
    if misses_comma:
        yield len(before), "a comma is missing here", "put a comma between two fields or entries"
    if reason == "Extra data" and sign in "]}":
        yield at, "there is one bracket too many", "remove this bracket"
    if reason == "Extra data":
        hint = 'send one batch: {"files": [{"file": …, "edits": […]}, …]}'
        yield at, "a second JSON value begins here", hint
    if sign in _QUOTES:
        yield at, f"it has {_QUOTES[sign]} quotes", f'JSON takes double quotes only: "file"; {_OR_YAML}'
    if word:
        yield at, f"`{word}` has no quotes", f'write "{word}"'
    yield at, reason[0].lower() + reason[1:].removesuffix(" at"), f"fix the JSON syntax; {_EXAMPLE}"


# --- Numbers of edits, as people count them


def numbers_of(data: object) -> EditNumbers:
    """Return the edit numbers of `data`, a batch as sent; globs and diffs make them unknown."""
    entries = data["files"] if isinstance(data, dict) and isinstance(data.get("files"), list) else [data]
    counted = [entry for entry in map(_counted, entries) if entry is not None]
    return EditNumbers(tuple(counted) if len(counted) == len(entries) else ())


def _counted(entry: Any) -> tuple[str, int] | None:  # noqa: ANN401 (any JSON)
    match entry:
        case {"file": str(file), "edits": list(edits)} | {"path": str(file), "edits": list(edits)}:
            return file, len(edits)
        case {"file": str(file)} if op_of(entry) is not None:
            return file, 1
        case _:
            return None


# --- Texts of edits in separate files: `markdownFile` in place of `markdown`

_NAME_A_FILE: Final = "give the path of a file, relative to the batch"
_FIELDS: Final = {"markdownFile": "markdown", "replacementFile": "replacement", "diffFile": "diff"}


def _with_text_files(batch: Any, folder: str) -> Any:  # noqa: ANN401 (any JSON)
    """Return `batch` with file names replaced by the text of the files, relative to `folder`.

    MCP has no such fields: they would let a client read any file of the user.
    """
    if not isinstance(batch, dict):
        return batch
    fields: dict[str, Any] = {}
    for name, value in batch.items():
        field = _FIELDS.get(camel_case(name))
        fields[field or name] = _text_of(name, field, value, batch, folder) if field else value
    for name in ("edits", "files"):
        if isinstance(batch.get(name), list):
            fields[name] = [_with_text_files(entry, folder) for entry in batch[name]]
    return fields


def _text_of(name: str, field: str, value: object, edit: dict[str, Any], folder: str) -> str:
    if field in edit:
        raise BadInput(f"an edit has `{name}` and `{field}`", "give one of them")
    if not isinstance(value, str):
        raise BadInput(f"`{name}` is not a string", _NAME_A_FILE)
    try:
        return Path(folder, value).read_bytes().decode("utf-8")
    except OSError as error:
        reason = f"`{escaped(value)}` of `{name}` cannot be read: {error.strerror}"
        raise BadInput(reason, _NAME_A_FILE) from None
    except ValueError:
        raise BadInput(f"`{escaped(value)}` of `{name}` is not UTF-8 text", "save it as UTF-8") from None
