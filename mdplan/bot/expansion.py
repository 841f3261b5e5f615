"""Expand the edits of a manifest for a file: loops, placeholders, snippets, YAML with positions.

There are two kinds of loop. Among edits, ``{forEach, as, edits}`` repeats edits for each entry of a list. In
place of a text, ``{forEach, as, text, between, before, after}`` repeats text: rows of a table, items,
sections.
"""

import datetime as dt
import json
import posixpath
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, TypeAlias, Union, get_args, get_origin
from urllib.parse import quote

from mdplan.data.tree import DataError, Kind, Node, Opaque, Plain, Unnamed, plain_text, spelled
from mdplan.diagnostics import Code, Diagnostic
from mdplan.field_names import EDIT_SYNONYMS, camel_case
from mdplan.limits import RESULT_CHARACTERS, RESULT_LINES
from mdplan.markdown.headings import heading_slug
from mdplan.markdown.outline import Outline
from mdplan.markdown.table_edits import cell_source, has_line_end
from mdplan.requests.spellings import op_of, operation_named
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import LineIndex, Position, lines_of, to_lf
from mdplan.text.visible import longer_than_runs, nearest_names, visible
from mdplan.values import Struct, replace
from mdplan.words import Option, say

LOOP: Final = "forEach"

# Edit fields for the bot, which are not part of the operation.
ONLY_IF_CHANGED: Final = "onlyIfChanged"
AT: Final = "at"
ABOUT_EDITS: Final = frozenset({"comment", ONLY_IF_CHANGED, AT})
DEFAULT_NAME: Final = "item"
_MOST_EDITS: Final = 100_000


# Field names and 0-based list indexes from the root of a manifest.
Path: TypeAlias = tuple[str | int, ...]


class FilledEdit(Struct):
    """An edit in batch form, and its path in the manifest.

    `only_if_changed`: apply only if another edit changes the file. `at` names its section.
    """

    edit: Mapping[str, Any]
    path: Path
    only_if_changed: bool = False
    at: str | None = None


class ManifestProblem(Exception):  # noqa: N818 (it is no error of the program)
    """A problem and, once known, its path in the manifest."""

    def __init__(self, problem: Diagnostic, path: Path = ()) -> None:
        super().__init__(problem.message)
        self.problem, self.path = problem, path

    @classmethod
    def of(cls, message: str, hint: str, path: Path = ()) -> "ManifestProblem":
        """Create a problem with INVALID_ARGUMENT."""
        return cls(Diagnostic.invalid(message, hint), path)


@contextmanager
def placed(path: Path) -> Iterator[None]:
    """Set `path` on a `ManifestProblem` raised in the block, if it has none."""
    try:
        yield
    except ManifestProblem as problem:
        raise ManifestProblem(problem.problem, problem.path or path) from None


class Values(Struct):
    """Decoded JSON values by the first element of their name.

    `turns` is the total number of iterations of all enclosing loops.
    """

    known: Mapping[str, Any]
    turns: int = 1

    def having(self, **more: Any) -> "Values":  # noqa: ANN401 (any JSON)
        """Return these values shadowed by `more`."""
        return replace(self, known={**self.known, **more})

    def find(self, name: str) -> Any:  # noqa: ANN401 (any JSON)
        """Return the value of `name`, with its own placeholders filled in. Raise `ManifestProblem`."""
        value = self.written(name)
        return filled(value, self) if isinstance(value, Template) else value

    def written(self, name: str) -> Any:  # noqa: ANN401 (any JSON)
        """Return the value of `name` verbatim. Raise `ManifestProblem`."""
        value: Any = self.known
        parts, depth = name.split("."), 0
        while depth < len(parts):
            part, end = parts[depth], depth + 1
            if isinstance(value, Mapping):
                # A key may have dots itself, as `ms.date`.
                names = [".".join(parts[depth:to]) for to in range(end, len(parts) + 1)]
                named = next((each for each in names if each in value), None)
                if named is None:
                    raise _unknown(name, depth, value)
                value, end = value[named], end + names.index(named)
            elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
                value = value[int(part)]
            else:
                raise _unknown(name, depth, value)
            depth = end
        return value


def expand_edits(edits: Sequence[Any], values: Values, path: Path) -> Iterator[FilledEdit | ManifestProblem]:
    """Yield the edits at `path` of a manifest, filled in from `values`, and all problems."""
    for number, edit in enumerate(_edits(edits, values, path)):
        if number == _MOST_EDITS:
            yield _too_much(f"there are more than {_MOST_EDITS} edits", path)
            return
        yield edit


