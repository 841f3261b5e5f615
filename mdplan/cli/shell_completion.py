"""Extends click's completion of bash, fish and zsh: quoting, and silence when mdplan fails.

Headings contain spaces, colons, quotes and commas. bash inserts completions verbatim, so they are quoted here
in the style of the quote that the user has typed.
"""

import os
from typing import TYPE_CHECKING, Any, Final

from click.shell_completion import (
    BashComplete,
    FishComplete,
    ZshComplete,
    add_completion_class,
    split_arg_string,
)

from mdplan.text.lazy_pattern import lazy_pattern

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


_SOURCE_BASH: Final = """\
%(complete_func)s() {
    local type value
    COMPREPLY=()
    while IFS=, read -r type value; do
        case $type in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain)
                COMPREPLY+=("$value")
                [[ $value == *= ]] && compopt -o nospace
                ;;
        esac
    done < <(COMP_LINE="${COMP_LINE:0:COMP_POINT}" %(complete_var)s=bash_complete "$1" 2> /dev/null)
    return 0
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""

# At these a word begins for bash, unless they are quoted; what is inserted replaces the word.
_BREAKS: Final = "@><=;|&(:"
_PLAIN: Final = lazy_pattern(r"[^\w@%+=,./-]")
_IN_DOUBLE_QUOTES: Final = lazy_pattern(r'[\\"$`]')


class _Bash(BashComplete):
    source_template = _SOURCE_BASH

    def get_completion_args(self) -> tuple[list[str], str]:
        line = os.environ.get("COMP_LINE", "")
        start, _, _ = _last_word(line)
        words = split_arg_string(line[:start])
        return words[1:], _value(line[start:])

    def format_completion(self, item: "CompletionItem[Any]") -> str:
        if item.type != "plain":
            return f"{item.type},{item.value}"
        line = os.environ.get("COMP_LINE", "")
        start, replaced, quote = _last_word(line)
        typed = line[start:replaced]
        if typed.startswith("--"):
            # The value of an option after `=`, which is completed without the name of the option.
            typed = typed.partition("=")[2]
        return f"plain,{_quoted(item.value[len(_value(typed)) :], quote)}"


class _Fish(FishComplete):
    # A value may contain commas.
    source_template = FishComplete.source_template.replace(
        'string split ","', 'string split --max 1 ","'
    ).replace("%(prog_name)s);", "%(prog_name)s 2> /dev/null);", 1)


class _Zsh(ZshComplete):
    source_template = ZshComplete.source_template.replace(
        "zsh_complete %(prog_name)s)", "zsh_complete %(prog_name)s 2> /dev/null)"
    )


def use_own_shells() -> None:
    """Let click complete with the classes of this module."""
    for shell in (_Bash, _Fish, _Zsh):
        add_completion_class(shell)


def _last_word(line: str) -> tuple[int, int, str]:
    """Return the starts of the last word of `line` and of the part that bash replaces, and its open quote."""
    start = replaced = 0
    quote = ""
    is_escaped = False
    for at, character in enumerate(line, 1):
        if is_escaped:
            is_escaped = False
        elif character == "\\" and quote != "'":
            is_escaped = True
        elif quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote, replaced = character, at
        elif character.isspace():
            start = replaced = at
        elif character in _BREAKS:
            replaced = at
    return start, replaced, quote


def _value(word: str) -> str:
    """Return the value of `word`, which may end inside quotes."""
    return next(iter(split_arg_string(word)), "")


def _quoted(text: str, quote: str) -> str:
    """Return `text` as typed after `quote`, or without quotes."""
    match quote:
        case "'":
            return text.replace("'", r"'\''")
        case '"':
            return _IN_DOUBLE_QUOTES.sub(r"\\\g<0>", text)
        case _:
            return _PLAIN.sub(r"\\\g<0>", text)
