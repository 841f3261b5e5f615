"""Pages of the command line, limits, variables, tools and Python, and the blocks that all pages consist of."""

import ast
import inspect
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from inspect import Parameter, Signature, cleandoc
from pathlib import Path
from textwrap import dedent, fill
from typing import Any, Final

import click

import mdplan
from mdplan import edits
from mdplan.cli.commands.edit import OperationGroup
from mdplan.cli.program import build_program
from mdplan.cli.usage import NAME
from mdplan.diagnostics import MOST_PROBLEMS, Code
from mdplan.edits.edit_classes import PARTS, SectionAddress, class_of, parameters
from mdplan.engine.engine import Engine
from mdplan.limits import ALL_LIMITS, RESULT_LINES, LimitOption, in_words
from mdplan.markdown.reference_parser import MAX_NESTING
from mdplan.mcp.http_part import IDLE_SECONDS, MOST_SESSIONS
from mdplan.mcp.tool import DEFAULT_TOOLSETS, INTRODUCTIONS, ToolDefinition
from mdplan.mcp.toolsets import chosen_tools
from mdplan.operations import OPERATIONS, class_name
from mdplan.storage.filesystem import FAILPOINT_VARIABLE
from mdplan.storage.user_state import STATE_DIRECTORY_VARIABLE
from mdplan.web.http import BODY_SECONDS, HEAD_SECONDS, MOST_BODY_SECONDS
from mdplan.web.http_options import TOKEN_VARIABLE

_OF_COMMANDS: Final = """\
A batch is JSON or YAML from a file or, with `-`, from standard input.
Diffs and requested text go to standard output, and everything else goes to standard error, so `mdplan plan batch.json | git apply` works.
For help, use `--help` or `-h` (one screen), `--help-all` (everything), or `mdplan help TOPIC`, also for an [operation](operations.md).
The [exit codes](errors.md#exit-codes) are stable. See also [limits](limits.md) and [environment variables](environment.md).

The root is the folder `--root`; by default, the nearest parent folder that mdplan has edited before, the top of the git work tree or Obsidian vault, or the current folder.
Paths on the command line are relative to `--root`, as with `git -C`, or to the current folder without it.
Paths in a batch, a diff or a report are relative to the root.
Batches, manifests and the file of `--output` are relative to the current folder.
`mdplan stat` is the old name of `mdplan outline`."""
_LIMIT_NAMES: Final = frozenset(limit.parameter for limit in ALL_LIMITS)
_REPEATABLE: Final = ("repeat", "Repeat")


def command_page() -> str:
    """Return the page of all commands and their options."""
    (_, program), *commands = all_commands().items()
    listed = bullets(
        f"[`{name}`](#{name.replace(' ', '-')}): {context.command.get_short_help_str(200)}"
        for name, context in commands
    )
    version = f"`{program.command_path} --version` prints the version."
    blocks = [block for name, context in commands for block in _command_blocks(name, context)]
    return page("Command line", _OF_COMMANDS, version, listed, *blocks)


def _command_blocks(name: str, context: click.Context) -> Iterator[str]:
    yield f"## {name}"
    yield fenced(f"{name} {' '.join(context.command.collect_usage_pieces(context))}")
    yield from _help_blocks(context.command.help or "")
    examples = getattr(context.command, "examples", ())
    yield fenced("\n".join(examples)) if examples else ""
    options = options_of(context)
    rows = (_option_row(option, context) for option in options if option.name not in _LIMIT_NAMES)
    yield table(["Option", "Default", "Meaning"], rows)
    limits = [f"`{option.opts[0]}`" for option in options if option.name in _LIMIT_NAMES]
    yield f"Limits: {', '.join(limits)}." if limits else ""


def _help_blocks(text: str) -> Iterator[str]:
    """Return the paragraphs of a help text; preformatted ones become blocks."""
    for paragraph in cleandoc(text).split("\n\n"):
        mark, _, rest = paragraph.partition("\n")
        if mark.strip() == "\b":
            yield fenced(rest)
        else:
            yield with_code_tags(" ".join(paragraph.split("\n")))


def _option_row(option: click.Option, context: click.Context) -> tuple[str, str, str]:
    names = ", ".join([*option.opts, *option.secondary_opts])
    value = "" if option.is_flag else f" {option.make_metavar(context)}".replace("INTEGER RANGE", "NUMBER")
    required = "required" if option.required else ""
    default = option.default if option.show_default and isinstance(option.default, str | int) else None
    return f"`{names}{value}`", required or (f"`{default}`" if default is not None else ""), _meaning(option)


