"""Reading front matter values, safely: front matter is written by strangers.

A scan of the YAML events refuses anchors, aliases, tags, merge keys, depth and size before the pure-Python
safe loader sees the block, because aliases and merge keys can make a few bytes explode.
"""

import re
import tomllib
from typing import Any, Final

import frontmatter
import yaml
from frontmatter.default_handlers import BaseHandler

from mdplan.markdown.front_matter import FrontMatter, FrontMatterFormat
from mdplan.text.line_end_view import to_lf

MAX_CHARACTERS: Final = 64 * 1024
_MAX_DEPTH: Final = 32
_MAX_EVENTS: Final = 5_000


class _UnsafeYamlError(ValueError):
    """The block uses a feature of YAML that no front matter needs."""


class _SafeYamlHandler(BaseHandler):
    """python-frontmatter's handler for a block whose fences were found by our own rule."""

    # The base class refuses to be made without one; only `detect` and its own `split` would look for it.
    FM_BOUNDARY: re.Pattern[str] | None = re.compile(r"^---$", re.MULTILINE)

    def split(self, text: str) -> tuple[str, str]:
        """What stands between the first and the last line of `text`, which is nothing but the block."""
        return text.partition("\n")[2].rpartition("\n")[0], ""

    def load(self, fm: str, **_: object) -> Any:  # noqa: ANN401 (any YAML value)
        """Values of the YAML text `fm`, which must be a mapping or empty."""
        _check_events(fm)
        values = yaml.load(fm, Loader=yaml.SafeLoader)
        if values is not None and not isinstance(values, dict):
            raise _UnsafeYamlError("not a mapping")
        return values


def read_values(text: str, front_matter: FrontMatter) -> dict[str, Any] | None:
    """Values of `front_matter` in `text` by key; None when it is no mapping or cannot be read safely."""
    block = to_lf(text[front_matter.content.start : front_matter.content.end])
    if len(block) > MAX_CHARACTERS:
        return None
    try:
        if front_matter.format is FrontMatterFormat.TOML:
            return tomllib.loads(block)
        values, _ = frontmatter.parse(f"---\n{block}\n---", handler=_SafeYamlHandler())
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError, TypeError, AttributeError):
        return None
    return dict(values)


def read_keys(text: str, front_matter: FrontMatter) -> tuple[str, ...] | None:
    """Top-level keys of `front_matter` in their order; None where its values cannot be read."""
    values = read_values(text, front_matter)
    return None if values is None else tuple(str(key) for key in values)


def _check_events(block: str) -> None:
    depth = 0
    for count, event in enumerate(yaml.parse(block, Loader=yaml.SafeLoader)):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if count > _MAX_EVENTS or depth > _MAX_DEPTH:
            raise _UnsafeYamlError("too large")
        if isinstance(event, yaml.NodeEvent) and event.anchor is not None:
            raise _UnsafeYamlError("anchors and aliases are not read")
        if isinstance(event, yaml.ScalarEvent) and (event.value == "<<" or (event.tag or "!") != "!"):
            raise _UnsafeYamlError("tags and merge keys are not read")
