"""Options that several commands share, and options made from the fields of requests."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from enum import Enum
from functools import partial
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import click

from mdplan.cli.completion import headings
from mdplan.cli.field_types import LINE_RANGE, index_or_name
from mdplan.diagnostics import Diagnostic, Refused
from mdplan.field_names import spelled_as, value_has_surrogate
from mdplan.limits import LimitOption, in_words
from mdplan.requests.verbs import Verb

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
Decorator = Callable[[Decorated], Decorated]


def option(flags: str, text: str, metavar: str | None = None, **more: Any) -> Decorator[Any]:  # noqa: ANN401 (click's)
    """Return an option with these `flags`, or names, and this help `text`, which shows a default."""
    more.setdefault("show_default", bool(more.get("default")))
    return click.option(*flags.split(), help=text, metavar=metavar, **more)


flag: Final = partial(option, is_flag=True)


approval_option: Final = flag(
    "--require-approval",
    "Commit only what a person approved (`mdplan review`); also by MDPLAN_REQUIRE_APPROVAL=1.",
    envvar="MDPLAN_REQUIRE_APPROVAL",
)


def stale_options(rebase: str = "", merge: str = "", default: str | None = "refuse") -> Decorator[Any]:
    """Give a command ``--rebase`` and ``--merge`` with these helps; the last one typed wins.

    Without a help for ``--rebase`` there is only ``--merge``. `default` applies if both are absent.
    """
    merge = merge or "Where a file has changed, merge the change into it as it is now."
    flags = {"rebase": rebase, "merge": merge} if rebase else {"merge": merge}
    return all_options(
        *(
            click.option(f"--{value}", "on_stale", flag_value=value, default=default, help=text)
            for value, text in flags.items()
        )
    )


def intent_options(prefix: str = "") -> Decorator[Any]:
    """Give a command the options that say what its change is for, as parameters whose names have `prefix`."""
    return all_options(
        option(f"--title {prefix}title", "What the change is for, in one line.", "TEXT"),
        option(f"--description {prefix}description", "Why; what reviewers should look at.", "TEXT"),
    )


class _Duration(click.FloatRange):
    """Finite numbers above 0."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401 (click's)
        """Return the number. Raises a usage error for any other value."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            raise click.BadParameter("it is not a finite number.", ctx, param)
        return number


def _folders(context: click.Context, parameter: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """Let the shell complete folders."""
    from click.shell_completion import CompletionItem

    del context, parameter
    return [CompletionItem(incomplete, type="dir")]


_DURATION: Final = _Duration(min=0, min_open=True)
_SHARED: Final = (
    option(
        "--root roots",
        "Work in this folder, as `git -C` does; repeatable.",
        "[NAME=]FOLDER",
        multiple=True,
        shell_complete=_folders,
    ),
    option("--allow", "Read and edit only files that match; repeatable.", "GLOB", multiple=True),
    option("--deny", "Ignore files that match; repeatable.", "GLOB", multiple=True),
    flag("--json as_json", "Print one JSON object only."),
    option(
        "--color",
        "When to use colors; auto: on terminals, unless NO_COLOR is set.",
        type=click.Choice(("auto", "always", "never")),
        default="auto",
    ),
    flag("--no-pager", "Show long output without a pager; also by NO_PAGER=1."),
    flag("--quiet -q", "Print no summaries and no warnings."),
)
_LONG: Final = flag("--long -l is_long", "Show IDs and hashes too.")


def verb_options(verb: Verb) -> Iterator[Decorator[Any]]:
    """Return the options of `verb`: of its requests, of every `Session`, and of its limits."""
    for request in verb.request_classes:
        hints = get_type_hints(request)
        for each in fields(request):
            if (own := each.metadata["option"]) is not None:
                yield _field_option(each.name, hints[each.name], each.metadata, dict(own))
    yield from (_LONG,) if verb.requests else ()
    yield from _SHARED
    yield from map(_limit_option, verb.limits)


def limit_options(limits: Iterable[LimitOption]) -> Decorator[Any]:
    """Give a command the options of `limits`; a limit that neither user nor environment sets is None."""
    return all_options(*map(_limit_option, limits))


def all_options(*options: Decorator[Any]) -> Decorator[Any]:
    """Return the decorator that adds all `options`; the help text lists them in this order."""

    def decorate(function: Any) -> Any:  # noqa: ANN401 (a function or a command, as click takes them)
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def _limit_option(limit: LimitOption) -> Decorator[Any]:
    return click.option(
        f"--{limit.name}",
        type=_DURATION if limit.is_duration else click.IntRange(limit.least),
        metavar=limit.metavar,
        envvar=limit.variable,
        help=f"{limit.summary}  [{limit.variable}; default: {in_words(limit.default)}]",
    )


def _field_option(
    name: str,
    annotation: Any,  # noqa: ANN401 (any annotation)
    rules: Mapping[str, Any],
    own: dict[str, Any],
) -> Decorator[Any]:
    flags = own.pop("flags", (f"--{name.replace('_', '-')}",))
    if "value" in own:
        value = own.pop("value")
        kind: Mapping[str, Any] = {"is_flag": True, "flag_value": value, "type": click.UNPROCESSED}
    elif "form" in own:
        kind = _FORMS[own.pop("form")]
    else:
        kind = _kind_of(annotation, rules)
    return click.option(*flags, name, **{"default": None, "help": rules["description"], **kind, **own})


# Values with their own typed syntax.
_FORMS: Final[Mapping[str, Mapping[str, Any]]] = {
    "language": {"type": index_or_name("language")},
    "lines": {"type": LINE_RANGE},
    "section": {
        "multiple": True,
        "metavar": "SECTION",
        "shell_complete": headings,
        "help": "A section: its ID or heading; repeated, the headings of a path from outer to inner.",
    },
}


class WordChoice(click.Choice[str]):
    """One of some words, in any spelling: ``code-blocks``, ``code_blocks`` or ``codeBlocks``."""

    def __init__(self, words: Iterable[str], gives: Callable[[str], Any] = str) -> None:
        super().__init__(list(words))
        self._gives = gives

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 (click's)
        """Return the value of the chosen word."""
        return self._gives(super().convert(spelled_as(value, self.choices), param, ctx))


def given_fields(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `options` on the command line. Raises `Refused` for bytes that are not text."""
    given = {name: value for name, value in options.items() if value is not None and value != ()}
    if any(map(value_has_surrogate, given.values())):
        hint = "write it in the encoding of the terminal"
        raise Refused(Diagnostic.invalid("an option contains bytes that are not text", hint))
    return given


def _kind_of(annotation: Any, rules: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ANN401 (any annotation)
    """Return the click type of a field."""
    # Loaded with each request, and not for commands without one.
    from mdplan.requests.queries import FORMAT_PATTERN, FORMATS

    kinds = get_args(annotation) if get_origin(annotation) in {Union, UnionType} else (annotation,)
    # If a field takes one or several values, the command line takes several.
    kind = next((each for each in kinds if get_origin(each) is tuple), kinds[0])
    assert kind is not NoneType, annotation
    if get_origin(kind) is tuple:
        return {**_kind_of(get_args(kind)[0], rules), "multiple": True}
    if kind is bool or get_args(kind) == (True,):
        return {"is_flag": True}
    if get_origin(kind) is Literal:
        return {"type": WordChoice(get_args(kind))}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return {"type": WordChoice([each.value for each in kind], kind)}
    if rules.get("pattern") == FORMAT_PATTERN:
        return {"type": click.Choice(FORMATS)}
    return {"type": click.IntRange(rules.get("ge"), rules.get("le"))} if kind is int else {}