def _meaning(option: click.Option) -> str:
    text = with_code_tags(option.help or "").replace("{{", "`{{").replace("}}", "}}`")
    is_told = any(word in text for word in _REPEATABLE)
    return f"{text} Repeatable." if option.multiple and not is_told else text


_OF_LIMITS: Final = """\
Each limit is an option of the commands below it, an [environment variable](environment.md), and a field of `Settings` in [Python](python.md#settings).
The option takes precedence over the variable.
Times can be fractions, and sizes are plain numbers: 16 MiB is 16777216.

mdplan checks a limit before it does the work, and the refusal ([`FILE_TOO_LARGE`](errors/FILE_TOO_LARGE.md), [`BATCH_TOO_LARGE`](errors/BATCH_TOO_LARGE.md), [`REGEX_TIMEOUT`](errors/REGEX_TIMEOUT.md), [`PARSE_TIMEOUT`](errors/PARSE_TIMEOUT.md), [`LOCK_TIMEOUT`](errors/LOCK_TIMEOUT.md)) names the option.
[Hostile input](../explanation/hostile-input.md#limits) gives the reasons."""
_HTTP_TIMES: Final = "; ".join(f"{each:.0f}" for each in (HEAD_SECONDS, BODY_SECONDS, MOST_BODY_SECONDS))
_FIXED: Final = (
    ("Problems listed per batch; mdplan stops checking then", f"{MOST_PROBLEMS:,}"),
    ("Nesting of lists and quotes; deeper ones cause a warning", f"{MAX_NESTING}"),
    ("A check by a JSON Schema: keywords, and CPU seconds", "300,000; 3"),
    ("Files below the root of a commit; a folder counts as 20", "1,000,000"),
    ("Entries of nested loops in a manifest", f"{RESULT_LINES:,}"),
    (
        "HTTP: seconds for the head of a request, between parts of its body, and for the whole body",
        _HTTP_TIMES,
    ),
    ("HTTP: connections; a new one replaces one that waits for its client, or a stream", "256"),
    ("HTTP: MCP sessions; a new one ends the longest idle one", f"{MOST_SESSIONS}"),
    ("HTTP: seconds until an idle MCP session ends", f"{IDLE_SECONDS:.0f}"),
)


def limit_page() -> str:
    """Return the page of all limits."""
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
        _OF_LIMITS,
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


_OF_VARIABLES: Final = """\
An option takes precedence over its variable.
A manifest sees only the variables that `--env` names."""
_VARIABLES: Final[Mapping[str, str]] = {
    STATE_DIRECTORY_VARIABLE: "Folder of the history, plans and decisions, instead of `mdplan` in the user's state directory. Only you may be able to write it.",
    "XDG_STATE_HOME": "The user's state directory on Linux; else `~/.local/state`.",
    TOKEN_VARIABLE: "The token for clients of `mdplan serve --http`, without `--token-file`.",
    "MDPLAN_PAGER": "The pager for long output on a terminal, with its options; empty or `cat` turns it off.",
    "PAGER": "The same for all programs; `MDPLAN_PAGER` takes precedence.",
    "MDPLAN_EDITOR": "The editor for text and requests, with its options.",
    "VISUAL": "The same for all programs; `MDPLAN_EDITOR` takes precedence.",
    "EDITOR": "The same if `VISUAL` is not set; the default is `vi`.",
    "NO_COLOR": "Turns colors off, with any value.",
    "FORCE_COLOR": "Turns colors on, even if the output is not a terminal.",
    "TERM": "`dumb` turns colors off.",
    "BROWSER": "The program that opens the review page.",
    "GIT_AUTHOR_NAME": "With `bot --git`: the author of the commit, as in git; also `GIT_AUTHOR_EMAIL`, `GIT_AUTHOR_DATE`, the same three with `GIT_COMMITTER_`, and `EMAIL`.",
    "MDPLAN_DEBUG": "`1` prints the traceback of a bug, which can contain text of your files.",
    FAILPOINT_VARIABLE: "For tests of crashes: the step of a commit at which the process ends.",
}


def variable_page() -> str:
    """Return the page of all variables."""
    limits = (
        (f"`{limit.variable}`", f"[`--{limit.name}`](limits.md): {limit.summary}") for limit in ALL_LIMITS
    )
    read = ((f"`{name}`", meaning) for name, meaning in _VARIABLES.items())
    return page(
        "Environment variables",
        _OF_VARIABLES,
        table(["Variable", "Meaning"], read),
        "## Instead of options",
        table(["Variable", "Option"], [*_variables_of_options(), *limits]),
    )


