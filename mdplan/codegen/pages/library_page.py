"""The page of the Python API, from the docstrings and signatures of the public names of `mdplan`."""

import ast
import inspect
from collections.abc import Iterator
from inspect import Parameter, Signature
from textwrap import dedent
from typing import Final

import mdplan
from mdplan import edits
from mdplan.codegen.pages.page import bullets, fenced, page, with_linked_codes
from mdplan.edits.edit_classes import PARTS, class_of, parameters
from mdplan.edits.section_address import SectionAddress
from mdplan.operations import OPERATIONS, class_name

_INTRODUCTION: Final = """\
These are the public names of `mdplan`; all else may change with any version.
The examples run as tests, one after the other, in a folder with the [sample documents](../how-to/use-from-python.md).
Reports and diagnostics have their fields in snake_case; `to_wire` gives them as JSON, as the other surfaces do."""
# Methods for mdplan's own modules, as the docstrings of their classes say.
_INNER: Final = frozenset(
    {
        *("commit", "draft", "file_exists", "invalid", "keep", "of", "source", "warning"),
        *("commits", "committing", "comparer", "document_check", "recovery", "undoing"),
    }
)
_CALLED: Final = frozenset({"classmethod", "property", "staticmethod"})
_PROMPT: Final = ">>> "


def library_page() -> str:
    """The page of all public names."""
    names = [name for name in vars(mdplan)["__all__"] if not name.startswith("_")]
    listed = bullets(f"[`{name}`](#{name.lower()})" for name in names)
    blocks = [block for name in names for block in _name_blocks(name)]
    return page("Python", *_docstring(mdplan.__doc__), _INTRODUCTION, listed, *blocks, *_edit_blocks())


def _edit_blocks() -> Iterator[str]:
    """The part about `mdplan.edits`: its own classes, and those of the operations with their signatures."""
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
    """The parameters of the constructor of `kind`, by their names."""
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
    bases = f"({', '.join(map(ast.unparse, tree.bases))})" if tree.bases else ""
    fields = [ast.unparse(each) for each in tree.body if isinstance(each, ast.AnnAssign | ast.Assign)]
    yield fenced(
        "\n    ".join([f"class {name}{bases}:", *fields]) if fields else f"class {name}{bases}", "py"
    )
    yield from _docstring(ast.get_docstring(tree))
    for each in tree.body:
        if isinstance(each, ast.FunctionDef) and each.name not in _INNER and not each.name.startswith("_"):
            yield f"### {name}.{each.name}"
            yield fenced(_signature(each), "py")
            yield from _docstring(ast.get_docstring(each))


def _signature(function: ast.FunctionDef) -> str:
    """`function` as its source declares it, with the decorators that say how it is called."""
    called = [f"@{name}" for each in function.decorator_list if (name := ast.unparse(each)) in _CALLED]
    returns = f" -> {ast.unparse(_unquoted(function.returns))}" if function.returns else ""
    for argument in ast.walk(function.args):
        if isinstance(argument, ast.arg) and argument.annotation:
            argument.annotation = _unquoted(argument.annotation)
    return "\n".join([*called, f"def {function.name}({ast.unparse(function.args)}){returns}"])


def _unquoted(annotation: ast.expr) -> ast.expr:
    """`annotation` without the quotes that let the module load without the class that it names."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return ast.parse(annotation.value, mode="eval").body
    return annotation


def _docstring(text: str | None) -> Iterator[str]:
    """The paragraphs of a docstring; examples are blocks."""
    for paragraph in inspect.cleandoc(text or "").split("\n\n"):
        if paragraph.startswith(_PROMPT):
            yield fenced(paragraph, "pycon")
        else:
            yield with_linked_codes(" ".join(paragraph.replace("``", "`").split("\n")), "errors")
