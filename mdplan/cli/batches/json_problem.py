"""Common JSON mistakes, each with its correction."""

import json
import re
from collections.abc import Callable
from typing import Final, NamedTuple

from mdplan.cli.batches.bad_input import BadInput
from mdplan.text.lines import Position

_HERE_DOCUMENT: Final = "`mdplan plan <<'END'`, then the batch, then a line END"
_OR_YAML: Final = "or write the batch in YAML, where `markdown: |` takes whole lines"
_WORD: Final = re.compile(r"[A-Za-z_][\w-]*")
_PYTHON: Final = {"True": "true", "False": "false", "None": "null", "undefined": "null"}
_QUOTES: Final = "'`\u2018\u2019\u201c\u201d"
_CONTROLS: Final = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


class _Found(NamedTuple):
    """A mistake: the `offset` of the place to look at, what is wrong there, and the correction."""

    offset: int
    message: str
    hint: str


def json_problem(text: str, where: str, error: Exception) -> BadInput:
    """Why `text` of `where` is no JSON, after `json.loads` raised `error`."""
    if not isinstance(error, json.JSONDecodeError):
        message = f"{where} is not JSON: it is nested too deeply, or a number in it is too long"
        return BadInput.at(text, None, message, "send a smaller batch")
    found = next(filter(None, (look(text, error) for look in _FINDERS)), None)
    if found is None:
        reason = error.msg[0].lower() + error.msg[1:].removesuffix(" at")
        found = _Found(error.pos, reason, "fix the JSON syntax; `mdplan help batch` shows a batch")
    return BadInput.at(text, _place(text, found.offset), f"{where} is not JSON: {found.message}", found.hint)


def _lost_quotes(text: str, error: json.JSONDecodeError) -> _Found | None:
    if '"' in text or not _WORD.match(text, error.pos):
        return None
    hint = f"the shell removes quotes: put the batch into a file, or use {_HERE_DOCUMENT}"
    return _Found(error.pos, "it has no double quotes at all", hint)


def _quotes(text: str, error: json.JSONDecodeError) -> _Found | None:
    if text[error.pos : error.pos + 1] not in tuple(_QUOTES):
        return None
    is_curly = text[error.pos] in "\u2018\u2019\u201c\u201d"
    what = "curly quotes" if is_curly else "single quotes" if text[error.pos] == "'" else "backquotes"
    return _Found(error.pos, f"it has {what}", f'JSON takes double quotes only: "file"; {_OR_YAML}')


def _python_word(text: str, error: json.JSONDecodeError) -> _Found | None:
    word = _WORD.match(text, error.pos)
    if word is None or word[0] not in _PYTHON:
        return None
    return _Found(error.pos, f"`{word[0]}` is not a JSON word", f"write `{_PYTHON[word[0]]}`")


def _comment(text: str, error: json.JSONDecodeError) -> _Found | None:
    if not text.startswith(("//", "/*", "#"), error.pos):
        return None
    return _Found(
        error.pos, "it has a comment", "JSON has no comments: remove it, or write the batch in YAML"
    )


def _trailing_comma(text: str, error: json.JSONDecodeError) -> _Found | None:
    before = text[: error.pos].rstrip()
    at = len(before) - 1 if before.endswith(",") else error.pos
    closes = text[at + 1 :].lstrip()[:1]
    if text[at : at + 1] != "," or closes not in ("]", "}"):
        return None
    return _Found(at, f"there is a comma before `{closes}`", "remove this comma")


def _bare_word(text: str, error: json.JSONDecodeError) -> _Found | None:
    word = _WORD.match(text, error.pos)
    if word is None or word[0] in {"true", "false", "null"} or error.msg.startswith("Expecting ','"):
        return None
    return _Found(error.pos, f"`{word[0][:40]}` has no quotes", f'write "{word[0][:40]}"')


def _control(text: str, error: json.JSONDecodeError) -> _Found | None:
    if not error.msg.startswith("Invalid control character"):
        return None
    escape = _CONTROLS.get(text[error.pos], "an escape such as \\u0007")
    what = "a line break" if text[error.pos] in "\r\n" else "a control character"
    return _Found(error.pos, f"there is {what} inside a text", f"write {escape} for it, {_OR_YAML}")


def _bad_escape(_: str, error: json.JSONDecodeError) -> _Found | None:
    if not error.msg.startswith("Invalid \\"):
        return None
    return _Found(error.pos, "a backslash begins no escape here", r"write \\ for a backslash")


def _missing_comma(text: str, error: json.JSONDecodeError) -> _Found | None:
    if not error.msg.startswith("Expecting ','"):
        return None
    if _WORD.match(text, error.pos) and text[: error.pos].rstrip().endswith('"'):
        at = text.rindex('"', 0, error.pos)
        return _Found(
            at, "a text ends at this quote, and more follows", r"write \" for a quote inside a text"
        )
    before = len(text[: error.pos].rstrip())
    return _Found(before, "a comma is missing here", "put a comma between two fields or entries")


def _too_short(text: str, error: json.JSONDecodeError) -> _Found | None:
    if error.msg.startswith("Unterminated string"):
        return _Found(error.pos, "the text that begins here has no closing quote", 'close it with "')
    if error.pos < len(text.rstrip()):
        return None
    return _Found(len(text.rstrip()), "it ends too early", "close all brackets: `]` and `}`")


def _more(text: str, error: json.JSONDecodeError) -> _Found | None:
    if error.msg != "Extra data":
        return None
    if text[error.pos] in "]}":
        return _Found(error.pos, "there is one bracket too many", "remove this bracket")
    hint = 'send one batch: {"files": [{"file": …, "edits": […]}, …]}'
    return _Found(error.pos, "a second JSON value begins here", hint)


_FINDERS: Final[tuple[Callable[[str, json.JSONDecodeError], _Found | None], ...]] = (
    _lost_quotes,
    _too_short,
    _control,
    _bad_escape,
    _trailing_comma,
    _comment,
    _python_word,
    _missing_comma,
    _more,
    _quotes,
    _bare_word,
)


def _place(text: str, offset: int) -> Position:
    return Position(text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset))
