"""Check the results of a batch against the JSON Schema of the batch or of each file."""

import json
import time
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Final

from mdplan.diagnostics import Code, Diagnostic, Severity
from mdplan.documents.documents import Documents
from mdplan.field_names import short_name
from mdplan.markdown.outline import Outline
from mdplan.markdown.paths import folder_of, followed, leads_out
from mdplan.planning.build import BuiltFile
from mdplan.storage.files import FileName
from mdplan.text.source import DocumentFormat
from mdplan.values import Struct, replace

_MOST_LISTED: Final = 10

# Every file that names its schema contains one of these; a plain `schema` key means something else.
_MARKERS: Final = ("$schema", "#:schema")
_IN_BATCH: Final = "jsonSchema"


def schema_problems(
    documents: Documents, files: Sequence[BuiltFile], named: str | None
) -> Iterator[Diagnostic]:
    """Yield schema violations in the results `files` that their bases did not have.

    The schemas are `named` by the batch (errors) and by each file (warnings). Errors: SCHEMA_VIOLATION; as
    reading the `named` schema, DATA_INVALID if it is unusable. A file's unusable schema is a warning; a
    missing or remote one is ignored.
    """
    batch_schema = _Schema(documents, files, named) if named is not None else None
    for built in files:
        if built.file.is_deleted or not built.edits:
            continue
        if batch_schema is not None and _is_data(built.result):
            yield from _violations(built, batch_schema, is_asked=True)
        own_schema = _own_schema(documents, files, built)
        if own_schema is not None and (batch_schema is None or own_schema.path != batch_schema.path):
            yield from _violations(built, own_schema, is_asked=False)


class _Schema(Struct, dict=True):
    """The schema in the file `path`, after the changes of `files`."""

    documents: Documents
    files: Sequence[BuiltFile]
    path: str

    @cached_property
    def content(self) -> Any:  # noqa: ANN401 (any value)
        """The parsed schema, or a Diagnostic."""
        from mdplan.data.json_schema import known_schema
        from mdplan.data.tree import DataError

        if "://" in self.path:
            known = known_schema(self.path)
            return _NOT_FETCHED if known is None else known
        name = self.documents.workspace.locate(self.path)
        if not isinstance(name, FileName):
            return name
        results = {built.file.new_path or built.file.path: built.result for built in self.files}
        outline = results.get(str(name))
        source = self.documents.read(name, None) if outline is None else outline.source
        if isinstance(source, Diagnostic):
            return source
        try:
            return _values(self.path, source.text)
        except DataError as error:
            return _unusable(self.path, error.reason)


def _values(path: str, text: str) -> object:
    from mdplan.data.content import read_data
    from mdplan.data.tree import DataError, Language

    if path.lower().endswith((".yaml", ".yml")):
        return read_data(Language.YAML, text).values
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError("it is not valid JSON") from error


def _own_schema(documents: Documents, files: Sequence[BuiltFile], built: BuiltFile) -> _Schema | None:
    text = built.result.source.text
    if not any(marker in text for marker in _MARKERS) or built.result.format is DocumentFormat.TEXT:
        return None
    # Few files name a schema; load the data modules only for these.
    from mdplan.data.content import DataContent
    from mdplan.data.json_schema import known_schema, named_schema
    from mdplan.markdown.front_matter_edits import data_content

    content = data_content(built.result)
    if not isinstance(content, DataContent):
        return None
    named = named_schema(content.text, content.values)
    if named is None or ("://" in named and known_schema(named) is None):
        return None
    if "://" in named:
        return _Schema(documents, files, named)
    where = followed(folder_of(built.file.result_path), named.partition("#")[0])
    root = built.file.path.removesuffix(built.file.relative)
    return _Schema(documents, files, root + where) if where and not leads_out(where) else None


def _violations(built: BuiltFile, schema: _Schema, *, is_asked: bool) -> Iterator[Diagnostic]:
    from mdplan.data.json_schema import new_violations, place_of, violations
    from mdplan.data.tree import DataError

    path = built.file.path
    if isinstance(schema.content, Diagnostic):
        if is_asked or schema.content.code is not Code.FILE_NOT_FOUND:
            yield _with_severity(schema.content, path, is_asked=is_asked)
        return
    try:
        after = violations(_values_of(built.result), schema.content, time.thread_time)
        has_base = after and built.file.exists
        before = violations(_values_of(built.base), schema.content, time.thread_time) if has_base else ()
    except DataError as error:
        yield _with_severity(_unusable(schema.path, error.reason), path, is_asked=is_asked)
        return
    new = new_violations(before, after)
    shown = short_name(schema.path)
    for violation in new[:_MOST_LISTED]:
        yield Code.SCHEMA_VIOLATION.problem(
            f"{place_of(violation)} would violate `{short_name(violation.rule)}` of the schema `{shown}`",
            "send a value that the schema allows",
            file=path,
        )
    if len(new) > _MOST_LISTED:
        yield Code.SCHEMA_VIOLATION.problem(
            f"and {len(new) - _MOST_LISTED} more violations of the schema `{shown}`",
            "send values that the schema allows",
            file=path,
        )


def _is_data(outline: Outline) -> bool:
    from mdplan.markdown.front_matter_edits import data_content

    return data_content(outline) is not None


def _values_of(outline: Outline) -> object:
    from mdplan.data.content import DataContent
    from mdplan.markdown.front_matter_edits import data_content

    content = data_content(outline)
    return content.values if isinstance(content, DataContent) else {}


def _unusable(path: str, reason: str) -> Diagnostic:
    return Code.DATA_INVALID.problem(
        f"the schema `{short_name(path)}` cannot be used: {reason}", "correct the schema, or leave it out"
    )


def _with_severity(problem: Diagnostic, file: str, *, is_asked: bool) -> Diagnostic:
    """Return `problem` as an error if the batch requested the check, else as a warning."""
    return problem if is_asked else replace(problem, severity=Severity.WARNING, file=file)


_NOT_FETCHED: Final = Diagnostic.invalid(
    "nothing is fetched from the web",
    f"save the schema as a file of the folder, and send its path as `{_IN_BATCH}`",
)
