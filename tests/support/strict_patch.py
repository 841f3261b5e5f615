"""A judge of diffs that does not search: every line must be where its hunk says."""

import codecs
import os
import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.patches import lf_lines

_HUNK = re.compile(rb"@@ -(\d+),(\d+) \+(\d+),(\d+) @@\n")
_NO_NEWLINE = b"\\ No newline at end of file\n"

# git holds all results of a run in memory.
_MOST_BYTES = 100_000_000


@dataclass(frozen=True)
class NamedDiff:
    name: str
    base: bytes
    diff: bytes


def apply_strictly(base: bytes, diff: bytes) -> bytes:
    """Apply the diff of one file to `base`; raise `AssertionError` for any wrong line or count."""
    old, new = lf_lines(base), []
    at = 0
    for start, old_count, new_start, new_count, lines in _hunks(diff):
        first = start - 1 if old_count else start
        assert first >= at, "hunks overlap"
        new += old[at:first]
        assert new_start == len(new) + (new_count > 0), "the hunk starts at another line of the result"
        removed = [line[1:] for line in lines if line[:1] in b" -"]
        added = [line[1:] for line in lines if line[:1] in b" +"]
        assert (len(removed), len(added)) == (old_count, new_count), "the counts of the hunk are wrong"
        assert old[first : first + old_count] == removed, "the base has other lines"
        new += added
        at = first + old_count
    return b"".join([*new, *old[at:]])


def changed_lines(diff: bytes) -> tuple[Counter[bytes], Counter[bytes]]:
    """Count the lines that a diff removes and adds, without newlines and BOM."""
    counts = {b"-": Counter[bytes](), b"+": Counter[bytes]()}
    for *_, lines in _hunks(diff):
        for line in lines:
            if line[:1] in counts:
                counts[line[:1]][line[1:].rstrip(b"\r\n").removeprefix(codecs.BOM_UTF8)] += 1
    removed, added = counts[b"-"], counts[b"+"]
    return removed - added, added - removed


def refused_by_git(diffs: Iterable[NamedDiff], folder: Path) -> list[str]:
    """Return the complaints of `git apply --check` about `diffs`, checked in batches; names must differ."""
    waiting: list[NamedDiff] = []
    said: list[str] = []
    for named in diffs:
        if waiting and sum(len(each.base) for each in waiting) + len(named.base) > _MOST_BYTES:
            said += _check(waiting, folder)
            waiting = []
        waiting.append(named)
    return said + _check(waiting, folder)


def _check(diffs: list[NamedDiff], folder: Path) -> list[str]:
    written: dict[bytes, Path] = {}
    for named in diffs:
        path = folder / named.name
        if named.base in written:
            os.link(written[named.base], path)
        else:
            path.write_bytes(named.base)
            written[named.base] = path
    done = subprocess.run(
        ["git", "apply", "--check", "--whitespace=nowarn"],
        cwd=folder,
        input=b"".join(named.diff for named in diffs),
        capture_output=True,
        env={
            "PATH": os.environ["PATH"],
            "LC_ALL": "C",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CEILING_DIRECTORIES": str(folder.resolve().parent),
        },
        check=False,
    )
    for named in diffs:
        (folder / named.name).unlink()
    said = done.stderr.decode(errors="replace").splitlines()
    return said or ([f"git apply --check ends with {done.returncode}"] if done.returncode else [])


def _hunks(diff: bytes) -> Iterator[tuple[int, int, int, int, list[bytes]]]:
    """Yield start and count on both sides of each hunk, and its lines, with no-newline markers applied."""
    lines = lf_lines(diff)
    if not lines:
        return
    kinds = [line.split(b" ")[0] for line in lines[:3]]
    assert kinds == [b"diff", b"---", b"+++"], kinds
    at = 3
    while at < len(lines):
        header = _HUNK.fullmatch(lines[at])
        assert header, lines[at]
        body: list[bytes] = []
        at += 1
        while at < len(lines) and not lines[at].startswith(b"@@"):
            if lines[at] == _NO_NEWLINE:
                body[-1] = body[-1].removesuffix(b"\n")
            else:
                assert lines[at][:1] in b" +-", lines[at]
                body.append(lines[at])
            at += 1
        old_start, old_count, new_start, new_count = map(int, header.groups())
        yield old_start, old_count, new_start, new_count, body
