"""Merge tools on the same real merges: makes the table in docs/explanation/merge.md.

`python -m tests.merge.peers` prints it, and with --write puts it into the page. It needs the real merges, and
the packages `diff-match-patch` and `merge3`; it names what is missing and skips that row.
"""

import importlib
import importlib.metadata
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mdplan.cli.commands.merge import merge_files
from tests.merge.merge_check import misplaced, unaccounted
from tests.merge.real_merges import BUNDLES, CASES, RealMerge, cases, of_bundles

PAGE: Final = Path(__file__).parents[2] / "docs" / "explanation" / "merge.md"
_HEAD: Final = (
    "| | No conflict | Same bytes as the person's merge | Lines lost or doubled "
    "| Lines under another heading |\n"
    "|---|---|---|---|---|\n"
)
_MARK: Final = b"<<<<<<<"


@dataclass(frozen=True)
class Result:
    """The result of a tool's merge, and the lines that it reports as its own decisions."""

    text: bytes
    is_clean: bool
    decided: Sequence[str] = ()


def of_mdplan(case: RealMerge, files: tuple[str, str, str]) -> Result:
    """The merge of mdplan."""
    found = merge_files([case.base, case.ours, case.theirs], files, 7)
    decided = [line for each in found.decisions for line in each.text.splitlines()]
    return Result(found.text.encode(errors="surrogateescape"), found.is_clean, decided)


def _of_git(*options: str) -> Callable[[RealMerge, tuple[str, str, str]], Result]:
    def merge(_: RealMerge, files: tuple[str, str, str]) -> Result:
        base, ours, theirs = files
        command = ["git", "merge-file", "-p", *options, ours, base, theirs]
        run = subprocess.run(command, capture_output=True, check=False)
        return Result(run.stdout, run.returncode == 0)

    return merge


def _of_patches(case: RealMerge, _: tuple[str, str, str]) -> Result:
    """The characters that theirs changed, as patches of ours."""
    tool = importlib.import_module("diff_match_patch").diff_match_patch()
    # The default of one second gives other results on a slow machine.
    tool.Diff_Timeout = 10
    base, ours, theirs = (
        each.decode(errors="surrogateescape") for each in (case.base, case.ours, case.theirs)
    )
    text, applied = tool.patch_apply(tool.patch_make(base, theirs), ours)
    return Result(text.encode(errors="surrogateescape"), all(applied))


def _of_merge3(case: RealMerge, _: tuple[str, str, str]) -> Result:
    lines = (each.splitlines(keepends=True) for each in (case.base, case.ours, case.theirs))
    merge = importlib.import_module("merge3").Merge3(*lines)
    text = b"".join(merge.merge_lines(reprocess=True, start_marker=_MARK))
    return Result(text, _MARK not in text)


def tools() -> dict[str, Callable[[RealMerge, tuple[str, str, str]], Result]]:
    """Return the installed tools by their names in the table."""
    found: dict[str, Callable[[RealMerge, tuple[str, str, str]], Result]] = {
        "mdplan": of_mdplan,
        "git": _of_git(),
        "`merge=union`": _of_git("--union"),
    }
    for name, merge in (("diff-match-patch", _of_patches), ("merge3", _of_merge3)):
        try:
            found[f"{name} {importlib.metadata.version(name)}"] = merge
        except importlib.metadata.PackageNotFoundError:
            sys.stderr.write(f"skipped {name}: it is not installed\n")
    return found


def table(merges: Iterable[RealMerge], folder: Path) -> tuple[int, str]:
    """Return the number of valid `merges`, and the table: files with git conflicts, and changes from both
    sides.
    """
    known = tools()
    counts = {name: [0, 0, 0, 0] for name in known}
    total = 0
    for case in merges:
        files = case.files(folder)
        if case.took_one_side or _of_git()(case, files).is_clean:
            continue
        total += 1
        for name, merge in known.items():
            found = merge(case, files)
            if found.is_clean:
                sides = [each.decode(errors="replace") for each in (case.base, case.ours, case.theirs)]
                base, ours, theirs = sides
                text = found.text.decode(errors="replace")
                counts[name][0] += 1
                counts[name][1] += found.text == case.human
                counts[name][2] += bool(unaccounted(base, ours, theirs, text, found.decided))
                counts[name][3] += bool(misplaced(base, ours, theirs, text))
    rows = (f"| {name} | {' | '.join(map(str, count))} |\n" for name, count in counts.items())
    return total, _HEAD + "".join(rows)


def main() -> int:
    """Print the table, or write it into the page."""
    for place in (CASES, BUNDLES):
        if not place.exists():
            sys.stderr.write(f"skipped: the real merges ({place.name}) are not on this machine\n")
            return 0
    with tempfile.TemporaryDirectory() as folder:
        total, made = table([*cases(), *of_bundles(Path(folder))], Path(folder))
    sys.stdout.write(f"{total} files\n\n{made}")
    if "--write" in sys.argv:
        page = PAGE.read_text(encoding="utf-8")
        start = page.index(_HEAD)
        PAGE.write_text(page[:start] + made + page[page.index("\n\n", start) + 1 :], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
