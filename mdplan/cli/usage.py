"""Command classes for click: lazy loading, help on one screen, exit codes."""

import os
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from inspect import cleandoc
from typing import Any, Final, TypeVar

import click

from mdplan import __version__
from mdplan.cli.interrupts import interrupt_commands
from mdplan.cli.terminal import Console, mute, write_error
from mdplan.diagnostics import Exit
from mdplan.limits import ALL_LIMITS
from mdplan.requests.verbs import VERBS, Verb
from mdplan.text import shell
from mdplan.text.lazy_pattern import lazy_pattern


class CommandGroup(click.Group):
    """A group of commands that always ends with one of the codes of `Exit`.

    `commands` maps names to loaders, `topics` are the rows of the first screen of help, by title: commands
    and summaries; `aliases` are old names.
    """

    def __init__(
        self,
        commands: Mapping[str, Callable[[], click.Command]],
        topics: Mapping[str, Mapping[str, str]],
        aliases: Mapping[str, str],
        example: str,
        **attributes: Any,  # noqa: ANN401 (click's)
    ) -> None:
        super().__init__(**attributes)
        self.lazy_commands = commands
        self.topics = topics
        self.aliases = aliases
        self.examples = (example,)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, in the order of the help."""
        del ctx
        return list(self.lazy_commands)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load and return the command of that name."""
        del ctx
        load = self.lazy_commands.get(self.aliases.get(cmd_name, cmd_name))
        return load() if load else None

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters, with `--help-all`."""
        return [*super().get_params(ctx), _HELP_ALL]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the words that were typed after `mdplan`, for `retyped`."""
        ctx.meta[_WORDS] = tuple(args)
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command named by the first argument. Raises a usage error with a suggestion."""
        name = args[0] if args else ""
        if name and name not in {*self.lazy_commands, *self.aliases} and not name.startswith("-"):
            from mdplan.cli.suggestions import Misuse, command_hint

            raise Misuse(f"there is no command `{name}`", command_hint(name, self.lazy_commands), ctx)
        resolved = super().resolve_command(ctx, args)
        interrupt_commands()
        return resolved

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the whole help, or its first screen with the most important commands."""
        if wants_all(ctx):
            super().format_help(ctx, formatter)
            return
        formatter.write(f"Usage: {ctx.command_path} COMMAND [OPTIONS]\n\n")
        formatter.write(f"{(self.help or '').partition(chr(10))[0]}\n")
        formatter.write(f"Example: {self.examples[0]}\n\n")
        width = max(map(len, self.lazy_commands)) + 3
        for title, rows in self.topics.items():
            formatter.write(f"{title}\n")
            for names, summary in rows.items():
                formatter.write(f"  {names:{width}}{summary}\n")
        listed = {name for rows in self.topics.values() for names in rows for name in names.split(", ")}
        formatter.write(f"More, which {ctx.command_path} --help-all explains\n")
        with formatter.indentation():
            formatter.write_text(", ".join(name for name in self.lazy_commands if name not in listed))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands in the help text without loading them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, VERBS[name].summary) for name in self.lazy_commands])

    def main(self, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401 (click's signature)
        """Run, and leave the process with an exit code."""
        options["standalone_mode"] = False
        sys.exit(exit_code(lambda: self._answer(*arguments, **options)))

    def _answer(self, *arguments: Any, **options: Any) -> object:  # noqa: ANN401 (as above)
        if "_MDPLAN_COMPLETE" in os.environ:
            from mdplan.cli.shell_completion import use_own_shells

            use_own_shells()
        try:
            return super().main(*arguments, **options)
        except click.ClickException as problem:
            from mdplan.cli.suggestions import misuse_text

            given = arguments[0] if arguments else options.get("args")
            words = sys.argv[1:] if given is None else list(given)
            style = Console.of("auto", os.environ).err
            write_error(misuse_text(problem, words, style), style)
            return Exit.INVALID
        except click.Abort:
            write_error("interrupted")
            return Exit.INTERRUPTED


# --- Commands and groups whose help fits on one screen; `--help-all` shows the rest

SCREEN_LINES: Final = 24
_SCREEN_WIDTH: Final = 80
_ALL: Final = "mdplan.help_all"
_LIMITS: Final = frozenset(limit.parameter for limit in ALL_LIMITS)

# Options of most commands that few people need: they come last, and in the whole help only.
_RARE: Final = frozenset(
    {
        *("allow", "deny", "color", "cursor", "encoding", "format", "no_follow", "no_pager", "quiet"),
        "require_approval",
    }
)

_RANGE: Final = lazy_pattern(r"\s*\[[^;\]]*[<>]=?[^;\]]*\]|; [^;\[\]]*[<>]=?[^;\]]*(?=\])")


class Command(click.Command):
    """A command with `examples`. Its first screen of help shows the most important options.

    Only `--help-all` shows the options in `rare`.
    """

    def __init__(
        self,
        *arguments: Any,  # noqa: ANN401 (click's)
        examples: Sequence[str] = (),
        rare: Collection[str] = (),
        **attributes: Any,  # noqa: ANN401 (click's)
    ) -> None:
        super().__init__(*arguments, **attributes)
        self.examples = examples
        self.rare = _RARE | frozenset(rare)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters, with `--help-all`."""
        return [*super().get_params(ctx), _HELP_ALL]

    def make_parser(self, ctx: click.Context) -> Any:  # noqa: ANN401 (click's, of another name in each version)
        """Return a parser that takes ``- Buy tea`` as an argument: options never contain a space."""
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
        """Write the whole help, or as much as fits on one screen."""
        params = (each for each in click.Command.get_params(self, ctx) if isinstance(each, click.Option))
        options = [param for param in params if not param.hidden and "--help" not in param.opts]
        usual = [option for option in options if option.name not in self.rare | _LIMITS]
        if wants_all(ctx):
            self._write_head(ctx, formatter)
            groups = {
                "Options": usual,
                "Rare options": [option for option in options if option.name in self.rare],
                "Limits": [option for option in options if option.name in _LIMITS],
            }
            for title, section in groups.items():
                if section:
                    with formatter.section(title):
                        formatter.write_dl([_row(option, ctx) for option in section])
            self.format_epilog(ctx, formatter)
            return
        text = self._first_screen(ctx, usual)
        while usual and text.count("\n") >= SCREEN_LINES:
            del usual[-1]
            text = self._first_screen(ctx, usual)
        formatter.write(text)

    def _write_head(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write usage, help, examples and commands; of the help only its summary on the first screen."""
        self.format_usage(ctx, formatter)
        if wants_all(ctx):
            self.format_help_text(ctx, formatter)
        else:
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(" ".join((self.help or "").partition("\n\n")[0].split()))
        if self.examples:
            with formatter.section("Examples" if len(self.examples) > 1 else "Example"):
                for example in self.examples:
                    formatter.write("".join(f"  {line}\n" for line in example.splitlines()))
        if isinstance(self, click.Group):
            self.format_commands(ctx, formatter)

    def _first_screen(self, ctx: click.Context, options: Sequence[click.Option]) -> str:
        from shutil import get_terminal_size

        width = ctx.terminal_width or max(get_terminal_size((_SCREEN_WIDTH, 0)).columns, 50)
        formatter = click.HelpFormatter(width=min(ctx.max_content_width or 100, width))
        self._write_head(ctx, formatter)
        rows = [_row(option, ctx) for option in options]
        if not rows:
            # The operations of `edit` leave no room for a heading.
            formatter.write_paragraph()
        with formatter.section("Options") if rows else formatter.indentation():
            formatter.write_dl([*rows, ("--help-all", "Show all options and details.")], col_spacing=2)
        return formatter.getvalue()


class Group(Command, click.Group):
    """A group with examples; its help lists the commands between examples and options."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the first command. Raises a usage error for any other word."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            from mdplan.cli.suggestions import Misuse

            raise Misuse(*self.unknown(ctx, name), ctx)
        return super().resolve_command(ctx, args)

    def unknown(self, ctx: click.Context, name: str) -> tuple[str, str]:
        """Message and hint for a word that is no command: the manifest, perhaps."""
        verbs = list(self.commands)
        is_file = "." in name or "/" in name
        words = ["mdplan", ctx.info_name or "", verbs[0], name if is_file else "MANIFEST"]
        what = "the verb is missing" if is_file else f"there is no verb `{name}`"
        return what, f"write `{shell.join(words)}`; the verbs are {', '.join(verbs[:-1])} and {verbs[-1]}"


AnyGroup = TypeVar("AnyGroup", bound=Group)


def command(
    name: str,
    verb: Verb | None = None,
    **attributes: Any,  # noqa: ANN401 (click's)
) -> Callable[[Callable[..., Any]], Command]:
    """Make a function the command of `verb`, or of the one called `name`; its docstring tells the details.

    The verb `bot plan` is the command `plan` of a group.
    """
    told = verb or VERBS[name]
    given = {"cls": Command, "examples": told.examples, "rare": told.rare, **attributes}

    def decorate(function: Callable[..., Any]) -> Command:
        text = f"{told.summary}\n\n{cleandoc(function.__doc__ or '')}"
        decorator: Any = click.command(name.rpartition(" ")[2], help=text, **given)
        made: Command = decorator(function)
        return made

    return decorate


def group(name: str, usage: str, cls: type[AnyGroup]) -> Callable[[Callable[..., Any]], AnyGroup]:
    """Make a function the group of the verb `name`, which is called as `usage` says."""
    decorate: Any = command(name, cls=cls, subcommand_metavar=usage, options_metavar="")
    return decorate  # type: ignore[no-any-return]


def wants_all(ctx: click.Context) -> bool:
    """Return True if the whole help is requested."""
    return bool(ctx.meta.get(_ALL))


def _show_all(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:  # noqa: FBT001 (click's)
    del parameter
    if value and not ctx.resilient_parsing:
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


def _row(option: click.Option, ctx: click.Context) -> tuple[str, str]:
    """Return names and help of an option; ranges of numbers appear only in errors."""
    names, text = option.get_help_record(ctx) or ("", "")
    return names.replace("INTEGER RANGE", "NUMBER"), _RANGE.sub("", text)


# --- The typed command line, for hints that repeat it with a word corrected

_WORDS: Final = "mdplan.typed_words"


def retyped(old: str, new: str) -> str | None:
    """Return the running command with `new` in place of `old`, or None unless that was typed once."""
    context = click.get_current_context(silent=True)
    words = context.meta.get(_WORDS, ()) if context is not None else ()
    places = [index for index, word in enumerate(words) if word == old or word.endswith(f"={old}")]
    if len(places) != 1:
        return None
    (at,) = places
    meant = words[at].removesuffix(old) + new
    return shell.join(["mdplan", *words[:at], meant, *words[at + 1 :]])


# --- Exit code and error message of the process

NAME: Final = "mdplan"


def exit_code(run: Callable[[], object]) -> int:
    """Call `run` and return one of the codes of `Exit`: the result of `run`, if it returns one."""
    try:
        code = run()
        return int(code) if isinstance(code, int) else Exit.DONE
    except KeyboardInterrupt:
        # After the ^C that a terminal shows.
        write_error("\ninterrupted")
        return Exit.INTERRUPTED
    except OSError as error:
        # The engine returns what storage meets, so this is about the standard streams: a full disk, mostly.
        _raise_if_debugging()
        mute(sys.stdout)
        write_error(f"error: IO_ERROR: {error.strerror or type(error).__name__}")
        return Exit.ENVIRONMENT
    except Exception as bug:  # noqa: BLE001 (the last line of defence)
        _raise_if_debugging()
        write_error(
            f"mdplan met a bug in itself: {type(bug).__name__} in {_place(bug)} (mdplan {__version__}).\n"
            "Please report this line to its authors, with the command that you ran. "
            "MDPLAN_DEBUG=1 shows where it happened; that may contain text of your files."
        )
        return Exit.BUG


def _raise_if_debugging() -> None:
    if os.environ.get("MDPLAN_DEBUG") == "1":
        raise  # noqa: PLE0704 (called from `except` alone)


def _place(bug: Exception) -> str:
    """Module and line where `bug` was raised."""
    trace = bug.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "an unknown place"
    return f"{trace.tb_frame.f_globals.get('__name__', '?')}:{trace.tb_lineno}"
