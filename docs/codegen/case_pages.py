"""Pages of operations and error codes, with examples from the golden cases."""

import ast
import errno
import inspect
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from docs.codegen.cases import CaseText, GoldenCases
from docs.codegen.pages import as_json, fenced, linked, one_line_json, page, table, with_linked_codes
from mdplan import words
from mdplan.cli.edit_options import EditOptions, example_command
from mdplan.diagnostics import Code, Exit
from mdplan.field_names import EDIT_SYNONYMS
from mdplan.operations import OPERATIONS
from mdplan.operations.base import SectionTargeted
from mdplan.operations.keys import DataOperation
from mdplan.requests.schemas import FieldReference, OperationReference, operation_reference
from mdplan.requests.spellings import SPELLINGS
from mdplan.storage.filesystem import of_error

_OPERATION_PAGES: Final = "docs/reference/operations"
_CODE_PAGES: Final = "../errors"
_OF_OPERATIONS: Final = """\
An edit is one JSON object: `op`, a target, a payload, guards.
You can omit `op` if the fields imply it: `pattern` and `replacement` imply `replace_match`, `lines` and `markdown` imply `replace_lines`, `line` and `markdown` imply `insert_lines`, and `diff` implies `apply_diff`.
`mdplan edit OPERATION FILE` makes one edit from a shell. Links to renamed and moved headings and files follow there; `--no-follow` leaves them as they are.
`mdplan help OPERATION` explains the fields in a terminal, and `mdplan schema op OPERATION` prints a JSON Schema.
The [rules](semantics-rules.md) for positions, section names and matches apply to all operations."""
_SPELLINGS: Final = """\
mdplan also accepts these older names of operations, and reports use the name from the batch.
`preview_match` is `replace_match` with `"preview": true`, and takes no `replacement`. The others take the fields of their operation.
In front matter keys, only dots are special: `a[0]` is one name. There `null` means absent; use `values` to set a null.
In INI files, `section` is the name of the section, absent for keys before the first one, and `key` is one name."""
_EFFECTS: Final = {
    "create": "It creates the file.",
    "delete": "It deletes the file.",
    "rename": "It renames the file.",
}
_ALWAYS: Final = """\
Any operation can also report [codes](../errors.md) about the file, the batch or the commit."""


def operation_pages(golden: GoldenCases) -> dict[str, str]:
    """Return the index and the page of each operation, by path."""
    references = {op: operation_reference(op) for op in OPERATIONS}
    rows = ((f"[`{op}`](operations/{op}.md)", found.summary) for op, found in references.items())
    spelled = ((f"`{name}`", f"[`{each.op}`](operations/{each.op}.md)") for name, each in SPELLINGS.items())
    index = page(
        "Operations",
        _OF_OPERATIONS,
        table(["Operation", "Purpose"], rows),
        "## Other spellings",
        _SPELLINGS,
        table(["Spelling", "Operation"], spelled),
    )
    pages = {
        f"{_OPERATION_PAGES}/{op}.md": _operation_page(found, golden) for op, found in references.items()
    }
    return {f"{_OPERATION_PAGES}.md": index, **pages}


def _operation_page(reference: OperationReference, golden: GoldenCases) -> str:
    refusals = golden.refusals.get(reference.op, {}).items()
    rows = ((f"[`{code}`]({_CODE_PAGES}/{code}.md)", message) for code, message in refusals)
    return page(
        reference.op,
        with_linked_codes(reference.summary, _CODE_PAGES),
        with_linked_codes(reference.details, _CODE_PAGES),
        *_operation_example(reference, golden),
        "## Fields",
        table(["Field", "Value", "Default", "Meaning"], map(_field_row, reference.fields)),
        " ".join(_remarks(reference)),
        "## Refusals",
        table(["Code", "For example"], rows),
        _ALWAYS,
    )


