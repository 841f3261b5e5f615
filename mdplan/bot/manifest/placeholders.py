"""Placeholders: ``{{name}}`` in a text of a manifest represents a value, ``{{{{`` for two braces.

They are strict: a name that nothing has is an error, and so is an opening that is not closed. A text that is
one placeholder and nothing else is that value, whatever it is; inside other text it must be a text, a
number, true or false. So it must in a field that takes text: see `text_fields`. Filters follow the name:
``{{name | default: none | cell}}``.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mdplan.bot.manifest.filters import DEFAULT, Filter, read_filter
from mdplan.diagnostics import Diagnostic
from mdplan.text.visible import nearest_names

_OPENING: Final = "{{"
_LITERAL: Final = "{{{{"
_PLACEHOLDER: Final = re.compile(r"\{\{[ \t]*([^\s{}|]+)((?:[ \t]*\|[^{}|]+)*)[ \t]*\}\}")
_PIECE: Final = re.compile(r"\{\{\{\{|\{\{")
_SHOWN: Final = 60


# What is known of a file only when it is read.
OF_FILES: Final = frozenset({"path", "name", "stem", "folder", "frontMatter", "git", "sections"})
# Names that a variable of the manifest may use; any other pair of braces in one is text.
_OF_VARIABLES: Final = re.compile(rf"\{{\{{[ \t]*(?:{'|'.join(sorted(OF_FILES))}|vars|env|data)\b")


class Template(str):
    """A variable of the manifest that has placeholders itself: they are filled in where it is used."""

    __slots__ = ()


def with_templates(value: Any) -> Any:  # noqa: ANN401 (any JSON)
    """`value` of a variable that a manifest contains, with its texts that have placeholders marked."""
    match value:
        case str():
            return Template(value) if _OF_VARIABLES.search(value) else value
        case Mapping():
            return {name: with_templates(part) for name, part in value.items()}
        case list() | tuple():
            return [with_templates(item) for item in value]
        case _:
            return value


def templates_in(value: object) -> Iterator[Template]:
    """The templates in `value`, decoded JSON."""
    match value:
        case Template():
            yield value
        case Mapping():
            for part in value.values():
                yield from templates_in(part)
        case list() | tuple():
            for item in value:
                yield from templates_in(item)
        case _:
            pass


@dataclass(frozen=True, slots=True)
class VariableName:
    """A placeholder: its dotted `text`, as it is looked up."""

    text: str

    @property
    def parts(self) -> tuple[str, ...]:
        """Its elements."""
        return tuple(self.text.split("."))


@dataclass(frozen=True, slots=True)
class Values:
    """Values of placeholder names: decoded JSON by the first element of a name."""

    known: Mapping[str, Any]

    def having(self, **more: Any) -> "Values":  # noqa: ANN401 (any JSON)
        """These values and `more`, which shadow values of the same name."""
        return Values({**self.known, **more})

    def find(self, name: VariableName) -> Any | Diagnostic:  # noqa: ANN401 (any JSON)
        """What `name` stands for, with its own placeholders filled in. Errors: INVALID_ARGUMENT."""
        value = self.written(name)
        return filled(value, self) if isinstance(value, Template) else value

    def written(self, name: VariableName) -> Any | Diagnostic:  # noqa: ANN401 (any JSON)
        """What `name` stands for, as it is written. Errors: INVALID_ARGUMENT."""
        value: Any = self.known
        for depth, part in enumerate(name.parts):
            is_index = isinstance(value, list) and part.isdecimal() and int(part) < len(value)
            if isinstance(value, Mapping) and part in value:
                value = value[part]
            elif is_index:
                value = value[int(part)]
            else:
                return _unknown(name, depth, value)
        return value


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A name, and the filters that its value passes through."""

    name: VariableName
    filters: tuple[Filter, ...] = ()

    @property
    def has_default(self) -> bool:
        """Whether it has a value where nothing has the name."""
        return any(each.name == DEFAULT for each in self.filters)

    def value(self, values: Values) -> Any | Diagnostic:  # noqa: ANN401 (any JSON)
        """What it represents. Errors: INVALID_ARGUMENT."""
        value = values.find(self.name)
        if isinstance(value, Diagnostic) and self.has_default:
            value = None
        for each in self.filters:
            if isinstance(value, Diagnostic):
                break
            value = each(value)
        return value