def filled_in(value: Any, values: Values, path: Path) -> Any:  # noqa: ANN401 (any JSON)
    """Return `value`, decoded JSON at `path`, with placeholders and text loops expanded.

    Raise `ManifestProblem`.
    """
    match value:
        case str():
            if _OPENING not in value:
                return value
            with placed(path):
                return filled(value, values)
        case Mapping() if is_text_loop(value):
            return _looped_text(value, values, path)
        case Mapping():
            return {name: filled_in(part, values, (*path, name)) for name, part in value.items()}
        case list() | tuple():
            return [filled_in(item, values, (*path, index)) for index, item in enumerate(value)]
        case _:
            return value


def is_edit_loop(edit: object) -> bool:
    """Return True if `edit` is a loop over edits."""
    return isinstance(edit, Mapping) and LOOP in edit and "edits" in edit


def is_text_loop(value: object) -> bool:
    """Return True if `value` is a text loop."""
    return isinstance(value, Mapping) and LOOP in value and "text" in value


def _edits(edits: Sequence[Any], values: Values, path: Path) -> Iterator[FilledEdit | ManifestProblem]:
    for index, edit in enumerate(edits):
        here = (*path, index)
        try:
            if is_edit_loop(edit):
                for inner in loop_entries(edit, values, here):
                    yield from _edits(edit["edits"], inner, (*here, "edits"))
                continue
            written = {name: value for name, value in edit.items() if name not in ABOUT_EDITS}
            texts = with_texts(filled_in(written, values, here), written)
        except ManifestProblem as problem:
            yield problem
        else:
            yield FilledEdit(texts, here, edit.get(ONLY_IF_CHANGED) is True, edit.get(AT))


def _looped_text(loop: Mapping[str, Any], values: Values, path: Path) -> str:
    entries = loop_entries(loop, values, path)
    around = [filled_in(loop.get(name, ""), values, (*path, name)) for name in ("before", "between", "after")]
    texts = list[str]()
    room = RESULT_CHARACTERS
    for text in (*around, *(filled_in(loop["text"], inner, (*path, "text")) for inner in entries)):
        written = plain_text(text) if isinstance(text, bool | int | float) else text
        if not isinstance(written, str):
            message = "a loop makes a text of a value that is not text"
            raise ManifestProblem.of(message, "write more than the placeholder", path)
        texts.append(written)
        room -= len(written) + (len(texts[1]) if len(texts) > len(around) else 0)
        if room < 0:
            raise _too_much(f"the text of a loop has more than {RESULT_CHARACTERS} characters", path)
    before, between, after, *entered = texts
    return before + between.join(entered) + after if entered else ""


def loop_entries(loop: Mapping[str, Any], values: Values, path: Path) -> list[Values]:
    """Return the values for each iteration of `loop`."""
    with placed((*path, LOOP)):
        entries = values.find(str(loop[LOOP]))
        if not isinstance(entries, list):
            raise ManifestProblem.of(f"`{loop[LOOP]}` is not a list", "a loop takes the entries of a list")
    turns = values.turns * len(entries)
    if turns > RESULT_LINES:
        raise _too_much(f"loops in each other have more than {RESULT_LINES} entries", path)
    name = str(loop.get("as", DEFAULT_NAME))
    return [Values({**values.known, name: entry}, turns) for entry in entries]


def _too_much(message: str, path: Path) -> ManifestProblem:
    return ManifestProblem.of(message, "make a manifest of a part", path)


# --- Placeholders: ``{{name}}`` in a manifest stands for a value, ``{{{{`` for two braces
#
# They are strict: unknown names and unclosed braces are errors. A text that is only a placeholder becomes its
# value, of any type; inside other text, and in fields for text (see `with_texts`), it must be a text, number
# or boolean. Filters follow the name.

_OPENING: Final = "{{"
_LITERAL: Final = "{{{{"
_PLACEHOLDER: Final = lazy_pattern(r"\{\{[ \t]*([^\s{}|]+)((?:[ \t]*\|[^{}|]+)*)[ \t]*\}\}")
_PIECE: Final = lazy_pattern(r"\{\{\{\{|\{\{")
_SHOWN: Final = 60