def _operation_example(reference: OperationReference, golden: GoldenCases) -> Iterator[str]:
    """Return the request of the example between the files before and after it."""
    case = golden.example_of(reference.op)
    yield "## Example"
    yield from _files(case, "before")
    yield "Request:"
    yield as_json({"file": reference.file, "edits": [dict(reference.example)]})
    command = example_command(EditOptions.of(reference.op))
    file = re.search(r"@(new\.\w+)", command)
    yield f"In a shell, with that text in `{file[1]}`:" if file else "In a shell:"
    yield fenced(command, "sh")
    yield from _files(case, "after")
    report = case.json("report") if case else None
    if report is not None:
        yield "Part of the report:"
        yield as_json(report)


def _files(case: CaseText | None, role: str) -> Iterator[str]:
    for block in case.find(role) if case else ():
        path = f"`{case.path_of(block)}`" if case else ""
        if "unchanged" in block.attributes:
            yield f"{path} does not change."
        elif "deleted" in block.attributes:
            yield f"{path} is deleted."
        else:
            yield f"{path} {role}:"
            yield fenced(block.text, block.language)


def _remarks(reference: OperationReference) -> Iterator[str]:
    """Return the remarks of the models on their fields."""
    model = OPERATIONS[reference.op]
    if not reference.fields:
        yield "It has no fields."
    if issubclass(model, SectionTargeted):
        verb = "Name" if model.target_is_required else "You can name"
        yield f"{verb} a section with exactly one of `sectionId`, `headingPath`, `heading` and `anchor`:"
        yield "see [sections](../semantics-rules.md#sections)."
    if issubclass(model, DataOperation):
        yield "The operation edits YAML, JSON, TOML and INI files, and front matter."
    elif model.needs_markdown:
        yield "The operation edits Markdown."
    else:
        yield "The operation edits any text."
    if model.file_effect != "edit":
        yield _EFFECTS[model.file_effect]
    names = {field.name for field in reference.fields}
    for name in sorted(names & set(EDIT_SYNONYMS.values())):
        others = " and ".join(f"`{each}`" for each, meant in EDIT_SYNONYMS.items() if meant == name)
        yield f"mdplan reads {others} as `{name}`."


def _field_row(field: FieldReference) -> tuple[str, str, str, str]:
    if field.is_required:
        default = "required"
    else:
        default = "" if field.default is None else one_line_json(field.default)
    return f"`{field.name}`", field.kind, default, field.description


_ERROR_PAGES: Final = "docs/reference/errors"
_PACKAGE: Final = Path(__file__).parents[2] / "mdplan"
_OF_CODES: Final = """\
A refusal has `ok: false`, the first `error`, and all problems of all edits in `diagnostics`.
Each problem has one of these codes, a message (what and where), and usually a hint (the next step, with values to paste), `candidates` or `near` positions.
mdplan has written nothing then, unless `applied` is true.
Messages contain no text of files.

The first error determines the exit code of the command. Warnings stop nothing."""
_EXITS: Final[Mapping[Exit, str]] = {
    Exit.DONE: "done",
    Exit.WOULD_CHANGE: "`--check`, and something would change",
    Exit.INVALID: "usage, or an invalid batch",
    Exit.REFUSED: "refused",
    Exit.STALE: "a file has changed since the plan was made",
    Exit.APPROVAL: "a person has not approved, or has rejected",
    Exit.ENVIRONMENT: "environment: I/O, lock, recovery",
    Exit.BUG: "a bug in mdplan",
    Exit.INTERRUPTED: "interrupted",
}


def error_pages(golden: GoldenCases) -> dict[str, str]:
    """Return the index and the page of each code, by path."""
    texts = messages_in(_PACKAGE)
    exits = table(["Exit code", "Meaning"], ((str(code.value), _EXITS[code]) for code in Exit))
    rows = ((f"[`{code}`](errors/{code}.md)", _exit_words(code), _first_sentence(code)) for code in Code)
    index = page(
        "Errors and warnings",
        _OF_CODES,
        "## Codes",
        table(["Code", "Exit code", "Meaning"], rows),
        "## Exit codes",
        exits,
    )
    pages = {f"{_ERROR_PAGES}/{code}.md": _error_page(code, golden, texts.get(code, ())) for code in Code}
    return {f"{_ERROR_PAGES}.md": index, **pages}


