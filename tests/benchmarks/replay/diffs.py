"""Formats that show lines around a change: unified diffs, and the patches of Codex."""

import re
import subprocess
from collections.abc import Callable, Iterator
from difflib import unified_diff
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.benchmarks.replay.changes import merged
from tests.benchmarks.replay.formats import differing, ended, first_place, split, to_lf


def diff_write(path: str, old: str, new: str) -> str:
    lines = unified_diff(split(old), split(new), f"a/{path}", f"b/{path}")
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def with_program(*command: str) -> Callable[[str, str, str, str], str | None]:
    def apply(call: str, path: str, text: str, base: str) -> str | None:
        with TemporaryDirectory() as folder:
            file = Path(folder, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode("utf-8", "surrogateescape"))
            data = call.encode("utf-8", "surrogateescape")
            done = subprocess.run(command, cwd=folder, input=data, check=False, capture_output=True)
            return None if done.returncode else file.read_bytes().decode("utf-8", "surrogateescape")

    return apply


@lru_cache(maxsize=1)
def patched(call: str, path: str, base: str) -> str | None:
    command = ("patch", "-p1", "-s", "--fuzz=0", "--binary", "--no-backup-if-mismatch")
    return with_program(*command)(call, path, base, base)


def three_way(call: str, path: str, text: str, base: str) -> str | None:
    """Apply a diff with `git apply --3way`, which merges because it has the old version."""
    result = patched(call, path, base)
    if result is None:
        return None
    data, is_clean = merged(*(each.encode("utf-8", "surrogateescape") for each in (text, base, result)))
    return data.decode("utf-8", "surrogateescape") if is_clean else None


# Codex apply_patch

_CONTEXT = 3
_ASCII = str.maketrans(
    dict.fromkeys("‐‑‒–—―−", "-")
    | dict.fromkeys("‘’‚‛", "'")
    | dict.fromkeys("“”„‟", '"')
    | dict.fromkeys("\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " ")
)
_FORMS: tuple[Callable[[str], str], ...] = (
    str,
    str.rstrip,
    str.strip,
    lambda line: line.strip().translate(_ASCII),
)


def codex_write(path: str, old: str, new: str) -> str:
    """Return hunks without numbers, with three lines of context; headings distinguish places."""
    before, after = split(to_lf(old)), split(to_lf(new))
    plain = [line.rstrip("\n") for line in before]
    parts, cursor = [], 0
    for start, end, lines in _codex_hunks(before, after):
        gone = plain[start:end]
        header, found = "@@", _codex_find(plain, gone, cursor) if gone else start
        if found != start:
            titles = [at for at in range(cursor, start) if re.match(r"#{1,6} ", plain[at])]
            for at in (*reversed(titles), *range(start - 1, cursor - 1, -1)):
                first = _codex_find(plain, [plain[at]], cursor)
                if first == at and _codex_find(plain, gone, at + 1) == start:
                    header = f"@@ {plain[at]}"
                    break
        parts += [header + "\n", *lines]
        cursor = end
    return f"*** Begin Patch\n*** Update File: {path}\n{''.join(parts)}*** End Patch\n"


def _codex_hunks(before: list[str], after: list[str]) -> Iterator[tuple[int, int, list[str]]]:
    """Start and end of each hunk, and its lines with their signs; neighbours share no context."""
    runs = list(differing(before, after))
    groups: list[list[tuple[int, int, int, int]]] = []
    for run in runs:
        if groups and run[0] - groups[-1][-1][1] <= 2 * _CONTEXT:
            groups[-1].append(run)
        else:
            groups.append([run])
    for group in groups:
        start = max(group[0][0] - _CONTEXT, 0)
        end = min(group[-1][1] + _CONTEXT, len(before))
        at, lines = start, []
        for first, last, new_first, new_last in group:
            lines += [" " + ended(line) for line in before[at:first]]
            lines += ["-" + ended(line) for line in before[first:last]]
            lines += ["+" + ended(line) for line in after[new_first:new_last]]
            at = last
        lines += [" " + ended(line) for line in before[at:end]]
        yield start, end, lines


def codex_apply(call: str, path: str, text: str, base: str) -> str | None:
    """Each hunk at the first place behind the last where its lines stand, ever less exactly."""
    lines, cursor, places = text.split("\n"), 0, []
    if lines[-1] == "":
        lines.pop()
    for hunk in re.split(r"^@@", call.removesuffix("*** End Patch\n"), flags=re.MULTILINE)[1:]:
        header, *signed = hunk.removesuffix("\n").split("\n")
        if header.strip():
            found = _codex_find(lines, [header[1:]], cursor)
            if found is None:
                return None
            cursor = found + 1
        gone = [line[1:] for line in signed if line[0] in " -"]
        come = [line[1:] for line in signed if line[0] in " +"]
        if not gone:
            places.append((len(lines), 0, come))
            continue
        found = _codex_find(lines, gone, cursor)
        if found is None:
            return None
        places.append((found, len(gone), come))
        cursor = found + len(gone)
    for at, count, come in sorted(places, key=lambda place: place[0], reverse=True):
        lines[at : at + count] = come
    # A last empty line stands for the last line end.
    return "\n".join(lines if lines and not lines[-1] else (*lines, ""))


def _codex_find(lines: list[str], wanted: list[str], start: int) -> int | None:
    found = (first_place(lines, wanted, form, start) for form in _FORMS)
    return next((at for at in found if at is not None), None)