# The first parts of names, with what they stand for.
PLACEHOLDERS: Final[Mapping[str, str]] = {
    "vars": "Variable of the manifest or of `--var`; its text can have placeholders, but no other variable.",
    "data": "File of `data` or of `--data`; a row of CSV is a map.",
    "env": "Environment variable that `--env NAME` allows.",
    "today": "Date of the run, as 2026-01-31.",
    "path": "Path of the file, from the root.",
    "folder": "Its folder.",
    "name": "Its name.",
    "stem": "Its name without suffix.",
    "title": "`title` of its front matter, else its first heading.",
    "frontMatter": "Value of its front matter.",
    "sections": "List of its headings: `title`, `level` and `anchor`.",
    "pages": "Page of `pages` as it was before the run; for a glob, a list.",
    "git": "History of the file: `changed`, `created`, `authors` and `tag`; commits of the bot do not count.",
}

# Names whose values are known before any file.
_SHARED: Final = frozenset({"vars", "data", "env", "today"})
OF_FILES: Final = frozenset(PLACEHOLDERS) - _SHARED

# Names that a variable may use; any other braces in it are text.
_OF_VARIABLES: Final = lazy_pattern(rf"\{{\{{[ \t]*(?:{'|'.join(PLACEHOLDERS)})\b")


class Template(str):
    """A variable with placeholders, which are filled in where it is used."""

    __slots__ = ()


def with_templates(value: Any) -> Any:  # noqa: ANN401 (any JSON)
    """Return `value` of a variable with its texts that have placeholders marked."""
    return with_leaves(
        value, lambda leaf: Template(leaf) if isinstance(leaf, str) and _OF_VARIABLES.search(leaf) else leaf
    )


def with_leaves(value: Any, change: Callable[[Any], Any]) -> Any:  # noqa: ANN401 (any JSON)
    """Return decoded JSON with each value that is no map and no list replaced by what `change` returns."""
    match value:
        case Mapping():
            return {name: with_leaves(part, change) for name, part in value.items()}
        case list() | tuple():
            return [with_leaves(item, change) for item in value]
        case _:
            return change(value)


def parts_of(value: object) -> Iterator[object]:
    """Yield decoded JSON and all values in it."""
    yield value
    if isinstance(value, Mapping | list | tuple):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from parts_of(part)


def templates_in(value: object) -> Iterator[Template]:
    """Yield the templates in `value`, decoded JSON."""
    return (part for part in parts_of(value) if isinstance(part, Template))


class Placeholder(Struct):
    """A name and the filters for its value, each with the text after its colon."""

    name: str
    filters: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        written = (f"{name}: {argument}".removesuffix(": ") for name, argument in self.filters)
        return f"{{{{{' | '.join((self.name, *written))}}}}}"

    @property
    def has_default(self) -> bool:
        """True if a filter provides a default."""
        return any(name == DEFAULT for name, _ in self.filters)

    def value(self, values: Values) -> Any:  # noqa: ANN401 (any JSON)
        """Return its value. Raise `ManifestProblem`."""
        try:
            value = values.find(self.name)
        except ManifestProblem:
            if not self.has_default:
                raise
            value = None
        for name, argument in self.filters:
            if name not in _OF_ANY_VALUE:
                value = _text(value, name)
            # A link depends on the page that is edited.
            given = str(values.known.get("folder") or "") if name == LINK else argument
            value = FILTERS[name](value, given)
        return value


def pieces(text: str) -> list[str | Placeholder]:
    """Split `text` into literals and placeholders. Raise `ManifestProblem` for unclosed ones."""
    parts: list[str | Placeholder] = []
    at = 0
    while opening := _PIECE.search(text, at):
        parts.append(text[at : opening.start()])
        if opening[0] == _LITERAL:
            parts.append(_OPENING)
            at = opening.end()
            continue
        placeholder = _PLACEHOLDER.match(text, opening.start())
        if placeholder is None:
            raise ManifestProblem.of(
                f"`{_short(text[opening.start() :])}` does not begin a valid placeholder",
                "write `{{name}}`, or `{{{{` for two braces",
            )
        if "[" in placeholder[1]:
            raise ManifestProblem.of(
                f"`{_short(placeholder[1])}` has a bracket", "names have dots only: `data.rows.0.name`"
            )
        filters = tuple(map(read_filter, placeholder[2].split("|")[1:]))
        parts.append(Placeholder(placeholder[1], filters))
        at = placeholder.end()
    parts.append(text[at:])
    return [part for part in parts if part]


