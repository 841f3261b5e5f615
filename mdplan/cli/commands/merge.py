"""`mdplan merge`: merges two versions of a document with a common base; also git's merge driver."""

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from time import thread_time
from typing import TYPE_CHECKING, Final

import click

from mdplan.cli.options import flag, option
from mdplan.cli.suggestions import Misuse
from mdplan.cli.terminal import Console, write_error
from mdplan.cli.usage import command
from mdplan.diagnostics import Diagnostic, Exit
from mdplan.storage.names import relative
from mdplan.text.source import DocumentFormat, Source, sha256_hex
from mdplan.values import asdict, replace

if TYPE_CHECKING:
    from mdplan.merge.lines import GitResult, Merge

# To git a driver that exits above 128 has failed; below it reports conflicts.
_FAILED: Final = 129
_OWN: Final = "mdplan merge %O "
# A shell that finds no mdplan, or Python that finds no package, exits below 128 and leaves ours without a
# marker of the length that git asks for: then git merges the file, so that no change of theirs is lost.
_DRIVER: Final = (
    f"{_OWN}%A %B -o %A --path %P --marker-size %L || "
    "if test $? -eq 1 && grep -q '^<\\{%L\\} ours' %A; then exit 1; else "
    "git merge-file --marker-size=%L -L ours -L base -L theirs %A %O %B; fi"
)
_SETTINGS: Final = {
    "merge.mdplan.name": "mdplan, by sections",
    "merge.mdplan.driver": _DRIVER,
    "merge.mdplan.recursive": "binary",
}
# Parse time for the texts of one merge; beyond it git merges them.
_PARSE_SECONDS: Final = 20
_BOM: Final = b"\xef\xbb\xbf"


@command("merge")
@click.argument("files", metavar="[BASE OURS THEIRS | GLOB...]", nargs=-1, type=click.Path())
@option("-o --output", "Write the result to FILE.", "FILE", type=click.Path())
@option("--path", "The path of the file in the repository, for messages.", "PATH")
@option("--marker-size", "Characters of a marker.", type=click.IntRange(1, 100), default=7)
@flag("--strict", "Leave to you what mdplan would decide: see its decisions in JSON.")
@flag("--plan as_plan", "Write nothing; save the change of OURS as a plan.")
@flag("--check", "Write nothing; exit with 1 if there are conflicts.")
@flag("--json as_json", "Print the status and the conflicts as JSON.")
@flag("--install", "Make it git's driver here for each GLOB, or *.md.")
@flag("--uninstall", "Remove that driver.")
@flag("--global is_global", "Do so for all repositories of the user.")
def merge(  # noqa: C901, PLR0913 (one parameter for each option)
    *,
    files: tuple[str, ...],
    output: str | None,
    path: str | None,
    marker_size: int,
    strict: bool,
    as_plan: bool,
    check: bool,
    as_json: bool,
    install: bool,
    uninstall: bool,
    is_global: bool,
) -> int:
    """OURS and THEIRS are both based on BASE.

    Independent changes of list items, table rows, keys of front matter and sections are merged; conflicts are
    marked with the path of their section. YAML, JSON, TOML and INI files are merged by key. git merges files
    with mixed line ends or markers. Review the result. Exits with 1 if there are
    conflicts, above 128 if it fails.
    """
    scope = "--global" if is_global else "--local"
    if install and uninstall:
        raise Misuse("--install and --uninstall exclude each other", "give one of them")
    if uninstall and files:
        raise Misuse("--uninstall takes no GLOB", "give --uninstall alone: it removes all of them")
    if install or uninstall:
        return _install(files or ("*.md",), scope) if install else _uninstall(scope)
    if len(files) != 3:
        raise Misuse("merge takes three files", "give BASE, OURS and THEIRS, or --install")
    try:
        if as_plan:
            return _planned(files)
        data = [Path(file).read_bytes() for file in files]
        named = path or files[1]
        merged = merge_files(data, files, marker_size, named, is_strict=strict)
        text = merged.text.encode(errors="surrogateescape")
        if output is not None and not check:
            Path(output).write_bytes(text)
    except OSError as error:
        write_error(f"error: IO_ERROR: {path or error.filename}: {error.strerror}")
        return _FAILED
    if as_json:
        _print_json(merged, data)
        return Exit.DONE if merged.is_clean else Exit.WOULD_CHANGE
    if output is None and not check:
        Console.plain().data(text)
    if merged.note:
        write_error(f"{named}: {merged.note}")
    for conflict in merged.conflicts:
        where = " / ".join(conflict.path) or "the top"
        write_error(f"conflict in {named}, at {where}: {conflict.reason}")
    return Exit.DONE if merged.is_clean else Exit.WOULD_CHANGE