def _error_page(code: Code, golden: GoldenCases, texts: tuple[tuple[str, str], ...]) -> str:
    if code.exit is Exit.DONE:
        exit_code = "A warning: it stops nothing."
    else:
        exit_code = f"Exit code {code.exit.value}: {_EXITS[code.exit]}."
    shown = golden.diagnostics.get(code)
    content = (
        tuple(_code_example(code, shown, golden))
        if shown is not None
        else tuple(_message_blocks(code, texts))
    )
    operations = golden.operations.get(code, ())
    where = f"## Seen with\n\n{linked(operations, '../operations')}" if operations else ""
    return page(code, exit_code, meanings()[code], *content, where)


def _code_example(code: Code, shown: Mapping[str, Any], golden: GoldenCases) -> Iterator[str]:
    case = golden.case_of(code)
    batch = case.json("batch") if case else None
    yield "## Example"
    if batch is not None:
        yield as_json(batch)
        yield "Response:"
    yield fenced(_message_text(code, shown["message"], shown.get("hint", "")))


def _message_blocks(code: Code, texts: tuple[tuple[str, str], ...]) -> Iterator[str]:
    if texts:
        yield "## Messages"
        yield from (fenced(_message_text(code, message, hint)) for message, hint in texts)


def _message_text(code: Code, message: str, hint: str) -> str:
    return f"{code}: {message}" + (f"\n  hint: {hint}" if hint else "")


def _exit_words(code: Code) -> str:
    return "warning" if code.exit is Exit.DONE else str(code.exit.value)


def _first_sentence(code: Code) -> str:
    """Return the first sentence of a meaning, with links relative to the index."""
    sentence, _, _ = meanings()[code].partition(". ")
    return sentence.removesuffix(".").replace("](../", "](") + "."


_CONSTRUCTORS: Final = frozenset({"Diagnostic", "Diagnostic.warning", "StorageRefused.of"})
_FILLED: Final = "…"
_FIELDS: Final = dict.fromkeys(("file", "first", "last", "now"), _FILLED)
_SYSTEM_ERRORS: Final = (errno.EACCES, errno.EBUSY, errno.EIO, errno.ENOSPC, errno.EROFS)


@cache
def messages_in(package: Path) -> dict[str, tuple[tuple[str, str], ...]]:
    """Return messages and hints in the modules of `package` by code, for problems no golden case can show.

    Full disks, other processes and other users are not folders of files. So the texts are read from the code
    that makes a diagnostic, and from the translation of system errors. An ellipsis represents inserted
    values.
    """
    found: dict[str, dict[tuple[str, str], None]] = {}
    for number in _SYSTEM_ERRORS:
        problem = of_error(OSError(number, ""), _FILLED, "writing")
        message = problem.message.replace(os.strerror(number), _FILLED)
        found.setdefault(problem.code, {})[message, problem.hint] = None
    for defined in (defined for defined in Code if defined.message):
        message, hint = (words.say(text, **_FIELDS) for text in (defined.message, defined.hint))
        found.setdefault(defined, {})[message, hint] = None
    for module in sorted(package.rglob("*.py")):
        data = module.read_bytes()
        for code, message, hint in _messages_of(ast.parse(data)) if b"Code." in data else ():
            found.setdefault(code, {})[message, hint] = None
    return {code: tuple(sorted(texts)) for code, texts in found.items()}


def said(node: ast.Call, example: str) -> str:
    """Return the text that a call of `say` or `either` makes, with an `example` for inserted values."""
    tree = ast.fix_missing_locations(ast.Expression(_filled(node, example)))
    text: str = eval(compile(tree, "text", "eval"), vars(words))  # noqa: S307 (of our own code)
    return text