def _variables_of_options() -> Iterator[tuple[str, str]]:
    """Variables of options that are no limits, with the commands that have them."""
    limits = {limit.variable for limit in ALL_LIMITS}
    found: dict[tuple[str, str], list[str]] = {}
    for name, context in all_commands().items():
        for option in options_of(context):
            if isinstance(option.envvar, str) and option.envvar not in limits:
                found.setdefault((option.envvar, option.opts[0]), []).append(name)
    for (variable, option_name), commands in found.items():
        yield f"`{variable}`", f"`{option_name}` of " + ", ".join(f"`{name}`" for name in commands)


_TOOL_PAGES: Final = "docs/reference/tools"
_WIDTH: Final = 88
_OF_TOOLS: Final = """\
`mdplan serve --toolsets` chooses the families of tools that a client gets.
`--tools` offers only some of their tools, and `--read-only` only those that do not write.
A client sees the names, descriptions and arguments as on these pages."""
_REFUSALS: Final = """\
A refusal has `isError`, and its text contains everything: the [code](errors.md), what and where, and the next step.
A success has a short text, and everything in `structuredContent`, with the schemas in [`mdplan/mcp/schemas`](schemas.md#tools).
If an answer is too long, it says how many entries it omits; see [limits](limits.md)."""


def tool_pages() -> dict[str, str]:
    """Return the index and the page of each toolset, by path."""
    tools = published_tools()
    pages = {f"{_TOOL_PAGES}/{toolset}.md": _toolset_page(toolset, tools[toolset]) for toolset in tools}
    rows = [
        (
            f"[`{toolset}`](tools/{toolset}.md)",
            "yes" if toolset in DEFAULT_TOOLSETS else "",
            ", ".join(f"`{tool.name}`" for tool in tools[toolset]),
        )
        for toolset in tools
    ]
    listed = table(["Toolset", "Default", "Tools"], rows)
    return {f"{_TOOL_PAGES}.md": page("MCP tools", _OF_TOOLS, listed, _REFUSALS), **pages}


def _toolset_page(toolset: str, tools: tuple[ToolDefinition, ...]) -> str:
    instructions = f"Instructions that a model gets:\n\n> {INTRODUCTIONS[toolset].instructions}"
    listed = bullets(f"[`{tool.name}`](#{tool.name.lower()}): {tool.title.lower()}" for tool in tools)
    blocks = [block for tool in tools for block in _tool_blocks(tool)]
    return page(f"Toolset {toolset}", instructions, listed, *blocks)


def _tool_blocks(tool: ToolDefinition) -> Iterator[str]:
    yield f"## {tool.name}"
    repeated = "may be repeated" if tool.may_be_repeated else "does more when it is repeated"
    yield f"{tool.title}. {'Writes' if tool.writes else 'Only looks'}; {repeated}."
    yield fenced("\n".join(map(_wrapped, tool.description.split("\n"))))
    yield table(["Argument", "Value", "", "Meaning"], _argument_rows(tool.input_schema))


def _wrapped(line: str) -> str:
    """Wrap a line of a description that is too wide for a page."""
    return fill(line, _WIDTH, subsequent_indent="  " if line.startswith("- ") else "")


def _argument_rows(schema: Mapping[str, Any], outer: str = "") -> Iterator[tuple[str, str, str, str]]:
    """Rows of the fields of an object, and of the objects in them: ``files[].path``."""
    required = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        path = f"{outer}{name}"
        needed = "required" if name in required else ""
        yield f"`{path}`", kind_of(field), needed, with_code_tags(field.get("description", ""))
        inner, mark = (field["items"], "[]") if field.get("type") == "array" else (field, "")
        yield from _argument_rows(inner, f"{path}{mark}.")


_OF_PYTHON: Final = """\
These are the public names of `mdplan`; everything else can change in any version.
The tests run the examples in order, in a folder with the [sample documents](../how-to/use-from-python.md).
Fields of reports and diagnostics are in snake_case; `to_wire` returns them as JSON, with the names of the other interfaces."""
# Methods for mdplan's own modules, as the docstrings of their classes say.
_INNER: Final = frozenset(
    {
        *("commit", "draft", "file_exists", "invalid", "of", "source", "warning"),
        *("committer", "comparer", "document_check", "recovery", "undoing"),
    }
)
_CALLED: Final = frozenset({"classmethod", "property", "staticmethod"})
_PROMPT: Final = ">>> "