def placeholders_in(text: str) -> tuple[Placeholder, ...]:
    """Return the placeholders in `text`. Raise `ManifestProblem`."""
    return tuple(part for part in pieces(text) if isinstance(part, Placeholder))


def is_to_fill(value: object) -> bool:
    """Return True if `value`, decoded JSON, has a text loop or opening braces."""
    return any(is_text_loop(part) or (isinstance(part, str) and _OPENING in part) for part in parts_of(value))


def filled(text: str, values: Values) -> Any:  # noqa: ANN401 (any JSON)
    """Return `text` with placeholders filled in, or the value if it is only one placeholder.

    Raise `ManifestProblem`.
    """
    if _OPENING not in text:
        return text
    parts = pieces(text)
    if len(parts) == 1 and isinstance(parts[0], Placeholder):
        return parts[0].value(values)
    return "".join(part if isinstance(part, str) else _as_text(part, values) for part in parts)


def filled_text(
    template: str, values: Values, noun: str = "text", hint: str = "write more than the placeholder"
) -> str:
    """Return `template` with placeholders filled in. Raise `ManifestProblem` unless it is text."""
    value = filled(template, values)
    if not isinstance(value, str):
        raise ManifestProblem.of(f"a {noun} is needed here", hint)
    return value


def _as_text(placeholder: Placeholder, values: Values) -> str:
    value = placeholder.value(values)
    if value is not None and not isinstance(value, list | Mapping):
        return _text(value, "")
    kind = "nothing" if value is None else "a list" if isinstance(value, list) else "a map"
    raise ManifestProblem.of(
        f"`{_short(placeholder.name)}` is {kind}, which is no part of a text",
        "name a part of it; a loop (`forEach`) takes the entries of a list",
    )


def _unknown(name: str, depth: int, value: object) -> ManifestProblem:
    """Return why `value` has no element `name` at `depth`."""
    *above, part = name.split(".")[: depth + 1]
    where = f"`{_short('.'.join(above))}` has no" if above else "there is no"
    if isinstance(value, list):
        return ManifestProblem.of(
            f"{where} entry `{_short(part)}`", f"it has {len(value)} entries, counted from 0"
        )
    if not isinstance(value, Mapping):
        return ManifestProblem.of(
            f"{where} part `{_short(part)}`: it is neither a map nor a list", "name the value itself"
        )
    near = nearest_names(part, map(str, value))
    known: Sequence[str] = near or sorted(value)[:10]
    listed = ", ".join(f"`{_short(each)}`" for each in known)
    hint = (f"did you mean {listed}?" if near else f"it has {listed}") if known else "it is empty"
    if above == ["env"]:
        hint = say("allow it with {}", Option(f"--env {_short(part)}"))
    return ManifestProblem.of(f"{where} value `{_short(part)}`", hint)


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


# --- Filters: ``{{row.name | default: none | cell}}``, applied from left to right

DEFAULT: Final = "default"
LINK: Final = "link"
_LINE_END: Final = "\r\n"


def read_filter(text: str) -> tuple[str, str]:
    """Parse the filter ``name`` or ``name: argument``. Raise `ManifestProblem` for an unknown name."""
    name, _, argument = text.partition(":")
    name, argument = name.strip(), argument.strip()
    if name not in FILTERS:
        near = nearest_names(name, FILTERS)
        known = ", ".join(f"`{each}`" for each in near or FILTERS)
        raise ManifestProblem.of(
            f"there is no filter `{name[:60]}`", f"did you mean {known}?" if near else f"filters are {known}"
        )
    if len(argument) > 1 and argument[0] == argument[-1] and argument[0] in "\"'":
        argument = argument[1:-1]
    return name, argument


def _default(value: Any, argument: str) -> Any:  # noqa: ANN401 (any JSON)
    """Return `argument` in place of null, an empty text or a missing value."""
    return argument if value is None or value == "" else value


def _cell(text: str, _argument: str) -> str:
    """Return a value as table cell: pipes escaped, ``<br>`` for newlines."""
    return cell_source("<br>".join(lines_of(to_lf(text))) if has_line_end(text) else text)


def _escape(text: str, _argument: str) -> str:
    """Return a text as Markdown that shows it as it is."""
    return _SPECIAL.sub(r"\\\g<0>", text)


