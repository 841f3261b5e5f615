"""Target: unified diffs that come in, read and applied to the base that they show."""

from collections.abc import Sequence
from typing import Final

from mdplan.diagnostics import Code
from mdplan.markdown.outline import Outline
from mdplan.operations.base import Resolution
from mdplan.operations.diffs import ApplyDiff
from mdplan.text.edit import EditList
from mdplan.text.source import ByteEdit, Source
from mdplan.text.unified_diff import DiffHunk, FileDiff, NotADiff, read_diff
from tests.fuzz.mutation import mutated_text
from tests.fuzz.seeds import diffs
from tests.fuzz.target import Target
from tests.support.patches import unified_diff
from tests.support.strict_patch import apply_strictly


def check(data: bytes) -> None:
    """Check that a diff is read or refused with a reason, and that it makes what it shows on its base, or
    nothing.
    """
    diff = data.decode("utf-8", "replace")
    files = read_diff(diff)
    if isinstance(files, NotADiff):
        assert files.reason
        assert files.hint
    else:
        for file in files:
            _check_file(file)
    base, mark, result = data.partition(b"\0")
    if mark:
        _check_made(base, result)


def _check_file(file: FileDiff) -> None:
    for number, hunk in enumerate(file.hunks, start=1):
        assert hunk.number == number
        assert all(line.sign in set(" +-") for line in hunk.lines)
        assert all(line.text.count("\n") <= 1 for line in hunk.lines)
    base = _shown_base(file.hunks)
    if base is None or file.obstacle or file.creates or file.deletes or file.renames:
        return
    made = _applied(base, file.source)
    if isinstance(made, str):
        assert made == _patched(base, file.hunks), "another result than the diff shows"


def _shown_base(hunks: Sequence[DiffHunk]) -> str | None:
    """Return a text with each hunk at its stated place; None if that is impossible."""
    lines: list[str] = []
    for hunk in hunks:
        start = hunk.old_start - (1 if hunk.old else 0)
        if not len(lines) <= start <= 1_000 or any(not line.endswith("\n") for line in lines):
            return None
        lines += [f"line {number}\n" for number in range(len(lines), start)]
        lines += [line.text for line in hunk.lines if line.sign != "+"]
    return "".join(lines) if all(line.endswith("\n") for line in lines[:-1]) else None


def _patched(base: str, hunks: Sequence[DiffHunk]) -> str:
    old = base.split("\n")
    old = [f"{line}\n" for line in old[:-1]] + [line for line in old[-1:] if line]
    new: list[str] = []
    at = 0
    for hunk in hunks:
        start = hunk.old_start - (1 if hunk.old else 0)
        new += [*old[at:start], *(line.text for line in hunk.lines if line.sign != "-")]
        at = start + sum(line.sign != "+" for line in hunk.lines)
    return "".join([*new, *old[at:]])


def _applied(base: str, diff: str) -> str | None:
    """Apply the edit `apply_diff` to `base`; return None if it is refused."""
    if "\r" in base + diff or base.startswith("\ufeff") or "\0" in base + diff:
        # Line ends are fitted to those around, and a mark is no text; other laws tell of that.
        return None
    outcome = ApplyDiff(op="apply_diff", diff=diff).resolved(Outline(Source.from_text(base)))
    if not isinstance(outcome, Resolution):
        assert {problem.code for problem in outcome} <= {Code.DIFF_DOES_NOT_APPLY, Code.INVALID_ARGUMENT}
        return None
    edits = EditList.of(outcome.edits)
    assert isinstance(edits, EditList)
    return edits.apply(base)


def _check_made(base: bytes, result: bytes) -> None:
    """A diff of our own of two files, to the judge that searches for nothing, and back in."""
    diff = unified_diff("a.md", base, [ByteEdit(0, len(base), result)])
    assert apply_strictly(base, diff) == result, "the diff makes other bytes"
    try:
        text, shown, wanted = base.decode(), diff.decode(), result.decode()
    except UnicodeDecodeError:
        return
    if not diff or wanted.startswith("\ufeff"):
        return
    made = _applied(text, shown)
    assert made in {None, wanted}, "the diff of two files, applied to the first, does not make the second"
    assert made is not None or "\r" in text + wanted or "\0" in text + wanted or text[:1] == "\ufeff", (
        "the diff of two files is refused for the first"
    )


def _seeds() -> Sequence[bytes]:
    return (*diffs(), b"a\nb\nc\n\0a\nc\nd\n", b"\0new", b"one\n\0")


TARGET: Final = Target(name="diff_reader", check=check, seeds=_seeds, mutated=mutated_text)
