"""The classes of edits, made from the models of the operations: one source for names, types and checks."""

import difflib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from inspect import Parameter, Signature
from typing import Any, ClassVar, Final, NoReturn

from mdplan.diagnostics import Refused
from mdplan.field_names import camel_case
from mdplan.limits import Limits
from mdplan.operations import OPERATIONS, class_name
from mdplan.operations.base import CodeBlockField, LinesField, PositionField, RangeField, WireModel
from mdplan.operations.lists import ListField
from mdplan.operations.tables import TableField
from mdplan.requests import batch
from mdplan.requests.batch import read_batch, read_edit, validated
from mdplan.words import snake_case

# Objects that edits are made of, by the names of their classes here; their arguments may be positional.
PARTS: Final[Mapping[str, type[WireModel]]] = {
    "CodeBlock": CodeBlockField,
    "Lines": LinesField,
    "List": ListField,
    "Position": PositionField,
    "Range": RangeField,
    "Table": TableField,
}

# Batches, by the names of their classes here, with docstrings for callers of Python.
BATCHES: Final[Mapping[str, type[WireModel]]] = {"Batch": batch.Batch, "FileEdits": batch.FileEdits}

_DOCSTRINGS: Final[Mapping[str, str]] = {
    "Batch": """Edits of several files, applied whole or not at all, with the options of a batch.

    >>> rename = edits.RenameHeading(heading="Brew", new_title="Brewing")
    >>> files = [edits.FileEdits("guide.md", [rename])]
    >>> engine.plan(edits.Batch(files, update_references="workspace")).ok
    True
    """,
    "FileEdits": """Edits of one file, which `Engine.plan` takes as a batch.

    `base_sha256` is the hash of the file as the caller saw it; `encoding` and `format` as in any batch.

    >>> rename = edits.RenameHeading(heading="Brew", new_title="Brewing")
    >>> engine.plan(edits.FileEdits("guide.md", [rename])).ok
    True
    """,
}

_NO_LIMITS: Final = Limits(files=sys.maxsize, edits=sys.maxsize, payload_characters=sys.maxsize)

# Arguments that take a `Section`, and what begins the names of the fields that it stands for.
_SECTIONS: Final = {"section": "", "to": "to"}

# Arguments for which None is a value; for all others it means absent.
_NULLABLE: Final = frozenset({"value", "expected_value"})

_ADDRESS_NAMES: Final = {
    "": frozenset({"heading", "heading_path", "section_id", "anchor", "occurrence", "section_sha256"}),
    "to": frozenset({"to_heading_path", "to_section_id"}),
}


class Value(dict[str, Any]):
    """A JSON object that was checked when it was made, and cannot be changed."""

    model: ClassVar[type[WireModel]]
    __signature__: ClassVar[Signature]

    def __init__(self, *positional: object, **named: object) -> None:
        given = dict(zip(_positional(type(self), positional), positional, strict=False))
        if given.keys() & named.keys():
            raise TypeError(f"{type(self).__name__}() got `{min(given.keys() & named.keys())}` twice")
        super().__init__(_fields(type(self), given | named))

    def __repr__(self) -> str:
        given = ", ".join(f"{snake_case(name)}={value!r}" for name, value in self.items() if name != "op")
        return f"{type(self).__name__}({given})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self).__name__, dict(self))

    def _refuse_change(self, *_: object, **__: object) -> NoReturn:
        raise TypeError(f"{type(self).__name__} cannot be changed: make another one, or a dict of it")

    __setitem__ = __delitem__ = __ior__ = _refuse_change
    clear = pop = popitem = setdefault = update = _refuse_change


class Edit(Value):
    """One edit; its class says of which operation."""


@cache
def class_names() -> tuple[str, ...]:
    """Return the names that `class_of` accepts: one per operation, `PARTS` and `BATCHES`."""
    return (*(class_name(op) for op in OPERATIONS), *PARTS, *BATCHES)


@cache
def class_of(name: str) -> type[Value]:
    """Return the class `name`, which is in `class_names`."""
    parts = {**PARTS, **BATCHES}
    if name in parts:
        model: type[WireModel] = parts[name]
        base: type[Value] = Value
    else:
        model = OPERATIONS[snake_case(name[0].lower() + name[1:])]
        base = Edit
    body = {"model": model, "__doc__": _DOCSTRINGS.get(name, model.__doc__), "__module__": "mdplan.edits"}
    made: type[Value] = type(name, (base,), body)
    made.__signature__ = Signature(parameters(made))
    return made


def parameters(kind: type[Value]) -> list[Parameter]:
    """Return the constructor parameters of `kind`, required ones first, annotated as in the model.

    `section` and, if an edit has a destination, `to` take a `Section` or one heading.
    """
    fields = kind.model.model_fields
    place = Parameter.KEYWORD_ONLY
    made = []
    for name, field in fields.items():
        if name != "op":
            default = Parameter.empty if field.is_required() else None
            is_part = kind.model in PARTS.values()
            is_positional = is_part or (field.is_required() and not issubclass(kind, Edit))
            how = Parameter.POSITIONAL_OR_KEYWORD if is_positional else place
            python_name = snake_case(field.alias or name)
            made.append(Parameter(python_name, how, default=default, annotation=field.annotation))
    made += [
        Parameter(name, place, default=None, annotation=SectionAddress | str | None)
        for name in _sections(kind)
    ]
    return sorted(made, key=lambda each: each.default is not Parameter.empty)