def pieces(text: str) -> Iterator[str | Placeholder] | Diagnostic:
    """`text` as literal texts and placeholders in turn. Errors: INVALID_ARGUMENT for half a placeholder."""
    found: list[str | Placeholder] = []
    at = 0
    while opening := _PIECE.search(text, at):
        found.append(text[at : opening.start()])
        if opening[0] == _LITERAL:
            found.append(_OPENING)
            at = opening.end()
            continue
        placeholder = _PLACEHOLDER.match(text, opening.start())
        if placeholder is None:
            return misuse(
                f"`{_short(text[opening.start() :])}` does not begin a valid placeholder",
                "write `{{name}}`, or `{{{{` for two braces",
            )
        filters = [read_filter(each) for each in placeholder[2].split("|")[1:]]
        unknown = next((each for each in filters if isinstance(each, Diagnostic)), None)
        if unknown is not None:
            return unknown
        known = tuple(each for each in filters if isinstance(each, Filter))
        found.append(Placeholder(VariableName(placeholder[1]), known))
        at = placeholder.end()
    found.append(text[at:])
    return iter([each for each in found if each])


def placeholders_in(text: str) -> tuple[Placeholder, ...] | Diagnostic:
    """The placeholders of `text`."""
    found = pieces(text)
    return (
        found
        if isinstance(found, Diagnostic)
        else tuple(each for each in found if isinstance(each, Placeholder))
    )


def has_placeholder(value: object) -> bool:
    """Whether a text in `value`, decoded JSON, has two braces."""
    match value:
        case str():
            return _OPENING in value
        case list() | tuple():
            return any(map(has_placeholder, value))
        case Mapping():
            return any(map(has_placeholder, value.values()))
        case _:
            return False


def filled(text: str, values: Values) -> Any | Diagnostic:  # noqa: ANN401 (any JSON)
    """`text` with all placeholders filled in; the value itself where it is one placeholder."""
    if _OPENING not in text:
        return text
    found = pieces(text)
    if isinstance(found, Diagnostic):
        return found
    parts = list(found)
    if len(parts) == 1 and isinstance(parts[0], Placeholder):
        return parts[0].value(values)
    texts: list[str] = []
    for part in parts:
        text_or_problem = part if isinstance(part, str) else _as_text(part, values)
        if isinstance(text_or_problem, Diagnostic):
            return text_or_problem
        texts.append(text_or_problem)
    return "".join(texts)


def text_of(value: float) -> str:
    """A number, true or false of JSON as it is written inside a text."""
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def misuse(reason: str, hint: str) -> Diagnostic:
    """INVALID_ARGUMENT for something in a manifest."""
    return Diagnostic.invalid(reason, hint)


def _as_text(placeholder: Placeholder, values: Values) -> str | Diagnostic:
    value = placeholder.value(values)
    match value:
        case Diagnostic() | str():
            return value
        case bool() | int() | float():
            return text_of(value)
        case _:
            kind = "nothing" if value is None else "a list" if isinstance(value, list) else "a map"
            return misuse(
                f"`{_short(placeholder.name.text)}` is {kind}, which is no part of a text",
                "name a part of it; a loop (`forEach`) takes the entries of a list",
            )


def _unknown(name: VariableName, depth: int, found: object) -> Diagnostic:
    part = name.parts[depth]
    where = f"`{_short('.'.join(name.parts[:depth]))}` has no" if depth else "there is no"
    if isinstance(found, list):
        return misuse(f"{where} entry `{_short(part)}`", f"it has {len(found)} entries, counted from 0")
    if not isinstance(found, Mapping):
        return misuse(
            f"{where} part `{_short(part)}`: it is neither a map nor a list", "name the value itself"
        )
    near = nearest_names(part, map(str, found))
    known: Sequence[str] = near or sorted(found)[:10]
    listed = ", ".join(f"`{_short(each)}`" for each in known)
    hint = (f"did you mean {listed}?" if near else f"it has {listed}") if known else "it is empty"
    return misuse(f"{where} value `{_short(part)}`", hint)


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
