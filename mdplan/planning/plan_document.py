"""A plan as a file: canonical JSON under a plan ID that is the hash of that JSON.

The ID covers every member but two: the ID itself, and `baseSections`, which only helps to word a refusal.
So two plans of one ID do the same and look the same to a reviewer. The ID does not prove that planning the
edits gives this plan: whoever writes a document can hash it. So the engine plans again before it trusts one.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

import msgspec

from mdplan import __version__
from mdplan.diagnostics import Code, Diagnostic
from mdplan.plan import (
    NO_INTENT,
    PREFIX,
    EditResult,
    Effect,
    FileChange,
    Intent,
    Plan,
    PlanId,
    canonical_json,
    edit_list_from_json,
    edit_list_to_json,
)
from mdplan.reports.base import to_wire
from mdplan.text.lines import Span, to_lf
from mdplan.text.source import sha256_hex
from mdplan.values import astuple, replace
from mdplan.words import snake_case

if TYPE_CHECKING:
    from mdplan.markdown.outline import Outline
    from mdplan.planning.build import BuiltFile, ResolvedEdit


FORMAT: Final = 2
_HEX: Final = frozenset("0123456789abcdef")
_HASH_LENGTH: Final = 64

# Entries of lists that are written at once.
_TOGETHER: Final = 64

# Fields of an edit whose keys a file gets in the order that the caller gave them.
_IN_ORDER: Final = frozenset({"value", "values"})


def new_plan(  # noqa: PLR0913 (one parameter for each part)
    files: Sequence[FileChange],
    requested: Sequence[Sequence[Mapping[str, Any]]],
    *,
    options: Mapping[str, bool | str],
    effects: Sequence[tuple[Effect, ...]],
    results: Sequence[EditResult],
    warnings: tuple[Diagnostic, ...],
    intent: Intent = NO_INTENT,
    is_part: bool = False,
) -> Plan:
    """Make a plan of this engine, with the ID of its content, unless it `is_part` of another one."""
    plan = Plan(
        plan_id=PlanId(""),
        engine=__version__,
        files=files,
        requested=requested,
        options=options,
        effects=effects,
        results=results,
        warnings=warnings,
        intent=intent,
    )
    return plan if is_part else with_plan_id(plan)


def with_plan_id(plan: Plan) -> Plan:
    """Return `plan` with the ID of its content."""
    return replace(plan, plan_id=plan_id_of(plan))


def plan_id_of(plan: Plan) -> PlanId:
    """Return the ID of `plan`: the hash of its document without `planId` and `baseSections`."""
    digest = hashlib.sha256()
    for part in chain(_content(plan), _after_plan_id(plan)):
        digest.update(part)
    return PlanId(PREFIX + digest.hexdigest())


def untitled_id(plan: Plan) -> PlanId:
    """Return the ID that `plan` would have without title and description."""
    return plan.plan_id if plan.intent == NO_INTENT else plan_id_of(replace(plan, intent=NO_INTENT))


def write_document(plan: Plan) -> bytes:
    """Return `plan` as canonical JSON that `read_document` takes. Text edits may hold lone surrogates."""
    return b"".join(document_parts(plan, with_sections=True))


def document_parts(plan: Plan, *, with_sections: bool = False) -> Iterator[bytes]:
    """Yield the document of `plan` in parts: as one JSON value it takes many times the memory.

    Without the hashes of sections it is much smaller. The members are in the order of their names.
    """
    yield from _content(plan, with_sections=with_sections)
    yield b',"planId":' + canonical_json(plan.plan_id)
    yield from _after_plan_id(plan)


def _content(plan: Plan, *, with_sections: bool = False) -> Iterator[bytes]:
    """Yield the members before `planId`; omit an empty description, as older versions did."""
    files = (
        _file_to_json(change, edits, with_sections=with_sections)
        for change, edits in zip(plan.files, plan.requested, strict=True)
    )
    yield b"{"
    if plan.intent.description:
        yield b'"description":' + canonical_json(plan.intent.description) + b","
    yield b'"editResults":['
    yield from _entries(map(to_wire, plan.results))
    yield b'],"effects":['
    yield from _entries([astuple(effect) for effect in effects] for effects in plan.effects)
    yield b'],"engine":' + canonical_json(plan.engine) + b',"files":['
    yield from _entries(files)
    yield b'],"mdplanPlan":' + canonical_json(FORMAT)
    yield b',"options":' + canonical_json(dict(plan.options))


def _after_plan_id(plan: Plan) -> Iterator[bytes]:
    """Yield the members after it, and the end of the document."""
    if plan.intent.title:
        yield b',"title":' + canonical_json(plan.intent.title)
    yield b',"warnings":' + canonical_json(to_wire(plan.warnings)) + b"}"


def _entries(entries: Iterable[object]) -> Iterator[bytes]:
    """Yield the entries of a list, some at a time."""
    remaining = iter(entries)
    is_first = True
    while chunk := list(islice(remaining, _TOGETHER)):
        yield b"," * (not is_first) + canonical_json(chunk)[1:-1]
        is_first = False


def is_document(data: object) -> bool:
    """Return True if decoded JSON claims to be a plan document."""
    return isinstance(data, Mapping) and "mdplanPlan" in data


def read_document(data: bytes | Mapping[str, Any]) -> Plan | Diagnostic:
    """Return the plan that `data` holds. Errors: PLAN_TAMPERED."""
    try:
        return _read(json.loads(data) if isinstance(data, bytes) else data)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        return _tampered("it is not a plan document of this version")


def _read(body: Mapping[str, Any]) -> Plan | Diagnostic:
    if body["mdplanPlan"] != FORMAT:
        return _tampered("it is not a plan document of this version")
    files = tuple(_file_of_json(entry) for entry in body["files"])
    plan = Plan(
        plan_id=PlanId(body["planId"]),
        engine=str(body["engine"]),
        files=files,
        requested=tuple(tuple(map(_edit_of_json, entry["requested"])) for entry in body["files"]),
        options={
            str(name): value if isinstance(value, str) else bool(value)
            for name, value in body["options"].items()
        },
        effects=tuple(tuple(_effect(*entry) for entry in effects) for effects in body["effects"]),
        results=of_json(tuple[EditResult, ...], body["editResults"]),
        warnings=of_json(tuple[Diagnostic, ...], body["warnings"]),
        intent=Intent(str(body.get("title", "")), str(body.get("description", ""))),
    )
    # Hash the converted values, not the input, so that any conversion changes the ID.
    if plan_id_of(plan) != plan.plan_id:
        return _tampered("its content does not hash to its plan ID")
    edits = [edit for edits in plan.requested for edit in edits]
    is_whole = len(edits) == len(plan.results) == len(plan.effects)
    if plan.intent != Intent.of(plan.intent.title, plan.intent.description) or not plan.intent.is_short:
        return _tampered("its title or description is not as mdplan writes it")
    if not files or not is_whole or not all(isinstance(edit, Mapping) for edit in edits):
        return _tampered("its parts do not fit together")
    return plan


def _file_to_json(
    change: FileChange, requested: Sequence[Mapping[str, Any]], *, with_sections: bool
) -> dict[str, Any]:
    return {
        "path": change.path,
        "encoding": change.encoding,
        "format": change.format,
        "newPath": change.new_path,
        "baseSha256": change.base_sha256,
        "resultSha256": change.result_sha256,
        "linesAdded": change.lines_added,
        "linesRemoved": change.lines_removed,
        "baseSections": dict(change.base_sections) if with_sections else {},
        "referencesUpdated": change.references_updated,
        "requested": [_with_values(edit, _to_text) for edit in requested],
        "textEdits": edit_list_to_json(change.edits),
    }


def _file_of_json(entry: Mapping[str, Any]) -> FileChange:
    edits = edit_list_from_json(entry["textEdits"])
    hashes = (entry["baseSha256"], entry["resultSha256"])
    if edits is None or not all(_is_hash_or_none(value) for value in hashes) or not any(hashes):
        raise ValueError
    return FileChange(
        path=str(entry["path"]),
        encoding=_text_or_none(entry["encoding"]),
        format=_text_or_none(entry["format"]),
        base_sha256=hashes[0],
        result_sha256=hashes[1],
        edits=edits,
        lines_added=int(entry["linesAdded"]),
        lines_removed=int(entry["linesRemoved"]),
        base_sections={str(name): str(digest) for name, digest in entry["baseSections"].items()},
        new_path=_text_or_none(entry.get("newPath")),
        references_updated=int(entry.get("referencesUpdated", 0)),
    )


def _with_values(edit: Mapping[str, Any], convert: Callable[[Any], Any]) -> dict[str, Any]:
    return {name: convert(value) if name in _IN_ORDER else value for name, value in edit.items()}


def _to_text(value: object) -> object:
    """Return `value`, or its JSON text if its keys are unsorted, because programs may sort keys."""
    text = json.dumps(value)
    return value if text == json.dumps(value, sort_keys=True) else text


def _edit_of_json(edit: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the `edit` with the values that became text. No other value is the text of a map or list."""
    decoded = _with_values(edit, _of_text)
    return decoded if _with_values(decoded, _to_text) == edit else edit


