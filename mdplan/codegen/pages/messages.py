"""Messages and hints of codes that no golden case can show, as they are in the code.

A full disk, another process or another user is not a folder of files. So what is reported then is read from the modules:
where a diagnostic is made with texts that are there, and from what is made of errors of the system. What is filled
in shows as an ellipsis.
"""

import ast
import errno
import os
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

from mdplan.storage.fs.errors import of_error

_CONSTRUCTORS: Final = frozenset({"Diagnostic", "Diagnostic.warning", "StorageRefused.of"})
_FILLED: Final = "…"
_SYSTEM_ERRORS: Final = (errno.EACCES, errno.EBUSY, errno.EIO, errno.ENOSPC, errno.EROFS)


@cache
def messages_in(package: Path) -> dict[str, tuple[tuple[str, str], ...]]:
    """By code, the messages with their hints in the modules of `package`."""
    found: dict[str, dict[tuple[str, str], None]] = {}
    for number in _SYSTEM_ERRORS:
        problem = of_error(OSError(number, ""), _FILLED, "writing")
        message = problem.message.replace(os.strerror(number), _FILLED)
        found.setdefault(problem.code, {})[message, problem.hint] = None
    for module in sorted(package.rglob("*.py")):
        data = module.read_bytes()
        for code, message, hint in _messages(ast.parse(data)) if b"Code." in data else ():
            found.setdefault(code, {})[message, hint] = None
    return {code: tuple(sorted(texts)) for code, texts in found.items()}


def _messages(tree: ast.AST) -> Iterator[tuple[str, str, str]]:
    for scope in ast.walk(tree):
        if isinstance(scope, ast.Module | ast.FunctionDef):
            nodes = tuple(_own_nodes(scope))
            names = _named_texts(nodes)
            for node in nodes:
                match node:
                    case ast.Call() if ast.unparse(node.func) in _CONSTRUCTORS:
                        given = dict(zip(("code", "message", "hint"), node.args, strict=False))
                        given |= {each.arg: each.value for each in node.keywords if each.arg}
                        yield from _message(given.get("code"), given.get("message"), given.get("hint"), names)
                    case ast.Tuple(elts=[_, code, reason, hint]):
                        # A row of a table of reasons: the file is named before them.
                        for found, text, next_step in _message(code, reason, hint, names):
                            yield found, f"`{_FILLED}` {text}", next_step
                    case _:
                        pass


def _message(
    code: ast.expr | None, message: ast.expr | None, hint: ast.expr | None, names: dict[str, str]
) -> Iterator[tuple[str, str, str]]:
    text = _text(message, names)
    match code:
        case ast.Attribute(value=ast.Name(id="Code"), attr=found) if text is not None:
            yield found, text, _text(hint, names) or ""
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
                found.setdefault(name, _text(value, {}) or _FILLED)
            case _:
                pass
    return found


def _text(node: ast.expr | None, names: dict[str, str]) -> str | None:
    """A text as it is in the code; None where it is put together elsewhere."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(_text(part, {}) or _FILLED for part in parts)
        case ast.Name(id=name):
            return names.get(name)
        case ast.IfExp(orelse=other):
            return _text(other, names)
        case _:
            return None
