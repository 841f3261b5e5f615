"""The page of the command line, from the commands themselves."""

from collections.abc import Iterator
from inspect import cleandoc
from typing import Final

import click

from mdplan.codegen.click_commands import all_commands, options_of
from mdplan.codegen.pages.page import bullets, fenced, page, table, with_code_tags
from mdplan.limit_options import ALL_LIMITS

_INTRODUCTION: Final = """\
A batch is JSON or YAML, and comes from a file or, with `-`, from standard input.
Diffs and text that was asked for go to standard output and everything else to standard error, so that `mdplan plan batch.json | git apply` works.
Every command has `--help` (or `-h`), which fits on one screen, and `--help-all`, which shows everything; `mdplan help TOPIC` explains an [operation](operations.md) as well.
The [exit codes](errors.md#exit-codes) are stable.

Options of [limits](limits.md) are named here and explained there; [variables](environment.md) stand for some options.
The root is the folder given with `--root`, else the nearest one upwards with a `.mdplan` or `.git` of yours, else the current folder.
Files on the command line are named relative to the folder given with `--root`, as with `git -C`, and without that option relative to the current folder.
Files in a batch, a diff or a report are named relative to the root.
Batches, manifests and what `--output` writes are relative to the current folder.
`mdplan stat` is the old name of `mdplan outline`."""
_LIMIT_NAMES: Final = frozenset(limit.parameter for limit in ALL_LIMITS)
_REPEATABLE: Final = ("repeat", "Repeat")


def command_page() -> str:
    """The page of all commands and their options."""
    (_, program), *commands = all_commands().items()
    listed = bullets(
        f"[`{name}`](#{name.replace(' ', '-')}): {context.command.get_short_help_str(200)}"
        for name, context in commands
    )
    version = f"`{program.command_path} --version` prints the version."
    blocks = [block for name, context in commands for block in _command_blocks(name, context)]
    return page("Command line", _INTRODUCTION, version, listed, *blocks)


def _command_blocks(name: str, context: click.Context) -> Iterator[str]:
    yield f"## {name}"
    yield fenced(f"{name} {' '.join(context.command.collect_usage_pieces(context))}")
    yield from _help_blocks(context.command.help or "")
    examples = getattr(context.command, "examples", ())
    yield fenced("\n".join(examples)) if examples else ""
    options = options_of(context)
    rows = (_row(option, context) for option in options if option.name not in _LIMIT_NAMES)
    yield table(["Option", "Default", "Meaning"], rows)
    limits = [f"`{option.opts[0]}`" for option in options if option.name in _LIMIT_NAMES]
    yield f"Limits: {', '.join(limits)}." if limits else ""


def _help_blocks(text: str) -> Iterator[str]:
    """Paragraphs of a help text; one that click shall not wrap is a block of its own."""
    for paragraph in cleandoc(text).split("\n\n"):
        mark, _, rest = paragraph.partition("\n")
        if mark.strip() == "\b":
            yield fenced(rest)
        else:
            yield with_code_tags(" ".join(paragraph.split("\n")))


def _row(option: click.Option, context: click.Context) -> tuple[str, str, str]:
    names = ", ".join([*option.opts, *option.secondary_opts])
    value = "" if option.is_flag else f" {option.make_metavar(context)}".replace("INTEGER RANGE", "NUMBER")
    required = "required" if option.required else ""
    default = option.default if option.show_default and isinstance(option.default, str | int) else None
    return f"`{names}{value}`", required or (f"`{default}`" if default is not None else ""), _meaning(option)


def _meaning(option: click.Option) -> str:
    text = with_code_tags(option.help or "").replace("{{", "`{{").replace("}}", "}}`")
    is_told = any(word in text for word in _REPEATABLE)
    return f"{text} Repeatable." if option.multiple and not is_told else text