# Represents the name of a value given when the diagnostic is made.
_NAMES: Final = {"Argument": "pattern", "Arguments": "pattern", "Meaning": "pattern", "Option": "--max-files"}


def _filled(node: ast.expr, example: str) -> ast.expr:
    match node:
        case ast.Call(func=ast.Name(id=name)) if hasattr(words, name):
            arguments = [_filled(part, _NAMES.get(name, example)) for part in node.args]
            keywords = [
                ast.keyword(part.arg, _filled(part.value, example)) for part in node.keywords if part.arg
            ]
            return ast.Call(node.func, arguments, keywords)
        case ast.Constant():
            return node
        case _:
            return ast.Constant(example)


def _messages_of(tree: ast.AST) -> Iterator[tuple[str, str, str]]:
    for scope in ast.walk(tree):
        if isinstance(scope, ast.Module | ast.FunctionDef):
            nodes = tuple(_own_nodes(scope))
            names = _named_texts(nodes)
            for node in nodes:
                match node:
                    case ast.Call() if ast.unparse(node.func).removeprefix("filesystem.") in _CONSTRUCTORS:
                        given = dict(zip(("code", "message", "hint"), node.args, strict=False))
                        given |= {each.arg: each.value for each in node.keywords if each.arg}
                        yield from _message(given.get("code"), given.get("message"), given.get("hint"), names)
                    case ast.Call(
                        func=ast.Attribute(value=code, attr="problem" | "warning"),
                        args=args,
                        keywords=keywords,
                    ):
                        given = dict(zip(("message", "hint"), args, strict=False))
                        given |= {each.arg: each.value for each in keywords if each.arg}
                        yield from _message(code, given.get("message"), given.get("hint"), names)
                    case ast.Tuple(elts=[_, code, reason, hint]):
                        # A row of a table of reasons: the file is named before them.
                        for found, text, next_step in _message(code, reason, hint, names):
                            yield found, f"`{_FILLED}` {text}", next_step
                    case _:
                        pass


def _message(
    code: ast.expr | None, message: ast.expr | None, hint: ast.expr | None, names: dict[str, str]
) -> Iterator[tuple[str, str, str]]:
    text = _text_of(message, names)
    match code:
        case ast.Attribute(value=ast.Name(id="Code"), attr=found) if text is not None:
            yield found, text, _text_of(hint, names) or ""
        case _:
            pass


def _own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """Nodes below `scope` that are in no function inside it."""
    for node in ast.iter_child_nodes(scope):
        if not isinstance(node, ast.FunctionDef):
            yield node
            yield from _own_nodes(node)


def _named_texts(nodes: Iterable[ast.AST]) -> dict[str, str]:
    """Return names to which `nodes` assign texts, with the first of them."""
    found: dict[str, str] = {}
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found.setdefault(name, _text_of(value, {}) or _FILLED)
            case _:
                pass
    return found


def _text_of(node: ast.expr | None, names: dict[str, str]) -> str | None:
    """Return a text as written in the code; None if it is assembled elsewhere."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(_text_of(part, {}) or _FILLED for part in parts)
        case ast.Call(func=ast.Name(id="say" | "either")):
            return said(node, _FILLED)
        case ast.Name(id=name):
            return names.get(name)
        case ast.IfExp(orelse=other):
            return _text_of(other, names)
        case _:
            return None


_COMMENTED: Final = re.compile(r"((?:^    #: .*\n)+)    (\w+) = ", re.MULTILINE)


@cache
def meanings() -> Mapping[Code, str]:
    """Return what each code means, from the comment above it."""
    comments = _COMMENTED.findall(inspect.getsource(Code))
    return {Code[name]: " ".join(re.findall("#: (.*)", text)) for text, name in comments}
