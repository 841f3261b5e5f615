"""`mdplan merge`: two versions of a document that come from one, as a command and as git's merge driver."""

import json
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from mdplan.cli.console import Console, write_error
from mdplan.cli.usage.command import command
from mdplan.cli.usage.misuse import Misuse
from mdplan.diagnostics import Exit

if TYPE_CHECKING:
    from mdplan.merge.documents import Merge
    from mdplan.merge.git_result import GitResult

_EXAMPLES: Final = """\
mdplan merge base.md ours.md theirs.md -o merged.md
mdplan merge --install          let git merge *.md of this repository with it
mdplan merge --uninstall        let git merge them itself again"""
# To git a driver that exits above 128 has failed; below it reports conflicts.
_FAILED: Final = 129
_DRIVER: Final = "mdplan merge %O %A %B -o %A --path %P --marker-size %L"
_SETTINGS: Final = {
    "merge.mdplan.name": "mdplan, by sections",
    "merge.mdplan.driver": _DRIVER,
    "merge.mdplan.recursive": "binary",
}
_MARKERS: Final = (b"<<<<<<< ", b">>>>>>> ")


@command(example=_EXAMPLES)
@click.argument("files", metavar="[BASE OURS THEIRS]", nargs=-1, type=click.Path())
@click.option("-o", "--output", metavar="FILE", type=click.Path(), help="Write the result to FILE.")
@click.option("--path", metavar="PATH", help="The path of the file in the repository, for messages.")
@click.option("--marker-size", type=click.IntRange(1, 100), default=7, help="Characters of a marker.")
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 if there are conflicts.")
@click.option("--json", "as_json", is_flag=True, help="Print the status and the conflicts as JSON.")
@click.option("--install", is_flag=True, help="Make it git's merge driver for *.md in this repository.")
@click.option("--uninstall", is_flag=True, help="Remove that driver.")
def merge(  # noqa: PLR0913 (one parameter for each option)
    *,
    files: tuple[str, ...],
    output: str | None,
    path: str | None,
    marker_size: int,
    check: bool,
    as_json: bool,
    install: bool,
    uninstall: bool,
) -> int:
    """Merge OURS and THEIRS, which both come from BASE (experimental).

    Independent changes of list items, table rows and sections are merged; conflicts are marked with the path
    of their section. Front matter, moved sections and numbered lists are merged by lines; git merges files
    with CRLF, a byte order mark or markers. Review the result. Exits with 1 if there are conflicts, above
    128 if it fails.
    """
    if install or uninstall:
        if files or (install and uninstall):
            raise Misuse("--install and --uninstall take no files", "give one of them alone")
        return _install() if install else _uninstall()
    if len(files) != 3:
        raise Misuse("merge takes three files", "give BASE, OURS and THEIRS, or --install")
    try:
        data = [Path(each).read_bytes() for each in files]
        found = merge_files(data, files, marker_size)
        text = found.text.encode(errors="surrogateescape")
        if output is not None and not check:
            Path(output).write_bytes(text)
    except OSError as error:
        write_error(f"error: IO_ERROR: {path or error.filename}: {error.strerror}")
        return _FAILED
    if as_json:
        report = {
            "status": "clean" if found.is_clean else "conflicts",
            "note": found.note,
            "conflicts": [asdict(each) for each in found.conflicts],
        }
        Console.plain().data(json.dumps(report, ensure_ascii=False, indent=2).encode() + b"\n")
        return Exit.DONE if found.is_clean else Exit.WOULD_CHANGE
    if output is None and not check:
        Console.plain().data(text)
    if found.note:
        write_error(f"{path or files[1]}: {found.note}")
    for conflict in found.conflicts:
        where = " / ".join(conflict.path) or "the top"
        write_error(f"conflict in {path or files[1]}, at {where}: {conflict.reason}")
    return Exit.DONE if found.is_clean else Exit.WOULD_CHANGE


