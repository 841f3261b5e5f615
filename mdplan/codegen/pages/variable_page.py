"""The page of variables of the environment: those of options, and those that are read elsewhere."""

from collections.abc import Iterator, Mapping
from typing import Final

from mdplan.codegen.click_commands import all_commands, options_of
from mdplan.codegen.pages.page import page, table
from mdplan.limit_options import ALL_LIMITS
from mdplan.storage.fs.filesystem import FAILPOINT_VARIABLE
from mdplan.storage.user.user_state import STATE_DIRECTORY_VARIABLE
from mdplan.web.http.http_options import TOKEN_VARIABLE

_INTRODUCTION: Final = """\
An option that is given goes before its variable.
A manifest of the bot sees none of the environment but what `--env` names."""
_READ: Final[Mapping[str, str]] = {
    STATE_DIRECTORY_VARIABLE: "Folder of plans, decisions and seals, instead of `mdplan` in the user's state directory. It has to be one that only you can write.",
    "XDG_STATE_HOME": "The user's state directory on Linux; else `~/.local/state`.",
    TOKEN_VARIABLE: "The token that clients of `mdplan serve --http` send, where `--token-file` names none.",
    "MDPLAN_PAGER": "The pager of long output on a terminal, with its options; empty or `cat` for none.",
    "PAGER": "The same for all programs; `MDPLAN_PAGER` goes before it.",
    "MDPLAN_EDITOR": "The editor for text and requests, with its options.",
    "VISUAL": "The same for all programs; `MDPLAN_EDITOR` goes before it.",
    "EDITOR": "The same where `VISUAL` is not set; without any of them it is `vi`.",
    "NO_COLOR": "No colours, whatever its value.",
    "FORCE_COLOR": "Colours also where the output is no terminal.",
    "TERM": "`dumb` means no colours.",
    "BROWSER": "What opens the review page.",
    "GIT_AUTHOR_NAME": "With `bot --git`: who wrote the commit; `GIT_AUTHOR_EMAIL`, `GIT_AUTHOR_DATE`, the same three with `GIT_COMMITTER_`, and `EMAIL` are read as git reads them.",
    "MDPLAN_DEBUG": "`1` shows where a bug happened, which may contain text of your files.",
    FAILPOINT_VARIABLE: "For tests of crashes: the step of a commit at which the process ends.",
}


def variable_page() -> str:
    """The page of all variables."""
    limits = (
        (f"`{limit.variable}`", f"[`--{limit.name}`](limits.md): {limit.summary}") for limit in ALL_LIMITS
    )
    read = ((f"`{name}`", meaning) for name, meaning in _READ.items())
    return page(
        "Environment variables",
        _INTRODUCTION,
        table(["Variable", "Meaning"], read),
        "## Instead of options",
        table(["Variable", "Option"], [*_of_options(), *limits]),
    )


def _of_options() -> Iterator[tuple[str, str]]:
    """Variables of options that are no limits, with the commands that have them."""
    limits = {limit.variable for limit in ALL_LIMITS}
    found: dict[tuple[str, str], list[str]] = {}
    for name, context in all_commands().items():
        for option in options_of(context):
            if isinstance(option.envvar, str) and option.envvar not in limits:
                found.setdefault((option.envvar, option.opts[0]), []).append(name)
    for (variable, option_name), commands in found.items():
        yield f"`{variable}`", f"`{option_name}` of " + ", ".join(f"`{name}`" for name in commands)
