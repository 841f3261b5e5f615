"""Requests of stat, read and search from decoded JSON, read strictly; null counts as absent."""

from collections.abc import Mapping
from typing import Any, Final

from mdplan.diagnostics import Diagnostic, Problems
from mdplan.field_names import FILE_SYNONYMS, fold_names, spelled_as, unknown_fields, value_has_surrogate
from mdplan.operations.base import header_text
from mdplan.requests.batch import SEE_SCHEMA, decoded_json, validated, wire_names, with_decoded_fields
from mdplan.requests.queries import INVENTORIES, StatRequest
from mdplan.requests.read import ONE_PLACE, ReadRequest, ReadTarget
from mdplan.requests.search import SearchRequest
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.words import say

_READ_SYNONYMS: Final = {**FILE_SYNONYMS, "offset": "startLine"}
_SEARCH_SYNONYMS: Final = {**FILE_SYNONYMS, "query": "pattern"}
# Lines as text, with or without the hashes of addresses.
_LINES: Final = lazy_pattern(r"([1-9][0-9]{0,8})(?::[0-9a-f]+)?(?:-([1-9][0-9]{0,8})(?::[0-9a-f]+)?)?")
_NO_OBJECT: Final = Diagnostic.invalid("the request is no JSON object", 'send {"file": "guide.md"}')
_SHARED_BY_TARGETS: Final = ("file", "encoding", "format")


def read_stat_request(data: object) -> StatRequest | Problems:
    """Request of decoded JSON `data`. Errors: INVALID_ARGUMENT, UNKNOWN_FIELD; all of them."""
    if not isinstance(data, Mapping):
        return (_NO_OBJECT,)
    given = _given(data, FILE_SYNONYMS)
    if any(value_has_surrogate(item) for item in given.items()):
        return (Diagnostic.invalid("the request contains a lone surrogate", "send valid Unicode"),)
    under = given.get("under")
    if isinstance(under, str) and _are_strings(decoded := decoded_json(under)):
        # Other text in brackets is a heading: `[1.2.0]`.
        given["under"] = decoded
    fields = with_decoded_fields(StatRequest, given)
    fields |= {"under": given["under"]} if "under" in given else {}
    names = fields.get("include")
    names = [names] if isinstance(names, str) else names
    if isinstance(names, list):
        fields["include"] = [
            spelled_as(each, INVENTORIES) if isinstance(each, str) else each for each in names
        ]
    problems = tuple(unknown_fields(fields, wire_names(StatRequest), "the request"))
    if under is not None and not isinstance(given["under"], str) and not _are_strings(given["under"]):
        problems += (_NO_SECTION,)
        fields.pop("under")
    known = {name: value for name, value in fields.items() if name in wire_names(StatRequest)}
    request: StatRequest | Problems = validated(StatRequest, known, "")
    if isinstance(request, StatRequest):
        return problems or request
    return (*problems, *request)


def read_search_request(data: object) -> SearchRequest | Problems:
    """Request of decoded JSON `data`. Errors: INVALID_ARGUMENT, UNKNOWN_FIELD; all of them."""
    if not isinstance(data, Mapping):
        return (_NO_OBJECT,)
    request: SearchRequest | Problems = _read(SearchRequest, _given(data, _SEARCH_SYNONYMS))
    return request


def _read(model: type[Any], given: Mapping[str, Any], where: str = "", hint: str = SEE_SCHEMA) -> Any:  # noqa: ANN401
    """Return a `model` of `given` fields, or what is wrong; `where` names the object among others."""
    fields = with_decoded_fields(model, given)
    problems = tuple(unknown_fields(fields, wire_names(model), where or "the request"))
    return problems or validated(model, fields, f"{where}." if where else "", hint)


def read_read_request(data: object) -> ReadRequest | Problems:
    """Read a request from decoded JSON `data`: one target among the options, or a list `targets`.

    With `targets`, `file` is the default file. Errors: INVALID_ARGUMENT, UNKNOWN_FIELD; all of them.
    """
    if not isinstance(data, Mapping):
        return (_NO_OBJECT,)
    fields = with_decoded_fields(ReadRequest, _given(data, _READ_SYNONYMS))
    options = {name: fields.pop(name) for name in wire_names(ReadRequest) if name in fields}
    listed = options.pop("targets", None)
    if listed is None:
        entries: list[Any] = [fields]
    elif not isinstance(listed, list):
        return (Diagnostic.invalid(say("{targets} is not a list"), 'send [{"file": …}, …]'),)
    else:
        shared = {name: fields.pop(name) for name in _SHARED_BY_TARGETS if name in fields}
        problems = tuple(unknown_fields(fields, [*wire_names(ReadRequest), *shared], "the request"))
        if problems:
            return problems
        entries = [
            shared | _given(entry, _READ_SYNONYMS) if isinstance(entry, Mapping) else entry
            for entry in listed
        ]
    targets = tuple(
        _read_target(entry, f"targets[{index}]" if listed is not None else "")
        for index, entry in enumerate(entries)
    )
    refused = tuple(problem for found in targets if isinstance(found, tuple) for problem in found)
    if refused:
        return refused
    request: ReadRequest | Problems = validated(ReadRequest, {**options, "targets": targets}, "", ONE_PLACE)
    if isinstance(request, ReadRequest) and request.cursor is not None and len(request.targets) > 1:
        return (Diagnostic.invalid(say("{cursor} requires one target: the one that was cut"), ONE_PLACE),)
    return request


def _read_target(entry: object, where: str) -> ReadTarget | Problems:
    if not isinstance(entry, Mapping):
        return (Diagnostic.invalid(f"{where} is not an object", 'send {"file": …}'),)
    fields = with_decoded_fields(ReadTarget, entry)
    lines = _LINES.fullmatch(fields["lines"]) if isinstance(fields.get("lines"), str) else None
    if lines is not None:
        fields["lines"] = {"start": int(lines[1]), "end": int(lines[2] or lines[1])}
    table = fields.get("table")
    if isinstance(table, Mapping) and "header" in table:
        fields["table"] = {**table, "header": header_text(table["header"])}
    target: ReadTarget | Problems = _read(ReadTarget, fields, where, ONE_PLACE)
    conflict = next(target.conflicts(), None) if isinstance(target, ReadTarget) else None
    return target if conflict is None else (Diagnostic.invalid(conflict, ONE_PLACE),)


def _given(data: Mapping[str, Any], synonyms: Mapping[str, str]) -> dict[str, Any]:
    return {name: value for name, value in fold_names(data, synonyms).items() if value is not None}


def _are_strings(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


_NO_SECTION: Final = Diagnostic.invalid(
    say("{under} is neither a string nor a list of strings"),
    say('send a {sectionId}, a heading, or a heading path such as ["Guide", "Install"]'),
)
