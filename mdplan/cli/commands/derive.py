"""`mdplan derive`: the batch that turns one version of a file, or of a folder of files, into another."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mdplan.cli.document_file import read_document
from mdplan.cli.session import Session, engine_command
from mdplan.cli.usage.command import command
from mdplan.cli.views.report_view import counted
from mdplan.diagnostics import Diagnostic, Exit
from mdplan.limit_options import FILES
from mdplan.reports.base import Report

# Commands with wrong arguments do not load the parser.
if TYPE_CHECKING:
    from mdplan.derive.batch_derivation import FilesDerivation, Versions
    from mdplan.diagnostics import Problems
    from mdplan.markdown.outline.outline import Outline


@dataclass(frozen=True, slots=True, kw_only=True)
class DeriveReport(Report):
    """The report of `derive`: the batch; None where both versions are the same."""

    batch: dict[str, Any] | None = None


@command(example="mdplan derive guide.md draft.md > batch.json\nmdplan derive --yaml docs new-docs")
@click.argument("old", type=click.Path())
@click.argument("new", type=click.Path())
@click.option("--file", "name", metavar="PATH", help="Path of the file in the batch; OLD if not given.")
@click.option("--yaml", "as_yaml", is_flag=True, help="Print the batch as YAML.")
@click.option("--short", is_flag=True, help="Omit each `op` that the other fields imply, as an agent may.")
@click.option(
    "--prefer",
    type=click.Choice(("tokens", "structure")),
    default="tokens",
    help="Prefer few tokens, or edits that name keys, sections, items, rows and code.",
)
@click.option("--encoding", help="Encoding of the files, where they are not UTF-8 and have no BOM.")
@engine_command(DeriveReport, FILES, tells_people=True)
def derive(
    session: Session,
    *,
    old: str,
    new: str,
    name: str | None,
    encoding: str | None,
    prefer: str,
    **form: bool,
) -> Exit:
    """Print the smallest batch of edits that turns OLD into NEW: two files, or two folders of files.

    Each edit has a guard, so `mdplan apply` takes the batch, also for another version of the file in which
    the edited places are the same. The batch is proven: it makes NEW to the byte. Of folders the batch has
    each file that differs, by its path in the folder; hidden files are skipped.
    """
    from mdplan.derive.candidate import short_batch

    derived = _derived(Path(old), Path(new), name, encoding, prefers_structure=prefer == "structure")
    if isinstance(derived, tuple):
        return session.refuse(*derived)
    batch = derived.batch
    if batch is not None and form["short"]:
        batch = short_batch(batch)
    if batch is not None and not session.console.as_json:
        session.console.text(_as_yaml(batch) if form["as_yaml"] else _as_lines(batch))
    code = session.finish(DeriveReport(ok=True, batch=batch))
    if batch is None:
        session.console.note("The versions are the same: there is nothing to derive.")
    else:
        edits = sum(len(entry.get("edits", "1")) for entry in batch.get("files", [batch]))
        places = f"{counted(edits, 'edit')} for {counted(derived.hunks, 'changed place')}"
        session.console.note(f"{places}. To see the diff: mdplan plan BATCH")
    return code


def _derived(
    old: Path, new: Path, name: str | None, encoding: str | None, *, prefers_structure: bool
) -> "FilesDerivation | Problems":
    from mdplan.derive.batch_derivation import FilesDerivation, derive_files
    from mdplan.derive.derivation import derive_batch
    from mdplan.memory.memory_planner import RequestedFile

    if old.is_dir() or new.is_dir():
        if not (old.is_dir() and new.is_dir()) or name is not None:
            what = "`--file` names one file" if name is not None else "one is a folder, and the other is none"
            return (Diagnostic.invalid(what, "give two files, or two folders without --file"),)
        versions = list(_versions(old, new, encoding))
        problems = tuple(each for each in versions if isinstance(each, Diagnostic))
        files = [each for each in versions if not isinstance(each, Diagnostic)]
        return problems or derive_files(files, encoding, prefers_structure=prefers_structure)
    name = str(old) if name is None else name
    before, after = (read_document(str(path), name, encoding) for path in (old, new))
    if isinstance(before, Diagnostic) or isinstance(after, Diagnostic):
        return tuple(each for each in (before, after) if isinstance(each, Diagnostic))
    requested = RequestedFile(name, None, encoding)
    derived = derive_batch(before, after, requested, prefers_structure=prefers_structure)
    return derived if isinstance(derived, tuple) else FilesDerivation(derived.batch, derived.hunks)


def _versions(old: Path, new: Path, encoding: str | None) -> "Iterator[Versions | Diagnostic]":
    """Both versions of each file that differs, by its path below both folders."""
    from mdplan.derive.batch_derivation import Versions

    for name in sorted({*_files(old), *_files(new)}):
        before, after = old / name, new / name
        if before.is_file() and after.is_file() and before.read_bytes() == after.read_bytes():
            continue
        read = [_read(path, name, encoding) for path in (before, after)]
        problems = [each for each in read if isinstance(each, Diagnostic)]
        yield from problems
        if not problems:
            yield Versions(name, *(each for each in read if not isinstance(each, Diagnostic)))


def _read(path: Path, name: str, encoding: str | None) -> "Outline | Diagnostic | None":
    return read_document(str(path), name, encoding) if path.is_file() else None


def _files(folder: Path) -> Iterator[str]:
    """Paths of the files below `folder`, without hidden ones."""
    for path in folder.rglob("*"):
        parts = path.relative_to(folder).parts
        if path.is_file() and not any(part.startswith(".") for part in parts):
            yield "/".join(parts)


def _as_lines(batch: dict[str, Any]) -> str:
    """`batch` as JSON with one edit on a line."""
    if "files" in batch:
        files = ",\n".join(_as_lines(entry).rstrip("\n") for entry in batch["files"])
        return _with_list(batch, "files", files)
    if "edits" not in batch:
        return json.dumps(batch, ensure_ascii=False) + "\n"
    return _with_list(
        batch, "edits", ",\n".join(f"  {json.dumps(edit, ensure_ascii=False)}" for edit in batch["edits"])
    )


def _with_list(batch: dict[str, Any], name: str, lines: str) -> str:
    rest = json.dumps({**batch, name: []}, ensure_ascii=False)
    return rest.replace(f'"{name}": []', f'"{name}": [\n{lines}\n]', 1) + "\n"


def _as_yaml(batch: dict[str, Any]) -> str:
    """`batch` as YAML, with texts of several lines as blocks where YAML can have them so."""
    import yaml

    class Dumper(yaml.SafeDumper):
        pass

    def text(dumper: Dumper, value: str) -> yaml.Node:
        style = "|" if "\n" in value else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Dumper.add_representer(str, text)
    return yaml.dump(batch, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=1 << 30)
