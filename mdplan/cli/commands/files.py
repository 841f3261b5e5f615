"""`mdplan mv`, `rename` and `rm`: files and sections get another name or place, or go."""

import os
from glob import glob
from pathlib import Path
from typing import Any, Final

import click

from mdplan.cli import proposal
from mdplan.cli.completion import files_and_headings, headings
from mdplan.cli.field_types import heading_path, section_target
from mdplan.cli.options import flag, option
from mdplan.cli.session import Session, engine_command
from mdplan.cli.suggestions import Misuse
from mdplan.diagnostics import Exit
from mdplan.words import Command, say

_POSITIONS: Final = {"before": "before", "after": "after", "under": "lastChild"}


@engine_command("mv")
@click.argument(
    "words", nargs=-1, required=True, metavar="OLD... NEW | FILE HEADING", shell_complete=files_and_headings
)
@option("--before", "Move a section before this one.", "HEADING")
@option("--after", "Move a section after this one.", "HEADING")
@option("--under", "Move a section to the end of this one.", "HEADING")
@option("--to", "Move a section to this file, to its end without a HEADING.", "FILE")
@flag("--redirect", "Leave a redirect at the old address of a page.")
@proposal.choice_options
def move(
    session: Session,
    *,
    words: tuple[str, ...],
    to: str | None,
    redirect: bool,
    **given: Any,  # noqa: ANN401 (of many types)
) -> Exit:
    """OLD is a file and NEW its new name; of several files, NEW is their new folder.

    FILE HEADING moves a section to the place that an option names. Links follow.
    """
    places = {option: given[option] for option in _POSITIONS if given[option] is not None}
    if len(places) > 1:
        raise Misuse(f"{' and '.join(f'--{each}' for each in places)} name two places", "give one of them")
    if places or to is not None:
        return _move_section(session, words, places, to, given)
    *olds, new = words
    if not olds:
        raise Misuse("the new name is missing", say("write {}", Command("mv", new, "NEW")))
    folder = session.folder()
    strange = next((word for word in olds[1:] if not os.path.lexists(Path(folder, word))), None)
    if len(olds) == 2 and strange is not None:
        meant = Command("mv", *olds, "--to", new)
        raise Misuse(f"there is no file `{strange}`", say("to move a section of that name: {}", meant))
    files = session.files(olds, in_folders=False)
    is_folder = len(files) > 1 or new.endswith("/") or Path(folder, new).is_dir()
    names = {file: str(Path(new, Path(file).name)) if is_folder else new for file in files}
    leaves = {"redirect": True} if redirect else {}
    edits = {
        file: [{"op": "rename_file", "newFile": session.named(name), **leaves}]
        for file, name in names.items()
    }
    return proposal.propose_short(session, edits, given)


def _move_section(
    session: Session, words: tuple[str, ...], places: dict[str, str], to: str | None, given: dict[str, Any]
) -> Exit:
    if len(words) != 2:
        raise Misuse("a file and a heading are needed", say("write {mdplan mv FILE HEADING --after HEADING}"))
    file, section = words
    edit = {"op": "move_section", **section_target(section)}
    edit |= {} if to is None else {"toFile": session.named(to)}
    for place, heading in places.items():
        edit |= {"toHeadingPath": heading_path(heading), "position": _POSITIONS[place]}
    return proposal.propose_short(session, {file: [edit]}, given, section)


@engine_command("rename")
@click.argument("file", type=click.Path())
@click.argument("section", metavar="HEADING", shell_complete=headings)
@click.argument("title", required=False)
@proposal.choice_options
def rename(session: Session, *, file: str, section: str, title: str | None, **given: Any) -> Exit:  # noqa: ANN401 (as above)
    """TITLE is the new text of the heading; its level and ID stay. Links follow.

    If FILE is a folder or glob, files without HEADING stay unchanged.
    """
    if title is None:
        meant = Command("mv", file, section)
        raise Misuse("the new title is missing", say("a file gets another name by {}", meant))
    edit = {"op": "rename_heading", **section_target(section), "newTitle": title}
    return proposal.propose_short(session, {name: [edit] for name in session.files([file])}, given, section)


@engine_command("rm")
@click.argument(
    "words", nargs=-1, required=True, metavar="FILE... | FILE HEADING", shell_complete=files_and_headings
)
@proposal.choice_options
def remove(session: Session, *, words: tuple[str, ...], **given: Any) -> Exit:  # noqa: ANN401 (as above)
    """FILE HEADING deletes a section with its subsections.

    Links to deleted pages and sections stay, and each is listed; navigation entries are deleted. `mdplan
    undo` restores everything.
    """
    *names, last = words
    # A heading may have the characters of a glob, as in `Why me?`.
    named = glob(last, root_dir=session.folder(), recursive=True)  # noqa: PTH207 (also of absolute paths)
    section = None if named or os.path.lexists(Path(session.folder(), last)) else last
    if section is None or not names:
        edit, names, section = {"op": "delete_file"}, list(words), None
    else:
        edit = {"op": "delete_section", **section_target(section)}
    files = session.files(names, in_folders=section is not None)
    return proposal.propose_short(session, {name: [edit] for name in files}, given, section)