def _sections(kind: type[Value]) -> dict[str, str]:
    """Return the members of `_SECTIONS` that the constructor of `kind` takes; a field of that name wins."""
    known = kind.model.model_fields
    return {
        name: prefix
        for name, prefix in _SECTIONS.items()
        if name not in known and (f"{prefix}_heading_path" if prefix else "heading_path") in known
    }


def _positional(kind: type[Value], positional: tuple[object, ...]) -> list[str]:
    names = [each.name for each in parameters(kind) if each.kind is not Parameter.KEYWORD_ONLY]
    if len(positional) > len(names):
        takes = f"{len(names)} positional arguments" if names else "keyword arguments alone"
        raise TypeError(f"{kind.__name__}() takes {takes}")
    return names


def _fields(kind: type[Value], given: Mapping[str, object]) -> dict[str, Any]:
    """Return the JSON object for the arguments `given`, after reading it as the engine does."""
    known = {each.name: each for each in parameters(kind)}
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known)}"
            raise TypeError(f"{kind.__name__}() has no argument {name!r}; {hint}")
    missing = [name for name, each in known.items() if each.default is Parameter.empty and name not in given]
    if missing:
        raise TypeError(f"{kind.__name__}() needs {' and '.join(map(repr, missing))}")
    fields: dict[str, Any] = {}
    if issubclass(kind, Edit):
        fields["op"] = snake_case(kind.__name__[0].lower() + kind.__name__[1:])
    sections = _sections(kind)
    for name, value in given.items():
        if value is None and name not in _NULLABLE:
            continue
        if name in sections:
            section = value if isinstance(value, SectionAddress) else SectionAddress(str(value))
            address = section.fields(sections[name])
            twice = sorted(_ADDRESS_NAMES[sections[name]] & {key for key in given if given[key] is not None})
            if twice:
                raise TypeError(f"{kind.__name__}() takes {name!r} or {twice[0]!r}, and not both")
            fields |= address
        else:
            fields[camel_case(name)] = _json(value)
    found = _read(kind, fields)
    if isinstance(found, tuple):
        raise Refused(*found)
    return fields


def _read(kind: type[Value], fields: Mapping[str, Any]) -> object:
    """Return `fields` as the engine reads them, or a tuple of problems."""
    if issubclass(kind, Edit):
        return read_edit(fields)
    # The engine that gets a batch has its own limits.
    return (
        read_batch(fields, _NO_LIMITS)
        if kind.model in BATCHES.values()
        else validated(kind.model, fields, "")
    )


def _json(value: object) -> object:
    """Return `value` as decoded JSON: lists for tuples, and sorted lists for sets.

    Raises `TypeError` for a set of values that cannot be compared.
    """
    if isinstance(value, Mapping) and not isinstance(value, Value):
        return {name: _json(item) for name, item in value.items()}
    if isinstance(value, set | frozenset):
        try:
            return sorted(value)
        except TypeError:
            raise TypeError(f"{value!r} has no order: give a list") from None
    if isinstance(value, list | tuple):
        return [_json(item) for item in value]
    return value


def _restored(name: str, fields: Mapping[str, Any]) -> Value:
    """Return an unpickled edit, unchecked."""
    kind = class_of(name)
    made = kind.__new__(kind)
    dict.update(made, fields)
    return made


# --- The address of a section, as an argument of an edit.


@dataclass(frozen=True)
class SectionAddress:
    """A section by headings, ID or anchor; `sha256` makes the edit fail if the section has changed.

    `headings` go from outer to inner and may omit outer ones; `occurrence` (1-based) selects among equal
    sections. `id` is a section ID or at least 8 of its digits; `anchor` is the GitHub anchor without ``#``.
    Raise `TypeError` unless exactly one address is given.

    >>> from mdplan import edits
    >>> dict(edits.DeleteSection(section=edits.Section("Install", "Linux")))
    {'op': 'delete_section', 'headingPath': ['Install', 'Linux']}
    """

    headings: tuple[str, ...]
    id: str | None
    anchor: str | None
    occurrence: int | None
    sha256: str | None

    def __init__(
        self,
        *headings: str,
        id: str | None = None,  # noqa: A002 (what it is called everywhere)
        anchor: str | None = None,
        occurrence: int | None = None,
        sha256: str | None = None,
    ) -> None:
        if sum(map(bool, (headings, id, anchor))) != 1:
            raise TypeError("Section() takes one address: headings, id or anchor")
        for name, value in (
            ("headings", headings),
            ("id", id),
            ("anchor", anchor),
            ("occurrence", occurrence),
            ("sha256", sha256),
        ):
            object.__setattr__(self, name, value)

    def fields(self, prefix: str = "") -> Mapping[str, Any]:
        """Return the JSON fields that name this section in an edit; `prefix` is ``to`` for a destination.

        Raises `TypeError` for a destination that is not named by its path or ID only.
        """
        if prefix and (self.anchor or self.occurrence or self.sha256):
            raise TypeError("a destination is a Section of headings or an id, and nothing else")
        if len(self.headings) == 1 and not prefix:
            address: dict[str, Any] = {"heading": self.headings[0]}
        elif self.headings:
            address = {"heading_path": list(self.headings)}
        else:
            address = {"anchor": self.anchor} if self.anchor else {"section_id": self.id}
        guards = {"occurrence": self.occurrence, "section_sha256": self.sha256}
        given = address | {name: value for name, value in guards.items() if value is not None}
        return {camel_case(f"{prefix}_{name}" if prefix else name): value for name, value in given.items()}
