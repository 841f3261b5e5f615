"""Facts that markdown-it finds in a text, to check that a block edit changed only its block."""

from markdown_it import MarkdownIt
from mdit_py_plugins.front_matter import front_matter_plugin

_PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"]).use(front_matter_plugin)
Fact = tuple[str, str, str, str]


def facts_of(text: str) -> list[Fact]:
    """Return kinds, marks and contents of all blocks in order, without positions and list looseness."""
    tokens = _PARSER.parse(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    return [
        (
            token.type,
            token.markup,
            token.info if token.type == "fence" else "",
            _trimmed(token.content) if token.type in {"html_block", "code_block"} else token.content,
        )
        for token in tokens
    ]


def _trimmed(content: str) -> str:
    rows = (line.strip(" \t>") for line in content.split("\n"))
    return "\n".join(filter(None, rows))


def is_base_with(base: list[Fact], result: list[Fact], new: list[Fact]) -> bool:
    """Return True if `result` is `base` with `new` inserted in one place."""
    size = len(new)
    return any(
        result[at : at + size] == new and result[:at] + result[at + size :] == base
        for at in range(len(base) + 1)
    )


def is_base_without(base: list[Fact], result: list[Fact]) -> bool:
    """Return True if `result` is `base` with one range removed."""
    size = len(base) - len(result)
    return size > 0 and any(base[:at] + base[at + size :] == result for at in range(len(result) + 1))


def is_base_with_other(base: list[Fact], result: list[Fact], new: list[Fact]) -> bool:
    """Return True if `result` is `base` with one range replaced by `new`."""
    size = len(new)
    return any(
        result[at : at + size] == new
        and result[:at] == base[:at]
        and result[at + size :] == base[len(base) - (len(result) - at - size) :]
        for at in range(len(result) - size + 1)
    )
