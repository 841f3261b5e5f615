"""Fold spellings of field names in requests, and report unknown names with the nearest known one."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

from mdplan.diagnostics import Code, Diagnostic
from mdplan.words import Argument, Arguments, join, say


class RepeatedNameError(ValueError):
    """A JSON object has the name `name` twice."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the name `{short_name(name)}` is there twice in one object")


def unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the JSON object of `pairs`. Raise `RepeatedNameError`: programs disagree on duplicates."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        raise RepeatedNameError(next(name for name in names if names.count(name) > 1))
    return fields


FILE_SYNONYMS: Final = {"path": "file", "filePath": "file"}
EDIT_SYNONYMS: Final = {"content": "markdown", "text": "markdown"}
BATCH_SYNONYMS: Final = {**FILE_SYNONYMS, "allowOverlappingEdits": "sequential"}
_SYNONYMS: Final = {**BATCH_SYNONYMS, **EDIT_SYNONYMS}
_FORMS: Final = {
    "lines": say(", as in {}", Argument("lines", {"start": 7, "end": 8})),
    "matchType": say(': {matchType="regex"}'),
}
_MOST_LISTED: Final = 12
_LONGEST_VALUE: Final = 60


def fold_names(data: Mapping[str, Any], synonyms: Mapping[str, str]) -> dict[str, Any]:
    """Return `data` with camelCase names and `synonyms` folded, except for duplicates."""
    folded: dict[str, Any] = {}
    for name, value in data.items():
        camel = camel_case(name)
        target = synonyms.get(camel, camel)
        is_taken = target != name and (target in data or target in folded)
        folded[name if is_taken else target] = value
    return folded


def unknown_fields(
    fields: Mapping[str, Any], known: Sequence[str], where: str, outer: Container[str] = ()
) -> Iterator[Diagnostic]:
    """Yield UNKNOWN_FIELD for each of `fields` that is not `known`, with the nearest known name.

    `outer` are the fields of the enclosing request. A second spelling of a given field is INVALID_ARGUMENT.
    """
    for name in fields:
        if name in known:
            continue
        meant = _SYNONYMS.get(camel_case(name), camel_case(name))
        if meant in known and meant in fields:
            yield Diagnostic.invalid(
                say("{} has `{}` beside {}, which is the same", where, short_name(name), Argument(meant)),
                "give one of them",
            )
        else:
            hint = _instead(name, fields[name], known)
            if not hint and meant in outer:
                hint = say("{} goes next to {edits}, not into an edit", Argument(meant))
                hint += '; several files: {"files": [{"file": …, "edits": […]}]}' if meant == "file" else ""
            yield _unknown(name, known, where, hint)


def _instead(name: str, value: object, known: Sequence[str]) -> str:
    """Return what to send instead of the field `name` with `value`, or empty."""
    given = value if isinstance(value, str | int) and len(str(value)) <= _LONGEST_VALUE else "…"
    forms = (form for field, form in meanings()["instead"].get(camel_case(name), ()) if field in known)
    form = next(forms, "")
    if not isinstance(form, str):
        form = join((say("{}", Argument(field, _filled(what, given))) for field, what in form.items()), ", ")
    return say("send {}", say(form) if type(form) is str else form) if form else ""


def _filled(form: Any, given: object) -> Any:  # noqa: ANN401 (JSON)
    """Return `form` with `given` filled in."""
    if isinstance(form, dict):
        return {name: _filled(value, given) for name, value in form.items()}
    if isinstance(form, list):
        return [_filled(value, given) for value in form]
    return given if form == "$" else form


def _unknown(name: str, known: Sequence[str], where: str, advice: str) -> Diagnostic:
    import difflib

    meant = next((field for field in meant_fields(name) if field in known), None)
    near = [meant] if meant else difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    if name == "where":
        hint = say("send as {files} the names that {step find} finds")
    elif advice:
        hint = advice
    elif near:
        hint = say("did you mean {}{}?", Argument(near[0]), _FORMS.get(near[0], ""))
    else:
        more = ", …" if len(known) > _MOST_LISTED else ""
        hint = say("known fields: {}{}", Arguments(*known[:_MOST_LISTED], joint=""), more)
    return Code.UNKNOWN_FIELD.problem(say("{} has an unknown field `{}`", where, short_name(name)), hint)


@cache
def meanings() -> dict[str, Any]:
    """Return what people mean by words that mdplan does not know, by kind of word."""
    # Loaded here: few words are mistyped.
    import tomllib
    from pkgutil import get_data

    return tomllib.loads((get_data("mdplan", "suggestions.toml") or b"").decode())


def meant_fields(name: str) -> Sequence[str]:
    """Return the fields that `name` can mean, the likeliest first."""
    meant: Sequence[str] = meanings()["fields"].get(camel_case(name), ())
    return meant


def camel_case(name: str) -> str:
    """Convert `name` to JSON style: ``sectionId`` for `section_id`; unchanged without underscores."""
    if "_" not in name:
        return name
    first, *rest = name.split("_")
    return first.lower() + "".join(map(str.capitalize, rest)) if first and rest else name


def spelled_as(name: str, known: Iterable[str]) -> str:
    """Return the `known` name that `name` spells (``code_blocks``, ``CODE-BLOCKS``), else `name`."""
    plain = _plain(name)
    return next((known_name for known_name in known if _plain(known_name) == plain), name)


def _plain(name: str) -> str:
    return name.replace("-", "").replace("_", "").lower()


def value_has_surrogate(value: object) -> bool:
    """Return True if `value`, one text or several, contains a lone surrogate."""
    texts = value if isinstance(value, tuple) else (value,)
    return any(isinstance(text, str) and has_surrogate(text) for text in texts)


def has_surrogate(text: str) -> bool:
    """Return True if `text` has a lone surrogate."""
    try:
        text.isascii() or text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def short_name(name: object) -> str:
    """Truncate `name` to 60 characters of valid Unicode, for messages."""
    text = str(name).encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= 60 else text[:57] + "..."
