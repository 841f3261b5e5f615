"""The page of limits, from the options that set them."""

from typing import Final

from mdplan.codegen.click_commands import all_commands, options_of
from mdplan.codegen.pages.page import page, table
from mdplan.diagnostics import MOST_PROBLEMS
from mdplan.limit_options import ALL_LIMITS, LimitOption, in_words
from mdplan.markdown.blocks.parser import MAX_NESTING

_INTRODUCTION: Final = """\
Each limit is an option of the commands below it, a [variable of the environment](environment.md), and a field of `Settings` in [Python](python.md#settings).
The option goes before the variable.
Times may be fractions, and sizes are plain numbers: 16 MiB is 16777216.

A limit is met before the work is done, and the refusal ([`FILE_TOO_LARGE`](errors/FILE_TOO_LARGE.md), [`BATCH_TOO_LARGE`](errors/BATCH_TOO_LARGE.md), [`REGEX_TIMEOUT`](errors/REGEX_TIMEOUT.md), [`PARSE_TIMEOUT`](errors/PARSE_TIMEOUT.md), [`LOCK_TIMEOUT`](errors/LOCK_TIMEOUT.md)) names the option.
[Hostile input](../explanation/hostile-input.md#limits) gives the reasons."""
_FIXED: Final = (
    ("Problems that are listed of a batch; what follows is not checked", f"{MOST_PROBLEMS:,}"),
    ("Levels of lists and quotes in each other; deeper ones are a warning", f"{MAX_NESTING}"),
)


def limit_page() -> str:
    """The page of all limits."""
    rows = [
        (
            f"`--{limit.name} {limit.metavar}`",
            f"`{limit.variable}`",
            f"`{limit.setting}`",
            in_words(limit.default),
            limit.summary,
        )
        for limit in ALL_LIMITS
    ]
    takers = [
        (f"`--{limit.name}`", ", ".join(f"`{name}`" for name in _takers(limit))) for limit in ALL_LIMITS
    ]
    return page(
        "Limits",
        _INTRODUCTION,
        "## Options",
        table(["Option", "Variable", "Setting", "Default", "Limits"], rows),
        "## Commands that take them",
        table(["Option", "Commands"], takers),
        "## Without an option",
        table(["What", "Limit"], _FIXED),
    )


def _takers(limit: LimitOption) -> list[str]:
    return [
        name.partition(" ")[2]
        for name, context in all_commands().items()
        if any(option.name == limit.parameter for option in options_of(context))
    ]