def library_page() -> str:
    """Return the page of all public names."""
    names = [name for name in vars(mdplan)["__all__"] if not name.startswith("_")]
    listed = bullets(f"[`{name}`](#{name.lower()})" for name in names)
    blocks = [block for name in names for block in _name_blocks(name)]
    return page("Python", *_docstring(mdplan.__doc__), _OF_PYTHON, listed, *blocks, *_edit_blocks())


def _edit_blocks() -> Iterator[str]:
    """Return the part about `mdplan.edits`: its own classes, and the operations with their signatures."""
    yield "## mdplan.edits"
    yield from _docstring(edits.__doc__)
    public: dict[str, type] = {
        "Section": SectionAddress,
        **{name: class_of(name) for name in ("FileEdits", "Batch")},
    }
    for name, kind in public.items():
        yield f"### edits.{name}"
        yield fenced(f"edits.{name}{_constructor(kind)}", "py")
        yield from _docstring(kind.__doc__)
    yield "### Parts of edits"
    yield bullets(f"`edits.{name}{_constructor(class_of(name))}`" for name in sorted(PARTS))
    yield "### Edits"
    yield bullets(f"[`edits.{class_name(op)}`](operations/{op}.md)" for op in sorted(OPERATIONS))


def _constructor(kind: type) -> str:
    """Return the parameters of the constructor of `kind`, by name."""
    given = parameters(kind) if issubclass(kind, edits.Value) else inspect.signature(kind).parameters.values()
    plain = [each.replace(annotation=Parameter.empty) for each in given]
    return str(Signature(plain, return_annotation=Signature.empty))


def _name_blocks(name: str) -> Iterator[str]:
    found = getattr(mdplan, name)
    (tree,) = ast.parse(dedent(inspect.getsource(found))).body
    yield f"## {name}"
    if isinstance(tree, ast.FunctionDef):
        yield fenced(_signature(tree), "py")
        yield from _docstring(ast.get_docstring(tree))
        return
    assert isinstance(tree, ast.ClassDef), name
    public = [base for base in map(ast.unparse, tree.bases) if base != "Struct"]
    bases = f"({', '.join(public)})" if public else ""
    assigned = (ast.unparse(each) for each in tree.body if isinstance(each, ast.AnnAssign | ast.Assign))
    fields = [each for each in assigned if not each.startswith("_")]
    yield fenced(
        "\n    ".join([f"class {name}{bases}:", *fields]) if fields else f"class {name}{bases}", "py"
    )
    yield from _docstring(ast.get_docstring(tree))
    for each in tree.body:
        if isinstance(each, ast.FunctionDef) and each.name not in _INNER and not each.name.startswith("_"):
            yield f"### {name}.{each.name}"
            yield fenced(_signature(each), "py")
            yield from _docstring(getattr(found, each.name).__doc__)


def _signature(function: ast.FunctionDef) -> str:
    """Return the declaration of `function`, with decorators that affect how it is called."""
    called = [f"@{name}" for each in function.decorator_list if (name := ast.unparse(each)) in _CALLED]
    returns = f" -> {ast.unparse(_unquoted(function.returns))}" if function.returns else ""
    for argument in ast.walk(function.args):
        if isinstance(argument, ast.arg) and argument.annotation:
            argument.annotation = _unquoted(argument.annotation)
    return "\n".join([*called, f"def {function.name}({ast.unparse(function.args)}){returns}"])


