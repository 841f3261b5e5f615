"""Names that `set`, `replace`, `append` and `tick` use for the fields of their operations."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from mdplan.cli.edits.hints import CommandWords

# What `mdplan replace --code` looks into.
CODE_KINDS: Final = ("codeBlocks", "inlineCode", "linkDestinations", "images", "frontMatter", "html")


@dataclass(frozen=True, slots=True)
class _Shortcut:
    """Names of fields, `target` for the section, and `flags` that stand for one value of a field."""

    names: Mapping[str, str]
    target: str | None = None
    flags: Mapping[str, Callable[[Any], str | None]] = field(default_factory=dict)


_SHORTCUTS: Final[Mapping[str, _Shortcut]] = {
    "set_value": _Shortcut({"key": "KEY", "values": "VALUE", "value": "VALUE", "section": "KEY"}),
    "replace_match": _Shortcut(
        {"pattern": "OLD", "replacement": "NEW", "include": "--code"},
        "--in",
        {
            "include": lambda kinds: "--code" if set(kinds) <= set(CODE_KINDS) else None,
            "caseSensitive": lambda is_sensitive: None if is_sensitive else "--ignore-case",
            "matchType": lambda kind: "--regex" if kind == "regex" else None,
            "expectedMatchCount": lambda count: f"--count {count}",
        },
    ),
    "append_to_section": _Shortcut({"markdown": "TEXT"}, "HEADING"),
    "set_task": _Shortcut({"item": "ITEM"}, "--in"),
}
SHORTCUT_OPS: Final = tuple(_SHORTCUTS)


def shortcut_words(op: str, section: str | None = None) -> "CommandWords":
    """The words of the shorter command for `op`, in which somebody named `section`."""
    # Loaded for problems alone.
    from mdplan.cli.edits.edit_options import EditOptions
    from mdplan.cli.edits.hints import CommandWords

    shortcut = _SHORTCUTS[op]
    targets = dict.fromkeys(("heading", "headingPath", "sectionId"), shortcut.target or "")
    return CommandWords(
        options=EditOptions.of(op),
        names={**(targets if shortcut.target else {}), **shortcut.names},
        flags=shortcut.flags,
        section=section,
    )
