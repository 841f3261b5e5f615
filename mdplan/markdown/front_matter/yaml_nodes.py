"""YAML front matter as nodes with places, read with care: front matter is written by strangers.

Aliases and merge keys can make a few bytes explode, tags can mean anything, and a key that is twice means
something else to every reader, so that blocks with any of them are refused, as are deep and large ones. The
loader is the one in pure Python: that in C crashes on deep nesting.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import yaml

from mdplan.markdown.front_matter.block import FrontMatterError

_MAX_DEPTH: Final = 32
_MAX_NODES: Final = 5_000
_MERGE: Final = "tag:yaml.org,2002:merge"


@dataclass(frozen=True, slots=True)
class YamlContent:
    """The outermost map, None where there is nothing but comments; and its values by the texts of keys."""

    root: yaml.MappingNode | None
    values: dict[str, Any]


def read_yaml(content: str) -> YamlContent:
    """Nodes and values of the YAML text `content`, which must be one map.

    Raises `FrontMatterError` for everything else.
    """
    try:
        loader = _CheckedLoader(content)
        root = loader.get_single_node()
        if root is None:
            return YamlContent(None, {})
        if not isinstance(root, yaml.MappingNode):
            raise FrontMatterError("it is not a map of keys and values", root.start_mark.index)
        return YamlContent(root, loader.value_of(root))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise FrontMatterError(_reason(error), mark.index if mark else None) from error
    except yaml.reader.ReaderError as error:
        raise FrontMatterError("it holds a character that YAML forbids", error.position) from error
    except RecursionError as error:
        raise FrontMatterError("it is nested too deeply") from error


def entries_of(node: yaml.Node | None) -> Iterator[tuple[str, yaml.ScalarNode, yaml.Node]]:
    """Text of each key of a map with the nodes of key and value; nothing of what is no map."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield key.value, key, value


def end_of_text(node: yaml.Node) -> int:
    """Offset behind the last character of a value; PyYAML ends lists and maps where the next token starts."""
    while isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        node = node.value[-1][1] if isinstance(node, yaml.MappingNode) else node.value[-1]
    return int(node.end_mark.index)


class _CheckedLoader(yaml.SafeLoader):
    """Composes nodes, and looks at the event of each before it does."""

    def __init__(self, content: str) -> None:
        super().__init__(content)
        self._depth = 0
        self._nodes = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:  # noqa: ANN401 (as the base)
        event = self.peek_event()  # type: ignore[no-untyped-call]
        at = event.start_mark.index
        self._nodes += 1
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            raise FrontMatterError("it has an anchor or alias", at)
        if event.tag not in {None, "!"}:
            raise FrontMatterError("it has a tag", at)
        if self._depth >= _MAX_DEPTH or self._nodes > _MAX_NODES:
            raise FrontMatterError("it is nested too deeply, or has too many values", at)
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def value_of(self, node: yaml.Node) -> Any:  # noqa: ANN401 (any YAML value)
        """Value of `node`, in which the keys of maps are their texts."""
        if isinstance(node, yaml.MappingNode):
            return self._map_of(node)
        if isinstance(node, yaml.SequenceNode):
            return [self.value_of(item) for item in node.value]
        try:
            return self.construct_object(node)
        except (ValueError, OverflowError, TypeError, AttributeError) as error:
            reason = "it holds a number or date that cannot be read"
            raise FrontMatterError(reason, node.start_mark.index) from error

    def _map_of(self, node: yaml.MappingNode) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key, value in node.value:
            at = key.start_mark.index
            if not isinstance(key, yaml.ScalarNode):
                raise FrontMatterError("one of its keys is a list or map", at)
            if key.tag == _MERGE:
                raise FrontMatterError("it has a merge key", at)
            if key.value in values:
                raise FrontMatterError("a key stands twice", at)
            values[key.value] = self.value_of(value)
        return values


def _reason(error: yaml.MarkedYAMLError) -> str:
    """What PyYAML says of a place, unless that repeats text of the file."""
    problem = error.problem or ""
    quotes = not problem or any(mark in problem for mark in "'\"")
    return "it is no valid YAML" if quotes else f"it is no valid YAML: {problem}"