def _unquoted(annotation: ast.expr) -> ast.expr:
    """Return `annotation` without the quotes that defer an import."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return ast.parse(annotation.value, mode="eval").body
    return annotation


def _docstring(text: str | None) -> Iterator[str]:
    """Return the paragraphs of a docstring; examples are blocks."""
    for paragraph in inspect.cleandoc(text or "").split("\n\n"):
        if paragraph.startswith(_PROMPT):
            yield fenced(paragraph, "pycon")
        else:
            yield with_linked_codes(" ".join(paragraph.replace("``", "`").split("\n")), "errors")


@cache
def published_tools() -> dict[str, tuple[ToolDefinition, ...]]:
    """Return the tools of each toolset, as on a server that may write."""
    engine = Engine.open([Path(__file__).parent])
    return {toolset: chosen_tools(engine, [toolset], (), read_only=False) for toolset in INTRODUCTIONS}


@cache
def all_commands() -> dict[str, click.Context]:
    """Yield contexts of the program and all its commands by full name, subcommands after their group."""
    program = build_program()
    return {
        context.command_path: context for context in _contexts_below(click.Context(program, info_name=NAME))
    }


def _contexts_below(context: click.Context) -> Iterator[click.Context]:
    yield context
    # The commands of `mdplan edit` have the options of the operations, which have separate pages.
    if isinstance(context.command, click.Group) and not isinstance(context.command, OperationGroup):
        for name in context.command.list_commands(context):
            command = context.command.get_command(context, name)
            assert command is not None, name
            yield from _contexts_below(click.Context(command, info_name=name, parent=context))


def options_of(context: click.Context) -> list[click.Option]:
    """Return the options of a command, except help."""
    return [each for each in context.command.params if isinstance(each, click.Option) and not each.hidden]


NOTE: Final = "<!-- Generated by `make schemas`; do not edit. -->"
_FENCE: Final = re.compile(r"^ {0,3}(`{3,})", re.MULTILINE)
_CODE: Final = re.compile(rf"`[^`]*`|\b({'|'.join(Code)})\b")
_TAG: Final = re.compile(r"`[^`]*`|(<!--.*?-->|</?[\w ]+>)")


def page(title: str, *blocks: str) -> str:
    """Return a page of the non-empty `blocks` below its `title`."""
    return "\n\n".join(block for block in (f"# {title}", NOTE, *blocks) if block) + "\n"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; empty without rows. Cells are single-line Markdown."""
    lines = [f"| {' | '.join(map(_cell, row))} |" for row in rows]
    if not lines:
        return ""
    return "\n".join([f"| {' | '.join(header)} |", f"|{'---|' * len(header)}", *lines])


def fenced(text: str, language: str = "text") -> str:
    """Return `text` as a code block, with a fence longer than any in it."""
    longest = max((len(fence) for fence in _FENCE.findall(text)), default=2)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip(chr(10))}\n{fence}"


def as_json(value: object) -> str:
    """Return `value` as a JSON block, with each list item on a separate line."""
    return fenced("\n".join(_json_lines(value)), "json")


def one_line_json(value: object) -> str:
    """Return `value` as a JSON code span."""
    return f"`{_dumped(value)}`"


def bullets(items: Iterable[str]) -> str:
    """Return a list; empty without items."""
    return "\n".join(f"- {item}" for item in items)


def linked(names: Iterable[str], folder: str) -> str:
    """Links to the pages in `folder` (relative to the page that links) that have these names."""
    return ", ".join(f"[`{name}`]({folder}/{name}.md)" for name in names)


def with_linked_codes(text: str, folder: str) -> str:
    """Return `text` with each error code as a link to its page in `folder`."""
    return _CODE.sub(lambda found: f"[`{found[1]}`]({folder}/{found[1]}.md)" if found[1] else found[0], text)


def with_code_tags(text: str) -> str:
    """Return `text` with anything like an HTML tag or comment as code: ``<from md_stat>``."""
    return _TAG.sub(lambda found: f"`{found[1]}`" if found[1] else found[0], text)


def kind_of(field: Mapping[str, object]) -> str:
    """Describe the type of a field of a flat JSON Schema."""
    match field:
        case {"enum": [*choices]}:
            return " | ".join(map(str, choices))
        case {"type": "array", "items": Mapping() as items}:
            return f"list of {kind_of(items)}"
        case {"type": "object", "properties": Mapping() as properties}:
            return f"{{{', '.join(properties)}}}"
        case {"type": str(kind)}:
            return {"integer": "number", "boolean": "true | false"}.get(kind, kind)
        case _:
            return "any JSON"


def _json_lines(value: object) -> Iterator[str]:
    match value:
        case Mapping() if not _is_flat(value):
            opening, closing = "{", "}"
            items = [(f"{_dumped(name)}: ", inner) for name, inner in value.items()]
        case [Mapping(), *_]:
            opening, closing = "[", "]"
            items = [("", inner) for inner in value]
        case _:
            yield _dumped(value)
            return
    yield opening
    for index, (name, inner) in enumerate(items, 1):
        lines = [_dumped(inner)] if _is_flat(inner) else list(_json_lines(inner))
        lines = [f"{name}{lines[0]}", *lines[1:]]
        yield from (f"  {line}" for line in lines[:-1])
        yield f"  {lines[-1]}" + ("," if index < len(items) else "")
    yield closing


def _is_flat(value: object) -> bool:
    """Return True if `value` contains no list of objects, so that it fits on one line."""
    match value:
        case Mapping():
            return all(map(_is_flat, value.values()))
        case [*items]:
            return not any(isinstance(item, Mapping) for item in items)
        case _:
            return True


def _dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
