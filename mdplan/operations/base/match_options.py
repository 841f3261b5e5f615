"""The richer forms of match options, folded into the flat ones (requirement 05, sections 2 and 5)."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic.alias_generators import to_camel

from mdplan.diagnostics import Diagnostic

_FLAGS: Final = {"i": ("caseSensitive", False), "m": ("multiline", True), "s": ("dotAll", True)}
_SCOPE_FIELDS: Final = frozenset({"sectionId", "headingPath", "heading", "anchor", "occurrence", "lines"})
_WHOLE: Final = frozenset({"document", "whole_document", "wholeDocument", "file"})


class _ContradictionError(Exception):
    """Two forms of one option disagree; the text names them."""


def fold_match_options(fields: Mapping[str, Any]) -> dict[str, Any] | Diagnostic:
    """`fields` of a match operation in their flat form.

    Folded: `expectedMatches`; `expectedMatchCount: {min, max}`; `matchSelection` as a number,
    ``{index}`` or ``{range: {start, end}}``; `literal`; `flags`; `nodeExclusions`; `scope`. A contradiction
    between two forms is INVALID_ARGUMENT, and so is `occurrence` without a heading.
    """
    folded = dict(fields)
    try:
        _fold_counts(folded)
        _fold_selection(folded)
        _fold_literal_and_flags(folded)
        _fold_exclusions(folded)
        _fold_scope(folded)
    except _ContradictionError as contradiction:
        return Diagnostic.invalid(str(contradiction), "give each option once, in its flat form")
    if folded.get("occurrence") is not None and not {"heading", "headingPath"} & folded.keys():
        return Diagnostic.invalid(
            "occurrence picks one of several equal headings, not a match",
            f'use `"matchSelection": "{folded["occurrence"]}"` for the match',
        )
    return folded


def _set(fields: dict[str, Any], name: str, value: object, form: str) -> None:
    if fields.get(name) is not None and fields[name] != value:
        msg = f"{form} and {name} contradict each other"
        raise _ContradictionError(msg)
    fields[name] = value


def _fold_counts(fields: dict[str, Any]) -> None:
    if "expectedMatches" in fields:
        _set(fields, "expectedMatchCount", fields.pop("expectedMatches"), "expectedMatches")
    count = fields.get("expectedMatchCount")
    if isinstance(count, dict) and count.keys() <= {"min", "max"} and count:
        del fields["expectedMatchCount"]
        for bound, name in (("min", "minMatches"), ("max", "maxMatches")):
            if bound in count:
                _set(fields, name, count[bound], "expectedMatchCount")


def _fold_selection(fields: dict[str, Any]) -> None:
    match fields.get("matchSelection"):
        case bool():
            return
        case int(index):
            fields["matchSelection"] = str(index)
        case {"index": int(index), **rest} if not rest:
            fields["matchSelection"] = str(index)
        case {"range": {"start": int(start), "end": int(end), **more}, **rest} if not rest and not more:
            fields["matchSelection"] = f"{start}-{end}"
        case _:
            return


def _fold_literal_and_flags(fields: dict[str, Any]) -> None:
    literal = fields.pop("literal", None)
    if literal is not None:
        if not isinstance(literal, bool):
            msg = "literal is neither true nor false"
            raise _ContradictionError(msg)
        _set(fields, "matchType", "literal" if literal else "regex", "literal")
    flags = fields.pop("flags", None)
    if flags is None:
        return
    for flag in flags if isinstance(flags, str | list) else ("?",):
        if not isinstance(flag, str) or flag not in _FLAGS:
            msg = "flags contains something other than i, m and s"
            raise _ContradictionError(msg)
        _set(fields, *_FLAGS[flag], "flags")


def _fold_exclusions(fields: dict[str, Any]) -> None:
    exclusions = fields.pop("nodeExclusions", None)
    if exclusions is None:
        return
    if not isinstance(exclusions, dict) or any(
        choice not in ("include", "exclude") for choice in exclusions.values()
    ):
        msg = "nodeExclusions is not an object of include and exclude"
        raise _ContradictionError(msg)
    lists = {choice: _list_in(fields, choice) for choice in ("include", "exclude")}
    for name, choice in exclusions.items():
        kind = to_camel(name)
        other = "exclude" if choice == "include" else "include"
        if kind in lists[other]:
            msg = f"nodeExclusions and {other} contradict each other"
            raise _ContradictionError(msg)
        if kind not in lists[choice]:
            lists[choice].append(kind)
    fields |= lists


def _list_in(fields: Mapping[str, Any], name: str) -> list[Any]:
    value = fields.get(name, [])
    if not isinstance(value, list):
        msg = f"{name} is not a list"
        raise _ContradictionError(msg)
    return list(value)


def _fold_scope(fields: dict[str, Any]) -> None:
    scope = fields.get("scope")
    if scope is None or (isinstance(scope, str) and scope in _WHOLE):
        fields.pop("scope", None)
    elif isinstance(scope, dict) and {to_camel(name) for name in scope} <= _SCOPE_FIELDS:
        del fields["scope"]
        for name, value in scope.items():
            _set(fields, to_camel(name), value, "scope")
    else:
        msg = "scope is neither a section, lines, nor the document"
        raise _ContradictionError(msg)