_SPECIAL: Final = lazy_pattern(r"[\\`*_\[\]<>|~&$#]")


def _json(text: str, _argument: str) -> Any:  # noqa: ANN401 (any JSON)
    """Return the value that a text is in JSON: a number, true or false, a list, a map."""
    try:
        return json.loads(text)
    except ValueError:
        raise ManifestProblem.of(
            f"`{_short(text)}` is not JSON", "the filter `json` takes true, 3, a quoted text or a list"
        ) from None


def _slug(text: str, _argument: str) -> str:
    """Return GitHub's anchor for a heading with this title."""
    return heading_slug(text)


def _code(text: str, argument: str) -> str:
    """Return a text as code block in the language `argument`, with a safe fence."""
    fence = "`" * max(3, longer_than_runs(text))
    return f"{fence}{argument}\n{text.rstrip(_LINE_END)}\n{fence}"


def _date(value: Any, argument: str) -> str:  # noqa: ANN401 (any JSON)
    """Format an ISO 8601 date or time by the `strftime` format `argument`."""
    try:
        return dt.datetime.fromisoformat(str(value)).strftime(argument or "%Y-%m-%d")
    except ValueError:
        raise ManifestProblem.of(
            f"`{str(value)[:60]}` is not a date", "the filter `date` takes dates such as 2026-11-23"
        ) from None


def _link(text: str, folder: str) -> str:
    """Return the path of a page as the destination of a link on the page that is edited, in `folder`."""
    return quote(posixpath.relpath(text, folder or "."))


def _text(value: Any, name: str) -> str:  # noqa: ANN401 (any JSON)
    if value is None or isinstance(value, str | bool | int | float):
        return "" if value is None else plain_text(value)
    raise ManifestProblem.of(
        f"the filter `{name}` takes a text, and this is a list or a map", "name a part of it"
    )


FILTERS: Final[Mapping[str, Callable[[Any, str], Any]]] = {
    DEFAULT: _default,
    "cell": _cell,
    "code": _code,
    "date": _date,
    "escape": _escape,
    "json": _json,
    LINK: _link,
    "slug": _slug,
}
_OF_ANY_VALUE: Final = frozenset({DEFAULT, "date"})


# --- Numbers and booleans in text fields
#
# A text that is only a placeholder becomes its value, so that a front matter key can be a number. Cells,
# headings and payloads hold only text, so there the value is converted.

_LISTS: Final = frozenset({tuple, list})
_MAPS: Final = frozenset({dict, Mapping})


def with_texts(filled: Mapping[str, Any], written: Mapping[str, Any]) -> dict[str, Any]:
    """Return the edit `filled`, made from `written`, with data converted to text in text fields.

    The request reader refuses wrong types that the manifest itself contains.
    """
    model = operation_named(op_of(filled))
    if model is None:
        return dict(filled)
    fitted = {
        name: _fitted(value, written.get(name), _of_field(model, name)) for name, value in filled.items()
    }
    return _with_spellings(fitted, filled) if "numbers" in model.model_fields else fitted


def _with_spellings(edit: dict[str, Any], filled: Mapping[str, Any]) -> dict[str, Any]:
    """Return `edit` with numbers spelled as in `filled`."""
    many = filled.get("values")
    pairs = many.items() if isinstance(many, Mapping) else [(filled.get("key"), filled.get("value"))]
    texts = {
        key: str(value)
        for key, value in pairs
        if isinstance(key, str) and isinstance(value, Plain) and isinstance(spelled(value), float)
    }
    if not texts:
        return edit
    new = {"values": {**many, **texts}} if isinstance(many, Mapping) else {"value": texts[filled["key"]]}
    return {**edit, **new, "numbers": [*(edit.get("numbers") or ()), *texts]}


def _fitted(value: Any, written: object, wanted: tuple[Any, ...]) -> Any:  # noqa: ANN401 (any JSON)
    """Convert `value`, expanded from `written`, to one of the types `wanted`."""
    # Only a placeholder changes a text's type; everything in it is data.
    is_data = isinstance(written, str)
    match value:
        case Plain():
            return value if _takes_text(wanted) else value.typed
        case bool() | int() | float():
            return plain_text(value) if is_data and _takes_text(wanted) else value
        case Mapping():
            below = written if isinstance(written, Mapping) else {}
            return {
                name: _fitted(part, written if is_data else below.get(name), _below(wanted, name))
                for name, part in value.items()
            }
        case list():
            items = written if isinstance(written, Sequence) and not is_data else ()
            inner = _below(wanted, 0)
            return [
                _fitted(part, written if is_data else items[index] if index < len(items) else None, inner)
                for index, part in enumerate(value)
            ]
        case _:
            return value


