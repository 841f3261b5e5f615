"""`mdplan derive`: the batch that turns one version of a file into another."""

import json
from dataclasses import dataclass
from typing import Any

import click

from mdplan.cli.document_file import read_document
from mdplan.cli.session import Session, engine_command
from mdplan.cli.usage.command import command
from mdplan.cli.views.report import counted
from mdplan.diagnostics import Diagnostic, Exit
from mdplan.limit_options import FILES
from mdplan.reports.base import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class DeriveReport(Report):
    """Of `derive`: the batch; None where both versions are the same."""

    batch: dict[str, Any] | None = None


@command(example="mdplan derive guide.md draft.md > batch.json")
@click.argument("old", type=click.Path())
@click.argument("new", type=click.Path())
@click.option("--file", "name", metavar="PATH", help="Path of the file in the batch; OLD if not given.")
@click.option("--encoding", help="Encoding of both files, where they are not UTF-8 and have no BOM.")
@engine_command(DeriveReport, FILES, tells_people=True)
def derive(session: Session, *, old: str, new: str, name: str | None, encoding: str | None) -> Exit:
    """Print the smallest batch of edits that turns the file OLD into NEW.

    Each edit has a guard, so `mdplan apply` takes the batch, also for another version of the file in which
    the edited places are the same. The batch is proven: it makes NEW to the byte.
    """
    from mdplan.derive.derive import derive_batch
    from mdplan.markdown.outline.outline import Outline
    from mdplan.memory.planning import RequestedFile

    name = old if name is None else name
    before, after = (read_document(path, name, encoding) for path in (old, new))
    if not isinstance(before, Outline) or not isinstance(after, Outline):
        return session.refuse(*(each for each in (before, after) if isinstance(each, Diagnostic)))
    derived = derive_batch(before, after, RequestedFile(name, None, encoding))
    if isinstance(derived, tuple):
        return session.refuse(*derived)
    if derived.batch is not None and not session.console.as_json:
        session.console.text(_as_lines(derived.batch))
    code = session.finish(DeriveReport(ok=True, batch=derived.batch))
    if derived.batch is None:
        session.console.note("The versions are the same: there is nothing to derive.")
    else:
        edits, hunks = (
            counted(len(derived.batch.get("edits", "1")), "edit"),
            counted(derived.hunks, "changed place"),
        )
        session.console.note(f"{edits} for {hunks}. To see the diff: mdplan plan BATCH")
    return code


def _as_lines(batch: dict[str, Any]) -> str:
    """`batch` as JSON with one edit on a line."""
    if "edits" not in batch:
        return json.dumps(batch, ensure_ascii=False) + "\n"
    edits = ",\n".join(f"  {json.dumps(edit, ensure_ascii=False)}" for edit in batch["edits"])
    rest = json.dumps({**batch, "edits": []}, ensure_ascii=False)
    return rest.replace('"edits": []', f'"edits": [\n{edits}\n]', 1) + "\n"