def _planned(files: tuple[str, ...]) -> int:
    """Return the merge as a plan that changes OURS, a file below this folder."""
    from mdplan.engine.engine import Engine
    from mdplan.planning.merging import Sides, merged_request

    base, ours, theirs = files
    with Engine.open(["."]) as engine:
        here = engine.source(relative(ours))
        others = [Source.decode(Path(file).read_bytes()) for file in (base, theirs)]
        texts = [source for source in others if isinstance(source, Source)]
        if not isinstance(here, Source) or len(texts) < len(others):
            message = here.message if isinstance(here, Diagnostic) else f"{base} or {theirs} is not UTF-8"
            raise Misuse(message, "give three text files; OURS lies below this folder")
        sides = Sides(
            path=relative(ours), base=texts[0], ours=here, theirs=texts[1].text, theirs_sha256=texts[1].sha256
        )
        request = merged_request([sides])
        report = engine.plan(request) if isinstance(request, dict) else None
        problems = report.diagnostics if report is not None else request
        if report is None or not report.ok:
            for problem in problems if isinstance(problems, tuple) else ():
                write_error(f"error: {problem.code}: {problem.message}\n  hint: {problem.hint}")
            return Exit.STALE
        Console.plain().data((report.diff or "").encode())
        write_error(f"Plan {report.plan_id} saved. To apply: mdplan apply {report.plan_id}")
        return Exit.DONE


def _print_json(merged: "Merge", data: Sequence[bytes]) -> None:
    report = {
        "status": "clean" if merged.is_clean else "conflicts",
        "note": merged.note,
        "sha256": dict(zip(("base", "ours", "theirs"), map(sha256_hex, data), strict=True)),
        "decisions": [asdict(decision) for decision in merged.decisions],
        "conflicts": [asdict(conflict) for conflict in merged.conflicts],
    }
    Console.plain().data(json.dumps(report, ensure_ascii=False, indent=2).encode() + b"\n")


def merge_files(
    data: Sequence[bytes],
    files: tuple[str, ...],
    marker_size: int,
    path: str = "document.md",
    *,
    is_strict: bool = False,
) -> "Merge":
    """Return the merge of the `data` of base, ours and theirs from `files`; `path` determines the format.

    Uses git's merge if mdplan cannot read a side, or has no reason to differ.
    """
    from mdplan.markdown.blocks import ParseTimeout, parse_time
    from mdplan.markdown.format_detection import document_format
    from mdplan.merge.documents import merge_texts
    from mdplan.merge.lines import MarkerStyle, changed_version

    try:
        texts = [side.decode().removeprefix("\ufeff") for side in data]
        # git can merge them too if it is installed, and all sides or none have a BOM.
        is_alike = shutil.which("git") is not None and len({side.startswith(_BOM) for side in data}) == 1
        git = partial(_result_of_git, files, marker_size) if is_alike else None
        has_suffix = "." in Path(path).name
        named = (
            document_format(path.replace(os.sep, "/"), texts[1]) if has_suffix else DocumentFormat.MARKDOWN
        )
        with parse_time(_PARSE_SECONDS, thread_time):
            merged = merge_texts(named, texts, MarkerStyle(marker_size), is_strict=is_strict, by_git=git)
    except UnicodeDecodeError:
        merged = None
    except ParseTimeout:
        return _merge_of_git(files, marker_size, "git merged it: mdplan takes too long to parse it")
    except Exception as bug:  # noqa: BLE001 (git must always get a merge)
        note = f"git merged it: mdplan met a bug in itself ({type(bug).__name__})"
        return _merge_of_git(files, marker_size, note)
    if merged is None:
        return _merge_of_git(files, marker_size, "git merged it: mdplan does not merge such files")
    has_mark = changed_version(*(side.startswith(_BOM) for side in data))
    return replace(merged, text="\ufeff" + merged.text) if has_mark else merged


