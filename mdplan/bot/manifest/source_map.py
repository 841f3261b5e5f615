"""The text of a manifest as data that knows where in the text it is.

YAML and JSON are read by one way: JSON that `json` accepts is YAML too, so its places are found there.
Of YAML only what JSON can say is read: texts, numbers, true, false, null, lists and maps. A date is a text,
and so is `yes`.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from mdplan.diagnostics import Diagnostic
from mdplan.text.lines import Position

if TYPE_CHECKING:
    from yaml.nodes import MappingNode, Node, ScalarNode

# From the top of a manifest down: names of fields, and 0-based indexes in lists.
Path: TypeAlias = tuple[str | int, ...]

_SCHEMA_HINT: Final = "see `mdplan schema manifest` for what belongs there"
MAX_CHARACTERS: Final = 16 * 1024 * 1024
_MOST_DEPTH: Final = 100
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_MOST_DIGITS: Final = 300
_CONSTANTS: Final[Mapping[str, bool | None]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


@dataclass(frozen=True, slots=True)
class SourceMap:
    """Decoded `data`, and the place of each part of it: of a field its name, of an entry its start."""

    data: Any
    places: Mapping[Path, Position]

    def place(self, path: Path) -> Position:
        """The position of the value at `path`; if it is missing, that of its nearest parent."""
        while path not in self.places:
            path = path[:-1]
        return self.places[path]


class _SyntaxProblem(Exception):  # noqa: N818 (it never leaves this module)
    def __init__(self, reason: str, node: "Node") -> None:
        super().__init__(reason)
        self.reason = reason
        self.place = _start(node)


def read_source_map(
    text: str, name: str, what: str = "the manifest", hint: str = _SCHEMA_HINT
) -> SourceMap | Diagnostic:
    """The data of `text`, which is JSON where `name` ends so, and YAML else.

    Errors: INVALID_ARGUMENT, in which `what` represents the text, with the `hint` on what belongs there.
    """
    located = _read(text, name)
    if not isinstance(located, _Refusal):
        return located
    step = located.hint or hint
    return Diagnostic.invalid(f"{what} {located.reason}", step, file=name, place=located.place)


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Why a text cannot be read, and where; `hint` corrects a mistake that is known."""

    reason: str
    place: Position | None
    hint: str = ""


def _read(text: str, name: str) -> SourceMap | _Refusal:
    if len(text) > MAX_CHARACTERS:
        return _Refusal(f"has more than {MAX_CHARACTERS} characters", None)
    is_json = name.lower().endswith(".json")
    try:
        data = json.loads(text) if is_json else None
    except json.JSONDecodeError as error:
        return _Refusal(f"is not JSON: {error.msg}", Position(error.lineno, error.colno))
    except (RecursionError, ValueError):
        return _Refusal("is not JSON: it is too deep, or a number in it too long", None)
    located = _read_yaml(text.replace("\t", " ") if is_json else text)
    if isinstance(located, _Refusal) or not is_json:
        return located
    # Of escapes YAML has its own idea: only the places are taken from it.
    return SourceMap(data, located.places)


def _read_yaml(text: str) -> SourceMap | _Refusal:
    import yaml

    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        if node is None:
            return _Refusal("is empty", None)
        reader = _Reader(node)
        return SourceMap(reader.value(node, ()), reader.places)
    except _SyntaxProblem as misread:
        return _Refusal(misread.reason, misread.place)
    except yaml.MarkedYAMLError as error:
        from mdplan.bot.manifest.yaml_mistakes import yaml_mistake

        reason, correction, mark = yaml_mistake(error)
        place = Position(mark.line + 1, mark.column + 1) if mark is not None else None
        return _Refusal(f"is not YAML: {reason}", place, correction)
    except yaml.reader.ReaderError as error:
        return _Refusal(f"is not YAML: {error.reason}", None)
    except RecursionError:
        return _Refusal("is not YAML: it is too deep", None)


class _Reader:
    """Values of nodes; `places` grows with them."""

    def __init__(self, top: "Node") -> None:
        self.places: dict[Path, Position] = {(): _start(top)}
        self._seen: set[int] = set()

    def value(self, node: "Node", path: Path) -> Any:  # noqa: ANN401 (any JSON)
        """The value of `node`, which is at `path`. Raises `_SyntaxProblem`."""
        from yaml.nodes import MappingNode, ScalarNode, SequenceNode

        if id(node) in self._seen:
            # A few aliases of aliases represent any number of parts.
            raise _SyntaxProblem("uses an alias (`*name`); give the value a name under `vars` instead", node)
        if len(path) > _MOST_DEPTH:
            raise _SyntaxProblem("is too deep", node)
        self._seen.add(id(node))
        match node:
            case ScalarNode():
                return _scalar(node)
            case SequenceNode():
                for index, item in enumerate(node.value):
                    self.places[*path, index] = _start(item)
                return [self.value(item, (*path, index)) for index, item in enumerate(node.value)]
            case MappingNode():
                return self._map(node, path)
            case _:
                raise _SyntaxProblem("contains something that is not JSON", node)

    def _map(self, node: "MappingNode", path: Path) -> dict[str, Any]:
        from yaml.nodes import ScalarNode

        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, ScalarNode):
                raise _SyntaxProblem("has a key that is not text", key_node)
            key = str(key_node.value)
            if key in found:
                raise _SyntaxProblem(f"has the key `{key[:60]}` twice", key_node)
            self.places[*path, key] = _start(key_node)
            found[key] = self.value(value_node, (*path, key))
        return found


def _scalar(node: "ScalarNode") -> str | float | bool | None:
    text = str(node.value)
    if node.tag not in _RESOLVED:
        raise _SyntaxProblem(f"has a tag (`{node.tag[:60]}`), which nothing here understands", node)
    if node.style is not None:
        return text
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    number = _NUMBER.fullmatch(text)
    if number is None or len(text) > _MOST_DIGITS:
        return text
    return float(text) if number[1] or number[2] else int(text)


_RESOLVED: Final = frozenset(
    f"tag:yaml.org,2002:{kind}"
    for kind in ("str", "int", "float", "bool", "null", "timestamp", "merge", "value")
)


def _start(node: "Node") -> Position:
    return Position(node.start_mark.line + 1, node.start_mark.column + 1)
