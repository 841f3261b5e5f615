"""Texts of edits that a batch leaves in files of their own: `markdownFile` in place of `markdown`."""

from pathlib import Path
from typing import Any, Final

from mdplan.cli.batches.bad_input import BadInput
from mdplan.diagnostics import Diagnostic
from mdplan.field_names import camel_case
from mdplan.text.visible import escaped

_FIELDS: Final = {"markdownFile": "markdown", "replacementFile": "replacement", "diffFile": "diff"}


def with_text_files(batch: Any, folder: str) -> Any:  # noqa: ANN401 (any JSON)
    """`batch` with the text of each file in place of its name, which is relative to `folder`.

    Over MCP these fields do not exist: there a name would let a client read any file of the user.
    """
    if not isinstance(batch, dict):
        return batch
    found = _with_texts(batch, folder)
    for name in ("edits", "files"):
        entries = batch.get(name)
        if isinstance(found, BadInput) or not isinstance(entries, list):
            continue
        below = [with_text_files(each, folder) for each in entries]
        bad = next((each for each in below if isinstance(each, BadInput)), None)
        found = bad if bad is not None else {**found, name: below}
    return found


def _with_texts(edit: dict[str, Any], folder: str) -> dict[str, Any] | BadInput:
    found: dict[str, Any] = {}
    for name, value in edit.items():
        field = _FIELDS.get(camel_case(name))
        read = _text_of(name, field, value, edit, folder) if field else value
        if isinstance(read, BadInput):
            return read
        found[field or name] = read
    return found


def _text_of(name: str, field: str, value: object, edit: dict[str, Any], folder: str) -> str | BadInput:
    if field in edit:
        return _bad(f"an edit has `{name}` and `{field}`", "give one of them")
    if not isinstance(value, str):
        return _bad(f"`{name}` is not a string", "give the path of a file, relative to the batch")
    try:
        return Path(folder, value).read_bytes().decode("utf-8")
    except OSError as error:
        reason = f"`{escaped(value)}` of `{name}` cannot be read: {error.strerror}"
        return _bad(reason, "give the path of a file, relative to the batch")
    except ValueError:
        return _bad(f"`{escaped(value)}` of `{name}` is not UTF-8 text", "save it as UTF-8")


def _bad(message: str, hint: str) -> BadInput:
    return BadInput(Diagnostic.invalid(message, hint))