def _merge_of_git(files: tuple[str, ...], marker_size: int, note: str) -> "Merge":
    from mdplan.merge.lines import Conflict, Merge

    result = _result_of_git(files, marker_size)
    whole = Conflict((), "git found conflicts", 1, "", "", "")
    return Merge(result.text, () if result.is_clean else (whole,), note)


def _result_of_git(files: tuple[str, ...], marker_size: int) -> "GitResult":
    from mdplan.merge.lines import GitResult

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


def _attributes(scope: str) -> Path:
    """Return the attributes file of the work tree, which a team can commit, or of the user."""
    if scope == "--local":
        top = _git("rev-parse", "--show-toplevel")
        if top.returncode:
            raise Misuse("this folder is in no git work tree", "run it in a repository, or with --global")
        return Path(os.fsdecode(top.stdout).rstrip("\n"), ".gitattributes")
    named = _git("config", "--global", "--type=path", "core.attributesFile").stdout.decode().strip()
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return Path(named) if named else home / "git" / "attributes"


_SUFFIX: Final = " merge=mdplan"


def _install(globs: Sequence[str], scope: str) -> int:
    """Set the driver in the configuration, and the files that it merges in the attributes."""
    attributes = _attributes(scope)
    driver = _git("config", scope, "merge.mdplan.driver").stdout.decode().strip()
    old = _text_of(attributes, scope)
    others = [
        line
        for line in old.splitlines()
        if line.startswith(tuple(f"{glob} " for glob in globs)) and "merge=" in line and _SUFFIX not in line
    ]
    samples = () if scope == "--global" else (glob.replace("*", "x") for glob in globs)
    set_already = (_git("check-attr", "merge", "--", name).stdout.decode().split()[-1:] for name in samples)
    taken = [name for names in set_already for name in names if name not in {"unspecified", "mdplan"}]
    if (driver and not driver.startswith(_OWN)) or others or taken:
        raise Misuse(
            f"another merge driver is set for {' '.join(globs)}",
            f"remove it from the configuration, from {attributes} or from .git/info/attributes first",
        )
    for name, value in _SETTINGS.items():
        _git("config", scope, name, value)
    known = old.splitlines()
    new = "".join(f"{glob}{_SUFFIX}\n" for glob in globs if f"{glob}{_SUFFIX}" not in known)
    attributes.parent.mkdir(parents=True, exist_ok=True)
    gap = "" if old.endswith("\n") or not old else "\n"
    attributes.write_text(old + gap + new, errors="surrogateescape", newline="")
    Console.plain().data(f"git now merges {' '.join(globs)} with mdplan ({attributes})\n".encode())
    return Exit.DONE


def _uninstall(scope: str) -> int:
    attributes = _attributes(scope)
    lines = _text_of(attributes, scope).splitlines(keepends=True)
    _git("config", scope, "--remove-section", "merge.mdplan")
    kept = [line for line in lines if not line.rstrip().endswith(_SUFFIX)]
    if kept:
        attributes.write_text("".join(kept), errors="surrogateescape", newline="")
    elif lines:
        attributes.unlink()
    Console.plain().data(b"git merges the files itself again\n")
    return Exit.DONE


def _text_of(attributes: Path, scope: str) -> str:
    """Return the text of `attributes`, a file, or for a user also a link to one."""
    if not os.path.lexists(attributes):
        return ""
    if not attributes.is_file() or (attributes.is_symlink() and scope == "--local"):
        raise Misuse(
            f"{attributes} is a link, or not a file",
            f"make it a file; lines such as `*.md{_SUFFIX}` in .git/info/attributes do the same",
        )
    return attributes.read_bytes().decode(errors="surrogateescape")