def merge_files(data: Sequence[bytes], files: tuple[str, ...], marker_size: int) -> "Merge":
    """The merge of the `data` of base, ours and theirs, which are in `files`.

    It is git's where mdplan cannot read one, or has no reason to differ from git.
    """
    from mdplan.merge.documents import MarkerStyle, merge_documents
    from mdplan.merge.git_result import compared_with_git

    base, ours, theirs = (_text(each) for each in data)
    if base is None or ours is None or theirs is None:
        return _merge_of_git(files, marker_size, "git merged it: mdplan does not merge such files")
    try:
        found = merge_documents(base, ours, theirs, MarkerStyle(marker_size))
        if not shutil.which("git"):
            return found
        return compared_with_git(found, _result_of_git(files, marker_size), marker_size)
    except Exception as bug:  # noqa: BLE001 (git must always get a merge)
        note = f"git merged it: mdplan met a bug in itself ({type(bug).__name__})"
        return _merge_of_git(files, marker_size, note)


def _text(data: bytes) -> str | None:
    """`data` as text with LF line ends; None for what git merges: other encodings and line ends, markers."""
    if b"\r" in data or b"\0" in data or data.startswith(b"\xef\xbb\xbf"):
        return None
    if any(line.startswith(_MARKERS) for line in data.split(b"\n")):
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _merge_of_git(files: tuple[str, ...], marker_size: int, note: str) -> "Merge":
    from mdplan.merge.documents import Conflict, Merge

    result = _result_of_git(files, marker_size)
    whole = Conflict((), "git found conflicts", 1, "", "", "")
    return Merge(result.text, () if result.is_clean else (whole,), note)


def _result_of_git(files: tuple[str, ...], marker_size: int) -> "GitResult":
    from mdplan.merge.git_result import GitResult

    base, ours, theirs = files
    names = ("-L", "ours", "-L", "base", "-L", "theirs")
    run = _git("merge-file", "-p", f"--marker-size={marker_size}", *names, ours, base, theirs)
    if run.returncode >= 128:
        raise OSError(
            run.returncode, run.stderr.decode(errors="replace").strip() or "git cannot merge it", ours
        )
    return GitResult(run.stdout.decode(errors="surrogateescape"), is_clean=not run.returncode)


def _git(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", *arguments], capture_output=True, check=False)  # noqa: S603, S607 (git of the user)


def _attributes() -> Path | None:
    found = _git("rev-parse", "--git-path", "info/attributes")
    return None if found.returncode else Path(found.stdout.decode().strip())


_LINE: Final = "*.md merge=mdplan"


def _install() -> int:
    """Set the driver in the configuration of the repository, and its files in its own attributes."""
    attributes = _attributes()
    if attributes is None:
        raise Misuse("this folder is in no git repository", "run it in a repository")
    driver = _git("config", "--local", "merge.mdplan.driver").stdout.decode().strip()
    old = attributes.read_text() if attributes.exists() else ""
    others = [line for line in old.splitlines() if line.startswith("*.md ") and "merge=" in line]
    if driver not in {"", _DRIVER} or any(line != _LINE for line in others):
        raise Misuse("another merge driver is set for *.md", f"remove it from {attributes} first")
    for name, value in _SETTINGS.items():
        _git("config", "--local", name, value)
    if _LINE not in old.splitlines():
        attributes.parent.mkdir(parents=True, exist_ok=True)
        attributes.write_text(old + ("" if old.endswith("\n") or not old else "\n") + _LINE + "\n")
    Console.plain().data(f"git now merges *.md with mdplan ({attributes})\n".encode())
    return Exit.DONE


def _uninstall() -> int:
    attributes = _attributes()
    if attributes is None:
        raise Misuse("this folder is in no git repository", "run it in a repository")
    _git("config", "--local", "--remove-section", "merge.mdplan")
    if attributes.exists():
        kept = [line for line in attributes.read_text().splitlines(keepends=True) if line.strip() != _LINE]
        if kept:
            attributes.write_text("".join(kept))
        else:
            attributes.unlink()
    Console.plain().data(b"git merges *.md itself again\n")
    return Exit.DONE
