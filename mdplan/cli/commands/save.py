"""`mdplan save`: a whole file that an editor or a model has written anew, as the change that it is."""

from pathlib import Path
from typing import Any

import click

from mdplan.cli import proposal
from mdplan.cli.field_types import read_content
from mdplan.cli.options import flag, option
from mdplan.cli.session import Session, engine_command
from mdplan.cli.terminal import STANDARD_INPUT
from mdplan.diagnostics import Exit


@engine_command("save")
@click.argument("file", type=click.Path())
@click.argument("edited", type=click.Path())
@option("--serialized", "The original as the same editor writes it.", "FILE", type=click.Path())
@flag("--keep-style-changes", "Take over other ways to write the same.")
@flag("--accept-losses", "Drop HTML, images and the like that EDITED has not.")
@proposal.choice_options
def save(session: Session, *, file: str, edited: str, serialized: str | None, **given: Any) -> Exit:  # noqa: ANN401 (of many types)
    """EDITED is the rewritten FILE, - for standard input. FILE changes only where EDITED has another meaning.

    Bullets, escapes, wrapping and padding of FILE stay. With --serialized, the changes are the differences
    between it and EDITED.
    """
    edit: dict[str, Any] = {"op": "save_file", "markdown": _text(session, edited)}
    if serialized is not None:
        edit["serialized"] = _text(session, serialized)
    chosen = {"style": given["keep_style_changes"], "losses": given["accept_losses"]}
    if any(chosen.values()):
        edit["include"] = [kind for kind, is_chosen in chosen.items() if is_chosen]
    return proposal.propose_short(session, {file: [edit]}, given)


def _text(session: Session, file: str) -> str:
    return read_content(file if file == STANDARD_INPUT else f"@{Path(session.folder(), file)}")
