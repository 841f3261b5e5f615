"""Values that people write on the command line with the types of YAML."""

import shlex
from typing import Any, Final

import yaml

from mdplan.bot.manifest.yaml_mistakes import yaml_mistake

_TIMESTAMP: Final = "tag:yaml.org,2002:timestamp"
_JSON_SCALARS: Final = (str, int, float, bool, type(None))


def yaml_value(text: str) -> Any:  # noqa: ANN401 (any JSON)
    """`text` as one YAML value made of JSON types; dates and times stay text. Raises `ValueError`."""
    try:
        loaded = _ValueLoader(text).get_single_data()
    except yaml.YAMLError as error:
        reason = yaml_mistake(error).reason if isinstance(error, yaml.MarkedYAMLError) else "it is not YAML"
        # The shell takes quotes away, so that YAML needs some of its own.
        own = "'" + text.replace("'", "''") + "'"
        message = f"`{text}` is not a YAML value: {reason}; to set it as text: {_in_shell(f'KEY={own}')}"
        raise ValueError(message) from None
    if not _is_json(loaded):
        raise ValueError(f"`{text}` is a YAML value that JSON does not have")
    return "" if loaded is None and not text.strip() else loaded


def _in_shell(word: str) -> str:
    """`word` in quotes, the double ones where they keep it as it is."""
    return shlex.quote(word) if set('"$`\\!') & set(word) else f'"{word}"'


def is_date(text: str) -> bool:
    """Whether YAML reads `text`, a value with its quotes, as a date or a time with one."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError:
        return False
    return _has_date(node)


def _has_date(node: yaml.Node | None) -> bool:
    if isinstance(node, yaml.SequenceNode):
        return any(map(_has_date, node.value))
    return node is not None and node.tag == _TIMESTAMP


def _is_json(value: object) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_json(item) for key, item in value.items())
    if isinstance(value, list):
        return all(map(_is_json, value))
    return isinstance(value, _JSON_SCALARS)


class _ValueLoader(yaml.SafeLoader):
    """The safe loader of PyYAML, to which dates are text: JSON has none. `is_date` finds them."""


_ValueLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != _TIMESTAMP]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
