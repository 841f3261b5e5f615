"""Message texts with values that each kind of caller reads in its own terms.

A hint names the next step: a field of an edit, another verb, a command. These are values, as in ``say("look
at the file, and send its hash as {baseSha256}")``. Each kind of caller has a subclass of `Words`, which
writes values as this caller would type them, and omits what it cannot do.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from typing import Any, ClassVar, Final, Self

from mdplan.text import shell
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.values import Struct, replace

_CAPITAL: Final = lazy_pattern("[A-Z]")


def snake_case(name: str) -> str:
    """Convert `name` to Python style: ``section_id`` for `sectionId`."""
    return _CAPITAL.sub(lambda match: "_" + match[0].lower(), name)


# --- Values: each is written by the method of `Words` with the lower-case class name, called with the same
# arguments


class Value:
    """A part of a text that depends on the caller."""

    def __init__(self, *given: Any, **named: Any) -> None:  # noqa: ANN401 (of many types)
        self.given, self.named = given, named

    def told_by(self, words: "Words") -> str | None:
        """Return the value in `words`, or None if the caller cannot use it."""
        told: str | None = getattr(words, type(self).__name__.lower())(*self.given, **self.named)
        return told


class Argument(Value):
    """``Argument(name)``: a field of an edit or request; ``Argument(name, value)``: with a value."""


class Send(Value):
    """``Send(name, value)``: the advice to send a field with a value."""


class Arguments(Value):
    """``Arguments(*names, joint="or")``: several fields."""


class Meaning(Value):
    """``Meaning(name, text)``: the advice to give a field, with its meaning from the schema."""


class Op(Value):
    """``Op(name)``: an operation."""


class Step(Value):
    """``Step("stat", file="my docs")``: a verb of mdplan with its arguments."""


class Command(Value):
    """``Command("review", "--list")``: a command of mdplan, for a person."""


class Run(Command):
    """A command, and the advice to run it."""


class Option(Value):
    """``Option("--max-lines")``: an option of the person who starts mdplan."""


class Heading(Value):
    """``Heading(path, noun)``: a heading path, preceded by `noun` if shown as JSON."""


class Nearest(Value):
    """``Nearest(text)``: possible targets, the same as the candidates of the problem."""


class Reference(Value):
    """``Reference(name)``: where the caller finds the ``operations`` or the ``batch`` fields.

    ``look`` is the advice to look at a file, if the agent need not send its hash afterwards.
    """


class Clauses(Value):
    """``Clauses(texts, joint)``: alternative advice; the caller gets what it can follow."""


class Text(str):
    """A text with values in its `parts`; as a plain string it uses JSON terms."""

    __slots__ = ("parts",)
    parts: tuple[str | Value, ...]

    def __new__(cls, *parts: str | Value) -> Self:
        """Join `parts`, flattening texts."""
        flat = [inner for part in parts for inner in (part.parts if isinstance(part, Text) else (part,))]
        told = [part if isinstance(part, str) else part.told_by(_WIRE) for part in flat]
        text = super().__new__(cls, "" if None in told else "".join(filter(None, told)))
        text.parts = tuple(flat)
        return text

    def __add__(self, other: str) -> str:
        return Text(self, other)

    def __radd__(self, other: str) -> str:
        return Text(other, self)

    def __getnewargs__(self) -> tuple[str | Value, ...]:  # type: ignore[override]
        """Return the arguments for copying."""
        return self.parts


# In a template: ``{headingPath}``, ``{heading or anchor}``, ``{levels="body"}``, ``{send levels="body"}``,
# ``{replace_lines}``, ``{step stat}``, ``{see batch}``, ``{run recover --foreign}``, ``{--max-lines}``.
_REFERENCE: Final = lazy_pattern(
    r"\{(?:send (?P<send>[^}]+)|(?P<field>[a-z][a-zA-Z0-9]*=[^}]+)|(?P<op>[a-z]+(?:_[a-z]+)+)"
    r"|step (?P<step>\w+)|see (?P<see>\w+)|run (?P<run>[^}]+)|mdplan (?P<command>[^}]+)"
    r"|(?P<option>--[a-z-]+)|(?P<names>[a-z][a-zA-Z0-9]*(?:(?:, | or | and )[a-z][a-zA-Z0-9]*)*)|)\}"
)


def say(template: str, *values: object, **named: object) -> str:
    """Return `template` as a text, with `values` for its ``{}`` and `named` values by name."""
    given, parts, at = iter(values), list[str | Value](), 0
    for match in _REFERENCE.finditer(template):
        kind, said = match.lastgroup, match[match.lastgroup or 0]
        value = next(given) if kind is None else named[said] if said in named else _MEANT[kind](said)
        parts += [template[at : match.start()], value if isinstance(value, str | Value) else str(value)]
        at = match.end()
    return Text(*parts, template[at:])


def _named(names: str) -> Value:
    first, *others = names.replace(",", "").split()
    return Arguments(first, *others[:-2], others[-1], joint=others[-2]) if others else Argument(first)


def _with_value(written: str, kind: type[Value] = Argument) -> Value:
    name, _, value = written.partition("=")
    return kind(name, json.loads(value))


_MEANT: Final[Mapping[str, Callable[[str], Value]]] = {
    "command": lambda words: Command(*words.split()),
    "field": _with_value,
    "names": _named,
    "op": Op,
    "option": Option,
    "run": lambda words: Run(*words.split()),
    "see": Reference,
    "send": lambda written: _with_value(written, Send),
    "step": Step,
}


def join(texts: Iterable[str], joint: str) -> str:
    """Join `texts` with `joint`."""
    parts = [part for text in texts for part in (joint, text)]
    return Text(*parts[1:])


def either(*clauses: str, joint: str = ", or ") -> str:
    """Return alternative advice as one text; each caller gets what it can follow."""
    return Text(Clauses(clauses, joint))


def listed(names: Iterable[str], joint: str) -> str:
    """Return the deduplicated `names` as a list, with `joint` before the last."""
    *most, last = dict.fromkeys(names)
    return f"{', '.join(most)}{f' {joint} ' if joint else ', '}{last}" if most else last


# --- Words


class Words:
    """The terms of JSON: how reports are stored, and the basis for all callers.

    `problem` is the diagnostic being written. Commands include its file, unless a hint is for many files.
    """

    problem: Any = None
    names_file: bool = True
    has_options: ClassVar[bool] = True
    references: ClassVar[Mapping[str, str]] = {
        "batch": "`mdplan schema batch`",
        "look": "look at the file, and send",
        "operations": "the list of operations",
    }

    @property
    def file(self) -> str | None:
        """The file of the problem, if a command may include it."""
        return self.problem.file if self.names_file and self.problem is not None else None

    def text(self, text: str) -> str:
        """Return `text` in these terms, or empty if the caller cannot use it."""
        return self.clause(text) or ""

    def clause(self, text: str) -> str | None:
        """Return `text` in these terms, or None if the caller cannot use it."""
        if not isinstance(text, Text):
            return text
        told = [part if isinstance(part, str) else part.told_by(self) for part in text.parts]
        return None if None in told else "".join(filter(None, told))

    def tell(self, problem: Any) -> Any:  # noqa: ANN401 (diagnostics know this module)
        """Return the diagnostic `problem` in these terms."""
        words = copy(self)
        words.problem = problem
        return replace(problem, message=words.text(problem.message), hint=words.text(problem.hint))

    def tell_all(self, value: Any) -> Any:  # noqa: ANN401 (a report, or a part of one)
        """Return `value`, a report or part of one, with its problems in these terms."""
        if isinstance(value, tuple):
            return tuple(map(self.tell_all, value))
        if hasattr(value, "hint"):
            return self.tell(value)
        if not isinstance(value, Struct):
            return value
        told = {name: self.tell_all(getattr(value, name)) for name in _WITH_PROBLEMS if hasattr(value, name)}
        return replace(value, **told) if told else value

    def name(self, field: str) -> str:
        """Return a field name."""
        return field if any(map(str.isupper, field)) else f"`{field}`"

    def field(self, name: str, value: object) -> str | None:
        """Return a field with its value."""
        return f'`"{name}": {json.dumps(value, ensure_ascii=False)}`'

    def argument(self, name: str, value: object = ...) -> str | None:
        """Return a field name, or the field with its value."""
        return self.name(name) if value is ... else self.field(name, value)

    def arguments(self, *names: str, joint: str = "or") -> str:
        """Return a list of names."""
        return listed(names, joint)

    def send(self, name: str, value: object) -> str | None:
        """Return the advice to send a field."""
        field = self.field(name, value)
        return f"send {field}" if field else None

    def meaning(self, name: str, text: str) -> str:
        """Return the advice to give a field, with its meaning."""
        return f"give {self.name(name)}{text}"

    def op(self, name: str) -> str:
        """Return an operation name."""
        return name

    def step(self, verb: str, **arguments: str) -> str | None:
        """Return the call of a verb."""
        tool, given = _TOOLS.get(verb, (None, {}))
        given = {**given, **arguments}
        return f"{tool} {json.dumps(given, ensure_ascii=False)}" if given and tool else tool

    def command_line(self, *words: str) -> str:
        """Return a command line for a shell."""
        return shell.join(["mdplan", *words])

    def command(self, *words: str) -> str:
        """Return a command line as code."""
        return f"`{self.command_line(*words)}`"

    def run(self, *words: str) -> str:
        """Return the advice to run a command."""
        return f"run {self.command(*words)}"

    def option(self, name: str) -> str | None:
        """Return an option, or None for callers that do not start the program."""
        return f"`{name}`" if self.has_options else None

    def reference(self, name: str) -> str:
        """Return where the caller finds `name`."""
        return self.references[name]

    def heading(self, path: Sequence[str], noun: str = "") -> str:
        """Return a heading path, truncated if long."""
        text = json.dumps(list(path), ensure_ascii=False)
        return noun + (text if len(text) <= _MOST_OF_A_PATH else f"{text[: _MOST_OF_A_PATH - 1]}…")

    def nearest(self, text: str) -> str:
        """Return the nearest targets."""
        return f"nearest: {self.text(text)}"

    def clauses(self, texts: Sequence[str], joint: str) -> str | None:
        """Return the advice that the caller can follow."""
        return joint.join(filter(None, map(self.clause, texts))) or None


# The tool and fixed arguments of each verb.
_TOOLS: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = {
    **{verb: ("md_stat", {}) for verb in ("stat", "ids", "anchors")},
    "read": ("md_read", {}),
    "search": ("md_search", {}),
    "find": ("md_search with `where`", {}),
    "plan": ("md_validate", {}),
    "apply": ("md_apply", {}),
    "history": ("md_history", {}),
    "undo": ("md_history", {"action": "undo"}),
}
_MOST_OF_A_PATH: Final = 300
_WITH_PROBLEMS: Final = ("error", "diagnostics", "warnings", "skipped", "results", "edit_results", "problem")
_WIRE: Final = Words()


class AgentWords(Words):
    """The terms of an agent with the toolset `md`."""

    has_options = False
    references: ClassVar[Mapping[str, str]] = {
        "batch": "the input schema of the tool",
        "look": "look at the file (md_read, md_search or md_stat), or send",
        "operations": "the description of `op` in md_apply",
    }

    def run(self, *words: str) -> str:
        """Return the advice to ask the user to run a command."""
        return f"ask the user to {super().run(*words)}"

    def nearest(self, text: str) -> str:
        """Return the nearest targets unless the candidates list them: agents pay for both."""
        has_candidates = self.problem is not None and self.problem.candidates
        return "one of these may be meant" if has_candidates else super().nearest(text)


class OtherToolWords(AgentWords):
    """The terms of an agent with a toolset that lacks these verbs."""

    references: ClassVar[Mapping[str, str]] = {
        **Words.references,
        "batch": "the input schema of the tool",
        "operations": "the description of the tool",
    }

    def step(self, verb: str, **arguments: str) -> None:
        """Return None."""
        del verb, arguments


class PythonWords(Words):
    """The terms of a Python caller of an engine or an in-memory document."""

    has_options = False
    references: ClassVar[Mapping[str, str]] = {
        **Words.references,
        "batch": "the signatures in `mdplan.edits`",
        "operations": "the list in `mdplan.edits`",
    }

    def __init__(self, *, of_document: bool = False) -> None:
        self.of_document = of_document

    def name(self, field: str) -> str:
        """Return the name of a field."""
        of_bytes = " of `Document.from_bytes`" if self.of_document and field == "encoding" else ""
        return f"`{snake_case(field)}`{of_bytes}"

    def field(self, name: str, value: object) -> str | None:
        """Return a keyword argument."""
        return None if self.of_document and name in _OF_FILES else f"`{snake_case(name)}={value!r}`"

    def arguments(self, *names: str, joint: str = "or") -> str:
        """Return a list of names."""
        return listed(map(self.name, names), joint)

    def step(self, verb: str, **arguments: str) -> str | None:
        """Return a method call."""
        if verb not in _TOOLS:
            return None
        verb = {"ids": "stat", "anchors": "stat", "find": "search"}.get(verb, verb)
        if self.of_document:
            return f"`document.{verb}()`" if verb in _OF_DOCUMENTS else None
        if verb == "undo":
            return f"`engine.undo({arguments['transaction']!r})`"
        given = arguments or ({"file": self.file} if verb == "stat" and self.file else None)
        return f"`engine.{verb}({given})`" if given else f"`engine.{verb}`"


_OF_DOCUMENTS: Final = frozenset({"stat", "read", "search", "plan", "apply"})
_OF_FILES: Final = frozenset({"updateReferences", "onStale", "file", "files", "glob", "expectedFiles"})


class ShellWords(Words):
    """The terms of a person in a shell, on the review page, or in code scanning.

    Commands apply to the `roots` of the typed command.
    """

    references: ClassVar[Mapping[str, str]] = {
        **Words.references,
        "batch": "`mdplan help batch`",
        "operations": "`mdplan help`",
    }

    def __init__(self, roots: Sequence[str] = ()) -> None:
        self.roots = roots

    def field(self, name: str, value: object) -> str | None:
        """Return a batch field, or the option that replaces it."""
        return f"`--{value}`" if name == "onStale" else super().field(name, value)

    def step(self, verb: str, **arguments: str) -> str | None:
        """Return a command, with the file of the problem if needed."""
        files = list(arguments.values()) or ([self.file] if verb in _ABOUT_A_FILE and self.file else [])
        return f"`{self.command_line(*_COMMANDS.get(verb, (verb,)), files=map(_short, files))}`"

    def command_line(self, *words: str, files: Iterable[str] = ()) -> str:
        """Return a command line on the roots, for a shell."""
        names = list(files)
        roots = [word for root in self.roots for word in ("--root", root)]
        end = ["--"] if any(name.startswith("-") for name in names) else []
        return super().command_line(*words, *roots, *end, *names)


# Verbs whose command has another name.
_COMMANDS: Final[Mapping[str, tuple[str, ...]]] = {
    "stat": ("outline",),
    "ids": ("outline", "--long"),
    "anchors": ("outline", "--json"),
    "find": ("search",),
    "similar": ("search", "-i", "TEXT"),
    "plan": ("plan", "BATCH"),
}
_ABOUT_A_FILE: Final = frozenset({"stat", "ids", "anchors", "similar"})


def _short(value: str) -> str:
    """Return `value`, abbreviating a plan ID to 12 digits, which every command accepts."""
    return value[7:19] if value.startswith("sha256-") else value


def commands_for_tools(description: str) -> str:
    """Return the `description` of a field with commands in place of tools."""
    description = description.replace("md_stat", "`mdplan outline --long`")
    return description.replace("md_read", "`mdplan read --long`")