def _takes_text(wanted: tuple[Any, ...]) -> bool:
    """Return True if `wanted` includes text but no number; a path of texts counts as text."""
    plain = {str if each == tuple[str, ...] else each for each in wanted}
    return str in plain and not plain & {int, float, bool, Any}


@cache
def _of_field(model: type[Any], name: str) -> tuple[Any, ...]:
    """Return the types of the field `name` of `model`, in any spelling."""
    camel = camel_case(name)
    names = {camel, EDIT_SYNONYMS.get(camel, camel)}
    for own, declared in model.model_fields.items():
        if (declared.alias or own) in names:
            return _types(declared.annotation)
    return ()


def _below(wanted: tuple[Any, ...], part: str | int) -> tuple[Any, ...]:
    """Return the types of the element `part`, a name or index, in a value of one of `wanted`."""
    types: list[Any] = []
    for each in wanted:
        origin = get_origin(each)
        if isinstance(part, str) and hasattr(each, "model_fields"):
            types += _of_field(each, part)
        elif isinstance(part, str) and origin in _MAPS:
            types += _types(get_args(each)[1])
        elif isinstance(part, int) and origin in _LISTS:
            types += _types(get_args(each)[0])
    return tuple(types)


def _types(annotation: Any) -> tuple[Any, ...]:  # noqa: ANN401 (any type)
    """Return the members of a union, without None and annotations."""
    if get_origin(annotation) in {Union, UnionType}:
        return tuple(each for member in get_args(annotation) for each in _types(member))
    if hasattr(annotation, "__metadata__"):
        return _types(annotation.__origin__)
    return () if annotation is NoneType else (annotation,)


# --- Snippets: parts of source files between tags in comments, as in documentation tools

# A pseudo name for the whole file.
ALL: Final = "*"
_NAME: Final = r"[\w.-]+"
_FRAGMENT: Final = lazy_pattern(r"(.+)#([\w-]+|\*)", re.DOTALL)

# In order: our own and AWS, Google, mdBook, Visual Studio.
_STARTS: Final = lazy_pattern(
    rf"\W*(?:snippet[:-]start[: ]\s*\[?({_NAME})\]?|\[START ({_NAME})\]|ANCHOR: *({_NAME})"
    rf"|#region ({_NAME}))\W*"
)

_ENDS: Final = lazy_pattern(
    rf"\W*(?:snippet[:-]end(?:[: ]\s*\[?({_NAME})\]?)?|\[END ({_NAME})\]|ANCHOR_END: *({_NAME})"
    rf"|#?endregion(?: ({_NAME}))?)\W*"
)

_HINT: Final = "put it between `snippet:start NAME` and `snippet:end`, each in a comment on a separate line"


def split_name(name: str) -> tuple[str, str | None]:
    """Split ``FILE#SNIPPET`` into file and snippet, or None."""
    fragment = _FRAGMENT.fullmatch(name)
    return (fragment[1], fragment[2]) if fragment else (name, None)


def read_snippets(text: str, file: str) -> dict[str, str]:
    """Return the snippets in `text` by name, without common indentation and tag lines.

    Raise `ManifestProblem` for duplicate, unclosed or unopened snippets.
    """
    done: dict[str, str] = {}
    pending: dict[str, list[str]] = {}
    for number, line in enumerate(lines_of(to_lf(text)), 1):
        if started := _STARTS.fullmatch(line):
            name = next(filter(None, started.groups()))
            if name in done or name in pending:
                raise _problem(f"the snippet `{name}` begins again in line {number}", file)
            pending[name] = []
        elif ended := _ENDS.fullmatch(line):
            name = next(filter(None, ended.groups()), next(reversed(pending), ""))
            if name not in pending:
                raise _problem(f"the snippet that ends in line {number} has no start", file)
            done[name] = textwrap.dedent("\n".join(pending.pop(name)))
        else:
            for inside in pending.values():
                inside.append(line)
    for name in pending:
        raise _problem(f"the snippet `{name}` has no end", file)
    return done


