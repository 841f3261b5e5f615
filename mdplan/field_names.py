"""Field names in requests.

Other spellings are folded; an unknown name is an error that suggests the nearest one.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from mdplan.diagnostics import Code, Diagnostic

_CAPITAL: Final = re.compile("[A-Z]")
FILE_SYNONYMS: Final = {"path": "file", "filePath": "file"}
EDIT_SYNONYMS: Final = {"content": "markdown", "text": "markdown"}
BATCH_SYNONYMS: Final = {**FILE_SYNONYMS, "allowOverlappingEdits": "sequential"}
_SYNONYMS: Final = {**BATCH_SYNONYMS, **EDIT_SYNONYMS}
# For names that people try, the fields that can be meant, the likeliest first.
_MEANT: Final[Mapping[str, tuple[str, ...]]] = {
    "after": ("position", "line"),
    "before": ("position", "line"),
    "body": ("markdown",),
    "checked": ("done",),
    "code": ("markdown", "codeBlock"),
    "column": ("keyColumn",),
    "count": ("expectedMatchCount",),
    "end": ("lines", "range"),
    "endLine": ("lines", "range"),
    "filename": ("file",),
    "files": ("file",),
    "find": ("pattern",),
    "from": ("lines", "pattern"),
    "hash": ("baseSha256", "sectionSha256"),
    "ignoreCase": ("caseSensitive",),
    "line": ("lines",),
    "lineNumber": ("lines", "line"),
    "name": ("newTitle", "key", "heading", "file"),
    "new": ("replacement", "markdown"),
    "newHeading": ("newTitle",),
    "newName": ("newTitle", "newPath"),
    "newStr": ("replacement",),
    "newString": ("replacement",),
    "newText": ("replacement", "markdown"),
    "old": ("pattern", "expectedText"),
    "oldStr": ("pattern",),
    "oldString": ("pattern",),
    "oldText": ("pattern", "expectedText"),
    "operation": ("op",),
    "operations": ("edits",),
    "path": ("headingPath",),
    "regex": ("matchType", "pattern"),
    "replace": ("replacement",),
    "replaceWith": ("replacement",),
    "search": ("pattern",),
    "section": ("heading", "headingPath"),
    "sectionName": ("heading",),
    "sectionTitle": ("heading",),
    "sha256": ("baseSha256",),
    "start": ("lines", "range"),
    "startLine": ("lines", "range"),
    "status": ("done",),
    "string": ("pattern",),
    "target": ("heading",),
    "task": ("item",),
    "text": ("replacement", "item"),
    "title": ("newTitle", "heading"),
    "to": ("replacement", "newTitle", "newPath"),
    "type": ("op",),
    "value": ("replacement", "markdown", "values"),
    "with": ("replacement",),
}
_FORMS: Final = {
    "lines": ', as in `"lines": {"start": 7, "end": 8}`',
    "matchType": ': `"matchType": "regex"`',
}
_MOST_LISTED: Final = 12


def fold_names(data: Mapping[str, Any], synonyms: Mapping[str, str]) -> dict[str, Any]:
    """`data` with camelCase names and `synonyms` folded; a name that is there already is kept apart."""
    folded: dict[str, Any] = {}
    for name, value in data.items():
        camel = camel_case(name)
        target = synonyms.get(camel, camel)
        is_taken = target != name and (target in data or target in folded)
        folded[name if is_taken else target] = value
    return folded


def unknown_fields(fields: Mapping[str, Any], known: Sequence[str], where: str) -> Iterator[Diagnostic]:
    """UNKNOWN_FIELD for each of `fields` that is not `known`, with the nearest known name.

    A second spelling of a field that is there already is INVALID_ARGUMENT.
    """
    for name in fields:
        if name in known:
            continue
        meant = _SYNONYMS.get(camel_case(name), camel_case(name))
        if meant in known and meant in fields:
            yield Diagnostic.invalid(
                f"{where} has `{short_name(name)}` beside `{meant}`, which is the same", "give one of them"
            )
        else:
            yield _unknown(name, known, where)


def _unknown(name: str, known: Sequence[str], where: str) -> Diagnostic:
    import difflib

    meant = next((each for each in _MEANT.get(camel_case(name), ()) if each in known), None)
    near = [meant] if meant else difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    if camel_case(name) == "previewOnly":
        hint = 'op "preview_match" lists matches and replaces nothing'
    elif near:
        hint = f"did you mean `{near[0]}`{_FORMS.get(near[0], '')}?"
    else:
        more = ", …" if len(known) > _MOST_LISTED else ""
        hint = f"known fields: {', '.join(known[:_MOST_LISTED])}{more}"
    return Diagnostic(
        code=Code.UNKNOWN_FIELD,
        message=f"{where} has an unknown field `{short_name(name)}`",
        hint=hint,
    )


def camel_case(name: str) -> str:
    """`name` as it is on the wire: ``sectionId`` for `section_id`; without underscores it stays as it is."""
    if "_" not in name:
        return name
    first, *rest = name.split("_")
    return first.lower() + "".join(map(str.capitalize, rest)) if first and rest else name


def spelled_as(name: str, known: Iterable[str]) -> str:
    """The one of `known` that `name` spells another way (``code_blocks``, ``CODE-BLOCKS``), else `name`."""
    plain = _plain(name)
    return next((each for each in known if _plain(each) == plain), name)


def _plain(name: str) -> str:
    return name.replace("-", "").replace("_", "").lower()


def snake_case(name: str) -> str:
    """`name` as Python has it: ``section_id`` for `sectionId`."""
    return _CAPITAL.sub(lambda match: "_" + match[0].lower(), name)


def value_has_surrogate(value: object) -> bool:
    """Whether `value`, a text or several, has a lone surrogate in it, which is no Unicode text."""
    texts = value if isinstance(value, tuple) else (value,)
    return any(isinstance(text, str) and has_surrogate(text) for text in texts)


def has_surrogate(text: str) -> bool:
    """Whether `text` has a lone surrogate in it."""
    try:
        text.isascii() or text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def short_name(name: object) -> str:
    """`name`, which may be anything that a caller sent, for messages: at most 60 characters, all Unicode."""
    text = str(name).encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= 60 else text[:57] + "..."
