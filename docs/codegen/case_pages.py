"""Pages of the operations and of the codes, with what the golden cases show of them."""

import ast
import errno
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from docs.codegen.cases import CaseText, GoldenCases
from docs.codegen.pages import as_json, fenced, linked, one_line_json, page, table, with_linked_codes
from mdplan import words
from mdplan.diagnostics import Code, Exit
from mdplan.field_names import EDIT_SYNONYMS
from mdplan.operations import OPERATIONS
from mdplan.operations.base import SectionTargeted
from mdplan.requests.schemas import FieldReference, OperationReference, operation_reference
from mdplan.requests.spellings import SPELLINGS
from mdplan.storage.filesystem import of_error

_OPERATION_PAGES: Final = "docs/reference/operations"
_CODE_PAGES: Final = "../errors"
_OF_OPERATIONS: Final = """\
An edit is one JSON object: `op`, a target, a payload, guards.
`op` is implied by the fields that only one operation has: `pattern` and `replacement` are `replace_match`, `lines` and `markdown` are `replace_lines`, `line` and `markdown` are `insert_lines`, and `diff` is `apply_diff`.
`mdplan help OPERATION` says the same in a terminal, and `mdplan schema op OPERATION` as a JSON Schema.
[Rules](semantics-rules.md) describes what all operations share, such as how places are counted and sections named."""
_SPELLINGS: Final = """\
Batches may call some operations by the names that they had when front matter, INI files and previews had their own.
`preview_match` is `replace_match` with `"preview": true`, and takes no `replacement`.
Fields of the others are those of the operation that they are read as, and reports call each edit as the batch does.
In the keys of front matter only dots count: `a[0]` is one name. A `null` counts as absent there, so that a null is set with `values`.
In INI files `section` is the name of the section, absent for what is before the first one, and `key` is one name."""
_EFFECTS: Final = {
    "create": "It makes its file.",
    "delete": "It removes its file.",
    "rename": "It renames its file.",
}
_ALWAYS: Final = """\
Other [codes](../errors.md) are about the file, the batch or the commit, and any operation can meet them."""