def read_snippet(text: str, name: str, file: str) -> str | list[dict[str, str]]:
    """Return the snippet `name`; for `*` all of them as maps of `name` and `text`.

    Raise `ManifestProblem`, also for an unknown name.
    """
    snippets = read_snippets(text, file)
    if name == ALL:
        return [{"name": known, "text": part} for known, part in snippets.items()]
    if name in snippets:
        return snippets[name]
    known = ", ".join(f"`{other}`" for other in list(snippets)[:10])
    raise _problem(f"there is no snippet `{name}`" + (f", only {known}" if known else ""), file)


def _problem(reason: str, file: str) -> ManifestProblem:
    return ManifestProblem.of(f"in `{visible(file)}` {reason}", _HINT)


# --- Sections that a manifest names by role, because headings differ between pages


class PagePlace(StrEnum):
    """The values of `at` in an edit of a manifest."""

    FIRST_H1 = "first H1"
    TOP_OF_BODY = "top of body"
    BELOW_TITLE = "below title"
    LAST_SECTION = "last section"


def address_of(place: PagePlace, outline: Outline) -> Mapping[str, Any] | Diagnostic:
    """Return the address of `place` as fields of an edit. Errors: SECTION_NOT_FOUND where it is missing.

    A heading inside a container, such as `:::note`, is neither the title of a page nor one of its sections.
    """
    boxes = [(first.start, last.start) for first, last in outline.enclosures.pairs]
    headed = [
        each
        for each in outline.sections
        if each.heading is not None and not any(start < each.heading_start < end for start, end in boxes)
    ]
    section = next((each for each in headed if each.level == 1), None)
    if place is PagePlace.LAST_SECTION:
        # The title is around the others, where it is the only heading of its level.
        is_title = sum(each.level == 1 for each in headed) == 1
        below = [each for each in headed if not (is_title and each is section)]
        least = min((each.level for each in below), default=0)
        section = next((each for each in reversed(below) if each.level == least), None)
    if section is not None and place is not PagePlace.TOP_OF_BODY:
        return {"sectionId": str(section.section_id)}
    if place in {PagePlace.TOP_OF_BODY, PagePlace.BELOW_TITLE}:
        return {"headingPath": []}
    missing = "heading of level 1" if place is PagePlace.FIRST_H1 else "section below its title"
    return Code.SECTION_NOT_FOUND.problem(
        f"the page has no {missing}",
        "use `at: below title`: the first H1, or the top of the body of a page without one",
    )


# --- Parsing a manifest with positions
#
# YAML may have JSON values only: texts, numbers, true, false, null, lists and maps. Dates are texts, and so
# are `yes`, `1.10` and the like: they keep their spelling, with the value that they would have in a page.

_SCHEMA_HINT: Final = say("see {mdplan schema manifest} for what belongs there")
MAX_CHARACTERS: Final = 16 * 1024 * 1024
_MOST_DEPTH: Final = 100
_CAPITALS: Final = frozenset({"True", "TRUE", "False", "FALSE"})


class SourceMap(Struct):
    """Decoded `data`, and positions by path: of field names and list entries."""

    data: Any
    places: Mapping[Path, Position]

    def place(self, path: Path) -> Position:
        """Return the position of the value at `path`, or of its nearest existing parent."""
        while path not in self.places:
            path = path[:-1]
        return self.places[path]


def read_source_map(
    text: str, name: str, what: str = "the manifest", hint: str = _SCHEMA_HINT
) -> SourceMap | Diagnostic:
    """Parse `text` as JSON, if `name` says so, else as YAML.

    Errors: INVALID_ARGUMENT, with `what` naming the text and a `hint` on its format.
    """
    from mdplan.data.brackets import read_json
    from mdplan.data.yaml import read_yaml

    def refused(reason: str, place: Position | None = None, advice: str = "") -> Diagnostic:
        return Diagnostic.invalid(f"{what} {reason}", advice or hint, file=name, place=place)

    if len(text) > MAX_CHARACTERS:
        return refused(f"has more than {MAX_CHARACTERS} characters")
    lines, is_json = LineIndex(text), name.lower().endswith(".json")
    try:
        if is_json:
            # It is strict, and says what is wrong.
            json.loads(text)
        root = read_json(text) if is_json else read_yaml(text, lines)
        return refused("is empty") if root is None else _source_map(root, text, lines)
    except json.JSONDecodeError as error:
        return refused(f"is not JSON: {error.msg}", Position(error.lineno, error.colno))
    except DataError as error:
        known = _yaml_mistake(text) if error.__cause__ or "alias" in error.reason else None
        found = known or (error.reason.removeprefix("it "), lines.position(error.offset or 0))
        return refused(*found)
    except (RecursionError, ValueError):
        return refused("is not JSON: it is too deep, or a number in it too long")


