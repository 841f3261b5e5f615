"""Commands and groups whose help fits on one screen; `--help-all` shows the rest."""

import re
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

import click

from mdplan.limits import ALL_LIMITS

SCREEN_LINES: Final = 24
_SCREEN_WIDTH: Final = 80
_ALL: Final = "mdplan.help_all"
_LIMITS: Final = frozenset(limit.parameter for limit in ALL_LIMITS)
# Options of most commands that few people need: they come last, and in the whole help only.
_RARE: Final = frozenset(
    {"allow", "deny", "color", "cursor", "encoding", "format", "no_pager", "quiet", "require_approval"}
)
_LINE_END: Final = re.compile(r"(?<!\\)\n")
_RANGE: Final = re.compile(r"\s*\[[^;\]]*[<>]=?[^;\]]*\]|; [^;\]]*[<>]=?[^;\]]*(?=\])")


class _Screen(click.Command):
    """A command with examples. Its first screen of help shows the most important options.

    `example` is one command or more, each on a line of its own; a line that ends with a backslash continues.
    Options named in `rare` are left to `--help-all`.
    """

    def __init__(
        self,
        *arguments: Any,  # noqa: ANN401 (click's)
        example: str = "",
        rare: Collection[str] = (),
        **attributes: Any,  # noqa: ANN401 (click's)
    ) -> None:
        super().__init__(*arguments, **attributes)
        self.examples = tuple(_LINE_END.split(example)) if example else ()
        self.rare = _RARE | frozenset(rare)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The parameters, with `--help-all`."""
        return [*super().get_params(ctx), _HELP_ALL]

    def make_parser(self, ctx: click.Context) -> Any:  # noqa: ANN401 (click's, of another name in each version)
        """A parser that takes a word such as ``- Buy tea`` for an argument: no option begins with a blank."""
        parser: Any = super().make_parser(ctx)
        process = parser._process_opts  # noqa: SLF001 (click has no other place for it)

        def process_word(word: str, state: Any) -> None:  # noqa: ANN401 (click's)
            if word[1:2].isspace():
                state.largs.append(word)
                return
            try:
                process(word, state)
            except click.BadOptionUsage as problem:
                # The shell asks for the value of the last option: the arguments before it count.
                if not ctx.resilient_parsing:
                    problem.ctx = ctx
                    raise

        parser._process_opts = process_word  # noqa: SLF001
        return parser

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The whole help, or what of it fits on one screen."""
        if ctx.meta.get(_ALL):
            self._write_all(ctx, formatter)
            return
        options = [each for each in self._options(ctx) if each.name not in self.rare | _LIMITS]
        text = self._first_screen(ctx, options)
        while options and text.count("\n") >= SCREEN_LINES:
            del options[-1]
            text = self._first_screen(ctx, options)
        formatter.write(text)

    def _first_screen(self, ctx: click.Context, options: Sequence[click.Option]) -> str:
        formatter = click.HelpFormatter(width=min(ctx.max_content_width or 100, _width(ctx)))
        self.format_usage(ctx, formatter)
        summary = (self.help or "").partition("\n\n")[0]
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(" ".join(summary.split()))
        self._write_examples(formatter)
        if isinstance(self, click.Group):
            self.format_commands(ctx, formatter)
        rows = [_row(each, ctx) for each in options]
        with formatter.section("Options"):
            formatter.write_dl([*rows, ("--help-all", "Show all options and details.")], col_spacing=2)
        return formatter.getvalue()

    def _write_all(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        self._write_examples(formatter)
        if isinstance(self, click.Group):
            self.format_commands(ctx, formatter)
        options = self._options(ctx)
        groups = {
            "Options": [each for each in options if each.name not in self.rare | _LIMITS],
            "Rare options": [each for each in options if each.name in self.rare],
            "Limits": [each for each in options if each.name in _LIMITS],
        }
        for title, listed in groups.items():
            if listed:
                with formatter.section(title):
                    formatter.write_dl([_row(each, ctx) for each in listed])
        self.format_epilog(ctx, formatter)

    def _write_examples(self, formatter: click.HelpFormatter) -> None:
        if self.examples:
            with formatter.section("Examples" if len(self.examples) > 1 else "Example"):
                for example in self.examples:
                    formatter.write("".join(f"  {line}\n" for line in example.splitlines()))

    def _options(self, ctx: click.Context) -> list[click.Option]:
        params = click.Command.get_params(self, ctx)
        return [
            each
            for each in params
            if isinstance(each, click.Option) and not each.hidden and "--help" not in each.opts
        ]


class Command(_Screen):
    """A command with examples, and help that fits on one screen."""


class Group(_Screen, click.Group):
    """The same for a group of commands, which its help lists between examples and options."""


def command(name: str | None = None, **attributes: Any) -> Callable[[Callable[..., Any]], Command]:  # noqa: ANN401
    """`click.command` for a `Command`, whose further `attributes` it takes."""
    return click.command(name, cls=Command, **attributes)


def wants_all(ctx: click.Context) -> bool:
    """Whether the whole help is to be shown."""
    return bool(ctx.meta.get(_ALL))


def _show_all(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:  # noqa: FBT001 (click's)
    del parameter
    if value and not ctx.resilient_parsing:
        from mdplan.cli.terminal.console import Console

        ctx.meta[_ALL] = True
        Console.plain().paged(ctx.get_help() + "\n")
        ctx.exit()


_HELP_ALL: Final = click.Option(
    ["--help-all"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_all,
    help="Show all options and details.",
)


def help_all_option() -> click.Option:
    """The option `--help-all`, for groups."""
    return _HELP_ALL


def _row(option: click.Option, ctx: click.Context) -> tuple[str, str]:
    """Names and help of an option; the range of a number is left to the error that it leads to."""
    names, text = option.get_help_record(ctx) or ("", "")
    return names.replace("INTEGER RANGE", "NUMBER"), _RANGE.sub("", text)


def _width(ctx: click.Context) -> int:
    import shutil

    return ctx.terminal_width or max(shutil.get_terminal_size((_SCREEN_WIDTH, 0)).columns, 50)