def _of_text(value: object) -> object:
    try:
        return json.loads(value) if isinstance(value, str) and value[:1] in ("{", "[") else value
    except ValueError:
        return value


def _is_hash_or_none(value: object) -> bool:
    return value is None or (isinstance(value, str) and len(value) == _HASH_LENGTH and set(value) <= _HEX)


def _text_or_none(value: object) -> str | None:
    return None if value is None else str(value)


def _effect(section_id: str, removed: str, inserted: str, around: str) -> Effect:
    return Effect(section_id=section_id, removed=removed, inserted=inserted, around=around)


def of_json(shape: Any, value: object) -> Any:  # noqa: ANN401 (a value of any shape)
    """Return what `to_wire` wrote, as a value of `shape`. Raises ValueError."""
    return msgspec.convert(_with_field_names(value), shape)


def _with_field_names(value: object) -> object:
    if isinstance(value, list):
        return [_with_field_names(item) for item in value]
    if not isinstance(value, dict):
        return value
    # The members of `excludedMatches` are no fields.
    return {
        snake_case(name): item if name == "excludedMatches" else _with_field_names(item)
        for name, item in value.items()
    }


def _tampered(reason: str) -> Diagnostic:
    return Code.PLAN_TAMPERED.problem(f"the plan cannot be trusted: {reason}", "plan the batch again")