def _source_map(root: Node, text: str, lines: LineIndex) -> SourceMap:
    places: dict[Path, Position] = {(): lines.position(root.start)}

    def value(node: Node, path: Path) -> Any:  # noqa: ANN401 (any JSON)
        if len(path) > _MOST_DEPTH:
            raise DataError("is too deep", node.start)
        if node.kind is Kind.SCALAR:
            return _scalar(node, text)
        if node.value is not None:
            raise DataError("has a tag, which nothing here understands", node.start)
        if node.style == "documents":
            raise DataError(f"is not YAML: {SEVERAL}", node.entries[1].start)
        parts: list[tuple[str | int, Any]] = []
        for entry in node.entries:
            name = entry.name
            if isinstance(name, Unnamed) and not name.text:
                raise DataError("has a key that is not text", entry.start)
            if isinstance(name, Unnamed):
                raise DataError(f"has the key `{name.text[:60]}` twice", entry.start)
            places[*path, name] = lines.position(entry.start if entry.key else entry.node.start)
            parts.append((name, value(entry.node, (*path, name))))
        return dict(parts) if node.kind is Kind.MAP else [part for _, part in parts]

    return SourceMap(value(root, ()), places)


def _scalar(node: Node, text: str) -> Any:  # noqa: ANN401 (any JSON)
    written = text[node.start : node.end]
    if isinstance(node.value, Opaque) and written[:1] == "*":
        # A few nested aliases can represent any number of parts.
        raise DataError("uses an alias (`*name`); give the value a name under `vars` instead", node.start)
    if isinstance(node.value, Opaque) and written[:1] == "!":
        raise DataError(f"has a tag (`{written[:60]}`), which nothing here understands", node.start)
    if node.value is None or isinstance(node.value, str):
        return node.value
    if isinstance(node.value, int | float):
        return Plain.of(written.lower() if written in _CAPITALS else written, node.value)
    return written


# --- Common YAML mistakes and corrections

SEVERAL: Final = "a second document begins here"
_QUOTE: Final = "put the text in quotes: '…'"

# PyYAML's message, what is wrong (`^`: where the construct begins), and the correction.
_KNOWN: Final = (
    (r"'\\t' that cannot", "a tab indents this line", "indent with spaces: YAML takes no tabs"),
    (r"quoted scalar: found unexpected end", "^the text that begins here has no closing quote", "close it"),
    (
        r"parsing a flow ",
        "^the bracket that begins here is not closed",
        "close it, or put a comma between two entries",
    ),
    (
        r"found '(?:<block (?:mapping|sequence) start>|-)'",
        "this line is indented differently from the ones before it",
        "indent the fields of one entry alike, with spaces",
    ),
    (
        r"mapping values are not allowed",
        "this `:` cannot be here",
        f"put a space after the `:` of each key; where the `:` belongs to a text, {_QUOTE}",
    ),
    (
        r"could not find expected ':'",
        "^this line has no `:` after its key",
        "write `key: value`; indent the further lines of a text more than its key",
    ),
    (r"that cannot start any token", "no text can begin with this character", _QUOTE),
    (r"\balias\b", "`*` begins an alias here, and nothing has that name", _QUOTE),
)


def _yaml_mistake(text: str) -> tuple[str, Position | None, str] | None:
    """Return the first mistake in `text`, its place and correction, as PyYAML's Python parser finds it."""
    import yaml

    try:
        yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        message = f"{error.context or ''}: {error.problem or ''}"
        known = (each[1:] for each in _KNOWN if re.search(each[0], message))
        reason, hint = next(known, (error.problem or error.context or "it cannot be read", ""))
        mark = error.problem_mark or error.context_mark
        mark = (reason[0] == "^" and error.context_mark) or mark
        place = Position(mark.line + 1, mark.column + 1) if mark is not None else None
        return f"is not YAML: {reason.removeprefix('^')}", place, hint
    except (yaml.YAMLError, RecursionError):
        pass
    return None