def operation_pages(golden: GoldenCases) -> dict[str, str]:
    """The index and the page of each operation, by their paths."""
    references = {op: operation_reference(op) for op in OPERATIONS}
    rows = ((f"[`{op}`](operations/{op}.md)", found.summary) for op, found in references.items())
    spelled = ((f"`{name}`", f"[`{each.op}`](operations/{each.op}.md)") for name, each in SPELLINGS.items())
    index = page(
        "Operations",
        _OF_OPERATIONS,
        table(["Operation", "What it does"], rows),
        "## Other spellings",
        _SPELLINGS,
        table(["Spelling", "Is read as"], spelled),
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
    """The request of the example between the files before and after it."""
    case = golden.example_of(reference.op)
    yield "## Example"
    yield from _files(case, "before")
    yield "Request:"
    yield as_json({"file": reference.file, "edits": [dict(reference.example)]})
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
    """What the models say next to their fields."""
    model = OPERATIONS[reference.op]
    if not reference.fields:
        yield "It has no fields."
    if issubclass(model, SectionTargeted):
        least = "Exactly" if model.target_is_required else "At most"
        yield f"{least} one of `sectionId`, `headingPath`, `heading` and `anchor` names a section:"
        yield "see [how sections are named](../semantics-rules.md#sections)."
    if model.needs_keys:
        yield "It is for YAML, JSON, TOML and INI files, and for front matter."
    elif model.needs_markdown:
        yield "It is for Markdown."
    else:
        yield "It is for text of any kind."
    if model.file_effect != "edit":
        yield _EFFECTS[model.file_effect]
    names = {field.name for field in reference.fields}
    for name in sorted(names & set(EDIT_SYNONYMS.values())):
        others = " and ".join(f"`{each}`" for each, meant in EDIT_SYNONYMS.items() if meant == name)
        yield f"{others} are read as `{name}`."


def _field_row(field: FieldReference) -> tuple[str, str, str, str]:
    if field.is_required:
        default = "required"
    else:
        default = "" if field.default is None else one_line_json(field.default)
    return f"`{field.name}`", field.kind, default, field.description


_ERROR_PAGES: Final = "docs/reference/errors"
_PACKAGE: Final = Path(__file__).parents[2] / "mdplan"
_OF_CODES: Final = """\
A report that says no has `ok: false`, the first `error`, and all `diagnostics`: every problem of every edit, not the first.
Each has one of these codes, a message (what and where), mostly a hint (the next step, with values that can be pasted), and where they help, `candidates` and `near` places.
Nothing was written then, unless `applied` says so.
Messages contain no text of files.

The first error gives the command line its exit code.
Warnings stop nothing."""
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
    """The index and the page of each code, by their paths."""
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
    return page(code, exit_code, MEANINGS[code], *content, where)


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
    """The first sentence of a meaning, with its links seen from the index."""
    sentence, _, _ = MEANINGS[code].partition(". ")
    return sentence.removesuffix(".").replace("](../", "](") + "."


_CONSTRUCTORS: Final = frozenset({"Diagnostic", "Diagnostic.warning", "StorageRefused.of"})
_FILLED: Final = "…"
_FIELDS: Final = dict.fromkeys(("file", "first", "last", "now"), _FILLED)
_SYSTEM_ERRORS: Final = (errno.EACCES, errno.EBUSY, errno.EIO, errno.ENOSPC, errno.EROFS)


@cache
def messages_in(package: Path) -> dict[str, tuple[tuple[str, str], ...]]:
    """Return by code the messages and hints in the modules of `package`, for what no golden case can show.

    A full disk, another process or another user is not a folder of files. So the texts are read where a diagnostic
    is made of them, and from what becomes of errors of the system. An ellipsis stands for what is filled in.
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
    """Return the text that a call of `say` or `either` makes, with an `example` for what it is filled with."""
    tree = ast.fix_missing_locations(ast.Expression(_filled(node, example)))
    text: str = eval(compile(tree, "text", "eval"), vars(words))  # noqa: S307 (of our own code)
    return text


# What stands for the name of a value that gets it when it is made.
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
    """Names to which `nodes` give texts, with the first of them."""
    found: dict[str, str] = {}
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found.setdefault(name, _text_of(value, {}) or _FILLED)
            case _:
                pass
    return found


def _text_of(node: ast.expr | None, names: dict[str, str]) -> str | None:
    """A text as it is in the code; None where it is put together elsewhere."""
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


MEANINGS: Final[Mapping[Code, str]] = {
    Code.INVALID_ARGUMENT: """\
A field has a value that it cannot have, two fields exclude each other, or one is missing. The message names the \
field; the batch has to be sent again with another value.""",
    Code.UNKNOWN_FIELD: """\
A field is not known at this place. Nothing is ignored, because an option that is dropped in silence changes what \
an edit does. The hint names the nearest field, or all that there are.""",
    Code.INVALID_HEADING_PATH: """\
A heading path is not a list of headings: it is empty, has an empty element, or one with a line break.""",
    Code.INVALID_REGEX: """\
A regular expression does not compile, or its replacement names a group that it does not have. See \
[regular expressions](../semantics-rules.md#patterns).""",
    Code.BATCH_TOO_LARGE: """\
A batch has more files, edits, hunks or text than the [limits](../limits.md) allow, or a glob stands for too many \
files. Nothing of it was done: split it, or raise the limit that the hint names.""",
    Code.SECTION_NOT_FOUND: """\
No section has that ID, heading or heading path. The nearest ones by similarity are listed. A section ID changes when \
its heading or one above it is renamed: look again with `stat`.""",
    Code.AMBIGUOUS_HEADING: """\
A heading or heading path names several sections, and none is taken without being asked for. All of them are listed \
with IDs and lines. See [heading paths](../semantics-rules.md#heading-paths).""",
    Code.ANCHOR_NOT_FOUND: """\
No heading has that anchor. Anchors are those that GitHub gives, with `-1`, `-2` after repeated ones.""",
    Code.CODE_BLOCK_NOT_FOUND: """\
There is no such fenced code block, or the language names several. Blocks are counted from 0 over the file, or over \
the section that is given; blocks by indentation have no index.""",
    Code.REGION_NOT_FOUND: """\
There is no pair of comments `<!-- NAME:start -->` and `<!-- NAME:end -->` with that name, or it occurs twice or is \
incomplete.""",
    Code.TABLE_NOT_FOUND: """\
There is no such table in the file or section, or there are several and none is named by `table`.""",
    Code.LIST_NOT_FOUND: """\
There is no such list in the file or section, or there are several and none is named by `list`.""",
    Code.FRONT_MATTER_NOT_FOUND: """\
The file has no front matter, and the edit does not ask to make it.""",
    Code.FRONT_MATTER_INVALID: """\
The front matter cannot be read without doubt, or a change of it cannot be proven to change that key alone: aliases, \
tags, keys that stand twice, or broken YAML or TOML. All else in the file can be edited.""",
    Code.DATA_INVALID: """\
The YAML, JSON, TOML or INI file cannot be read, or the change cannot be made so that another reader sees that change \
and no other: what an alias repeats, a key that occurs twice, a value with a tag. Edit the lines themselves.""",
    Code.SCHEMA_VIOLATION: """\
The result would violate a JSON Schema where the file did not before: the one that `jsonSchema` of the batch names, or \
the file itself, by `$schema`, `# yaml-language-server: $schema=` or `#:schema`. Nothing is fetched from the web.""",
    Code.KEY_NOT_FOUND: """\
Front matter or an INI file has no such key or section, or a table has no such row or column. The hint names what \
there is.""",
    Code.RANGE_OUT_OF_BOUNDS: """\
A line or column is after the end of the file or line. Lines and columns are counted from 1; see \
[places](../semantics-rules.md#lines-and-columns).""",
    Code.TEXT_MISMATCH: """\
The text at the place is not `expectedText` (or `expectedValue`). Where the text occurs elsewhere, or nearly, \
the answer lists the places. Read the place again, or let `replace_match` find the text.""",
    Code.MATCH_COUNT_MISMATCH: """\
A pattern, or the name of an item or row, has another number of matches than is required: exactly one, unless the \
edit says otherwise. Matches in code and other [excluded nodes](../semantics-rules.md#what-matches-skip) do not \
count, and the hint says how many those were.""",
    Code.SECTION_CHANGED: """\
The section is not the one that was read: its hash is not the given `sectionSha256`. Read it again, and decide again.""",
    Code.STALE_BASE: """\
A file has changed since it was read or planned. The message names the sections \
that changed. Plan again, or let the plan follow with `onStale: "rebase"`, which goes on only where it does the same \
to the same text.""",
    Code.MERGE_CONFLICT: """\
With `onStale: "merge"`, the file and the change have different text at one place. The hint has both: send the text \
that is right as an edit of the file as it is now.""",
    Code.PRECONDITION_REQUIRED: """\
A commit needs a [guard](../semantics-rules.md#guards) for what the caller saw: a plan ID, by `baseSha256` of \
every file, or by evidence in each edit. This one is not.""",
    Code.REGEX_TIMEOUT: """\
A regular expression ran for longer than the limit. Nested repetition, such as `(a+)+`, does that to text that nearly \
matches.""",
    Code.EMPTY_CONTENT: """\
The text to be written is empty or blank. To remove something use the operation that deletes it.""",
    Code.HEADING_LEVEL_OVERFLOW: """\
A heading would be deeper than level 6, because headings of a payload are fitted below their section, or because a \
section with subsections is lowered.""",
    Code.DUPLICATE_HEADING: """\
A heading path would be in the file more often than before, or a payload repeats some of the subsections and not \
all. Equal sections cannot be addressed.""",
    Code.CONFLICTING_EDITS: """\
Two edits of a batch want the same text, or one wants text in a section that the other deletes, replaces or moves. \
Both are named. What is meant one after the other is sent with `sequential: true`. It is also the answer when some \
edits of a plan were accepted that need others.""",
    Code.OUTLINE_CHANGED: """\
The result would have headings, front matter or regions that no edit wrote, or would lose some: an open fence, \
comment or HTML block swallows what follows, or a line of dashes makes a heading of the line above it. Or rows would \
fall out of their table, or lose cells.""",
    Code.DIFF_DOES_NOT_APPLY: """\
A hunk of `apply_diff` does not match the file. Its context has to be exact; lines may have moved.""",
    Code.FORMATTER_FAILED: """\
mdformat failed, is not installed, or what it made would be rendered in another way.""",
    Code.ENCODING_UNKNOWN: """\
The encoding of the file cannot be detected, or the given one does not give its bytes back. Text of ASCII can be written \
all the same; for other text give `encoding`.""",
    Code.UNENCODABLE_TEXT: """\
The new text has a character that the encoding of the file does not have.""",
    Code.PLAN_NOT_FOUND: """\
No plan of that ID is kept for this root: it is of another root or user, or older than plans are kept.""",
    Code.PLAN_TAMPERED: """\
The plan ID is the hash of the plan, and it does not match; or planning the edits of a plan document again gives \
another plan. The plan was changed, is damaged, or was made by another version.""",
    Code.APPROVAL_REQUIRED: """\
A person has to approve the plan before it is committed, and has not yet. See how to \
[review plans](../../how-to/review-plans.md).""",
    Code.PLAN_REJECTED: """\
A person has rejected the plan, or one that it was derived from; the message has their comments. It is refused \
everywhere, also where no approval is required. Make another plan that heeds them.""",
    Code.CHANGES_REQUESTED: """\
A person has requested changes to the plan, or to one that it was derived from; the message has their comments. It is \
refused everywhere, as a rejected plan is. Plan the revised edits, with the ID of this plan as `revises`: the reviewer \
then sees what differs. See how to [review plans](../../how-to/review-plans.md).""",
    Code.STALE_DECISION: """\
Somebody else decided about the plan after this page or terminal showed it, or its approval was used. Nothing was \
recorded: look at the plan again, and decide then.""",
    Code.FILE_NOT_FOUND: """\
There is no such file in the root. Files are named relative to it, with `/`. The nearest name is in the hint.""",
    Code.FILE_EXISTS: """\
A file that is to be created, or the new name of a file, exists already. Nothing is overwritten.""",
    Code.FILE_TOO_LARGE: """\
A file has more bytes or lines than the [limits](../limits.md) allow, or would have them after the edits.""",
    Code.PARSE_TIMEOUT: """\
Parsing the file takes longer than the limit.""",
    Code.NOT_A_TEXT_FILE: """\
The file is no text (it contains NUL bytes, or does not decode as its byte order mark says), or no regular file.""",
    Code.PATH_OUTSIDE_ROOT: """\
A path leads out of the root, or is not among what `--allow` and `--deny` let through; a denial names the glob.""",
    Code.PATH_INVALID: """\
A path is a name that some system reads as something else: with a backslash, a drive or stream of Windows, or hidden \
characters; on Windows also another colon, a device name, or a final dot or blank. `.git` and `.mdplan` are refused \
too.""",
    Code.SYMLINK_REFUSED: """\
A file, or a folder on the way to it, is a symbolic link. Links are not followed; where its target is inside the \
root, the hint names it.""",
    Code.HARDLINK_REFUSED: """\
The file has several names (hard links). Replacing it under one of them would part them.""",
    Code.ALIAS_CONFLICT: """\
Two paths of a batch are one file, as on a file system where case does not matter.""",
    Code.READ_ONLY: """\
The file or its file system is write-protected, has a special mode bit, or is a pointer of Git LFS.""",
    Code.OWNER_CHANGE: """\
The file belongs to somebody else, and would belong to you once it is replaced.""",
    Code.PERMISSION_DENIED: """\
The system does not let you read or write the file or its folder.""",
    Code.LOCK_TIMEOUT: """\
Another program, most often another mdplan, has held the lock of the root for longer than is waited. Nothing was \
written: try again.""",
    Code.LOCK_UNSUPPORTED: """\
The file system, such as NFS, cannot lock folders. As a warning: a file in the state directory is locked in place of \
the root, so only commits with the same state directory wait for each other. As an error: that cannot be locked either.""",
    Code.CONFLICT_LATE_WRITE: """\
Another program wrote to a file at the very moment of the commit. mdplan keeps that text and undoes the commit; or, as \
a warning, the commit stays and the message says where the other text is.""",
    Code.NO_SPACE: """\
The disk, a quota, or the greatest size of a file is used up. mdplan undid the commit.""",
    Code.IO_ERROR: """\
The system failed to read or write. If this was during a commit, mdplan undid the commit.""",
    Code.COMMIT_IN_DOUBT: """\
All files are new, but the disk did not confirm it: a loss of power now may undo the commit as a whole. The next \
commit finds out.""",
    Code.RECOVERY_REQUIRED: """\
A commit was cut off, and what it left must be repaired first. The next commit repairs what is in its own state \
directory; what another user, container or job began is for a person with `mdplan recover --adopt`. See \
[recovery](../../explanation/transaction-model.md#recovery).""",
    Code.RECOVERY_CONFLICT: """\
Somebody has changed a file on top of a commit that was cut off. Both texts are kept, and a person decides: \
`mdplan recover --keep-current` or `--restore-base`.""",
    Code.JOURNAL_CORRUPT: """\
mdplan's [store](../../explanation/transaction-model.md#the-store) is damaged, or of a newer version. mdplan never \
repairs or overwrites it, and commits nothing until it is set aside, as the hint says. No document is affected.""",
    Code.STATE_DIR_UNSAFE: """\
The folder of the root in the state directory is not yours, or others can write into it: its content cannot be \
trusted.""",
    Code.TARGET_BUSY: """\
The file is a mount point or being executed; or, with `--git`, the branch is checked out in a work tree.""",
    Code.BROKEN_LINK: """\
A link that resolved before the edits leads nowhere after them, or a link in new text resolves to nothing. With \
`updateReferences` links are rewritten: see how to [keep links right](../../how-to/keep-links-right.md).""",
    Code.LINK_RETARGETED: """\
A link still resolves after the edits, but to another place than before: a second heading of the same name now comes \
first, or another definition has its label. With `updateReferences` the link follows.""",
    Code.LINK_UNCERTAIN: """\
A link does not name a file of the plan, or a changed heading in it, as it is written, but would with another case, \
suffix, index file or first folder. Whether it does, the rules of the site say: see how to [keep links right](../../how-to/keep-links-right.md).""",
    Code.LARGE_DELETION: """\
A file loses more than 100 lines, or more than half of its lines, that other text does not replace. That may be \
meant, so it is only said.""",
    Code.LISTS_MERGED: """\
Lists that something kept apart are one list in the result: their numbers run on, and their items are spaced alike. Or text that was next to a list is a part of it.""",
    Code.LINE_ENDS_CHANGED: """\
`mdplan check`: the file has line ends of a kind that it did not have before the change.""",
    Code.ENCODING_CHANGED: """\
`mdplan check`: the byte order mark or the encoding of the file is another one than before the change.""",
    Code.HEADING_LOST: """\
`mdplan check`: the line of a heading is still there, but it is text or code now.""",
    Code.TASK_LOST: """\
`mdplan check`: a task lost a blank of its `- [ ]`, so that it is text, or an item without a box.""",
    Code.BLOCK_UNCLOSED: """\
`mdplan check`: a code block, comment or HTML block is not closed, so that it contains all text to its end.""",
    Code.TABLE_TORN: """\
A row of a table has more cells than the table has columns; `mdplan check` reports rows that are text now, too.""",
    Code.FRONT_MATTER_TYPE: """\
A value of the front matter, or of a file of keys, has another type than before the change, such as text that became \
a number. It is a warning of `mdplan check` and `set_value`: send the value as JSON of the type that it should have.""",
    Code.REGION_UNBALANCED: """\
`mdplan check`: one of the two markers of a region is missing.""",
    Code.UNBALANCED_TAG: """\
A tag around Markdown lost its other half: a `:::` block, `<details>` or another element, a component, a Liquid block \
or a shortcode.""",
    Code.OVERLAPPING_EDIT: """\
In a sequential batch an edit changed text that an earlier edit of the batch had written.""",
    Code.UNDECIDED_NODE: """\
mdplan skipped a match because it could not prove what kind of node contains it.""",
    Code.NESTING_LIMIT: """\
Lists or quotes are nested deeper than the parser goes; blocks after that place may be missing in what is shown.""",
    Code.NOT_UNDOABLE: """\
A transaction cannot be undone: the old text is not in the history any more, or could not be put there. After a \
commit it is a warning.""",
    Code.WEAK_CAS: """\
The file system cannot exchange two files in one step, so a write of another program at that very moment could have \
been lost.""",
}