# --- Fingerprints of edits: their effects without offsets, to compare on another base


def effects_of(built_files: "Iterable[BuiltFile]") -> tuple[tuple[Effect, ...], ...]:
    """Return the effects of every edit of `built_files`, in batch order, with other files last."""
    files = list(built_files)
    arrived = {item.index: _effects(item) for built in files for item in built.arriving_edits}
    return tuple(_effects(item) + arrived.get(item.index, ()) for built in files for item in built.resolved)


def changes_of(item: "ResolvedEdit") -> list[tuple[Span, str]]:
    """Return what one edit replaces in the document that it saw, without blank lines after deletions."""
    resolution = item.resolution
    changes = [(edit.span, edit.new_text) for edit in resolution.edits]
    for span in resolution.deletions:
        text = item.outline.text_of(span).rstrip(" \t\r\n")
        changes.append((Span(span.start, span.start + len(text)), ""))
    changes += [(Span(block.offset, block.offset), block.payload.text) for block in resolution.insertions]
    return changes


def _effects(item: "ResolvedEdit") -> tuple[Effect, ...]:
    outline = item.outline
    return tuple(
        Effect(
            section_id=outline.section_id_at(max(span.start - (not len(span)), 0)),
            removed=_hash(outline.text_of(span)),
            inserted=_hash(new_text),
            around="" if len(span) else _hash(_around(outline, span.start)),
        )
        for span, new_text in changes_of(item)
    )


def _around(outline: "Outline", offset: int) -> str:
    """Return the line before and the line after an insertion; the line it stands in, inside one."""
    lines = outline.source.lines
    if not lines.count:
        return ""
    behind = lines.line_at(offset)
    before = behind - 1 if lines.start(behind) == offset else behind
    return "\n".join(lines.content(line) for line in (before, behind) if 1 <= line <= lines.count)


def _hash(text: str) -> str:
    return sha256_hex(to_lf(text).encode("utf-8", "surrogatepass"))[:16]
