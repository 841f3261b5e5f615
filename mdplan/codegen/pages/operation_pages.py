"""The page of each operation, and their index."""

from collections.abc import Iterator
from typing import Final

from mdplan.codegen.case_file import CaseText
from mdplan.codegen.golden import GoldenCases
from mdplan.codegen.pages.page import as_json, fenced, one_line_json, page, table, with_linked_codes
from mdplan.field_names import EDIT_SYNONYMS
from mdplan.operations import OPERATIONS
from mdplan.operations.base.operation import SectionTargeted
from mdplan.reference.operation_reference import FieldReference, OperationReference, operation_reference

FOLDER: Final = "docs/reference/operations"
_CODES: Final = "../errors"
_INTRODUCTION: Final = """\
An edit is one JSON object: `op`, a target, a payload, guards.
`op` is implied by the fields that only one operation has: `pattern` and `replacement` are `replace_match`, `lines` and `markdown` are `replace_lines`, `line` and `markdown` are `insert_lines`, and `diff` is `apply_diff`.
`mdplan help OPERATION` says the same in a terminal, and `mdplan schema op OPERATION` as a JSON Schema.
[Rules](semantics-rules.md) describes what all operations share, such as how places are counted and sections named."""
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
    index = page("Operations", _INTRODUCTION, table(["Operation", "What it does"], rows))
    pages = {f"{FOLDER}/{op}.md": _operation_page(found, golden) for op, found in references.items()}
    return {f"{FOLDER}.md": index, **pages}


def _operation_page(reference: OperationReference, golden: GoldenCases) -> str:
    refusals = golden.refusals.get(reference.op, {}).items()
    rows = ((f"[`{code}`]({_CODES}/{code}.md)", message) for code, message in refusals)
    return page(
        reference.op,
        with_linked_codes(reference.summary, _CODES),
        with_linked_codes(reference.details, _CODES),
        *_example(reference, golden),
        "## Fields",
        table(["Field", "Value", "Default", "Meaning"], map(_field_row, reference.fields)),
        " ".join(_remarks(reference)),
        "## Refusals",
        table(["Code", "For example"], rows),
        _ALWAYS,
    )


def _example(reference: OperationReference, golden: GoldenCases) -> Iterator[str]:
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
    if model.needs_ini:
        yield "It is for INI files."
    elif model.needs_keys:
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
