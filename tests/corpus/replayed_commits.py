"""Replay changes that people committed to real documents as batches, and count refusals by reason.

For the numbers, run `python -m tests.corpus.replayed_commits [FOLDER]`. A change of a Markdown file becomes
`replace_lines`, `insert_lines` and `delete_lines`, one per run of changed lines, and another batch of
`replace_section` for each section in which only the body differs.
"""

import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path

from mdplan.diagnostics import Code, Diagnostic
from mdplan.markdown.outline import Outline
from mdplan.planning.build import BuiltFile
from mdplan.text.lines import Span
from mdplan.text.source import Source
from tests.support.edit_trials import Document

BUNDLES = Path(__file__).parents[3] / "shared" / "replay"


@dataclass(frozen=True)
class Change:
    """One Markdown file before and after one commit."""

    name: str
    old: bytes
    new: bytes


@dataclass
class Outcome:
    """The outcome of some changes. `refused` has each refused change with its problems."""

    changes: int = 0
    codes: Counter[Code] = field(default_factory=Counter)
    refused: list[tuple[Change, Sequence[Diagnostic]]] = field(default_factory=list)
    wrong: list[Change] = field(default_factory=list)


def changes_of(bundle: Path, most: int, folder: Path) -> Iterator[Change]:
    """The changes of Markdown files in the newest `most` commits that are no merges."""
    repository = folder / bundle.stem
    if not repository.exists():
        _git(folder, "clone", "--quiet", "--bare", str(bundle.resolve()), str(repository))
    log = _git(repository, "log", "--no-merges", f"--max-count={most}", "--format=%H", "HEAD").decode()
    for commit in log.split():
        raw = _git(repository, "diff-tree", "-r", "--diff-filter=M", "--no-commit-id", "-z", commit)
        parts = raw.decode("utf-8", "surrogateescape").split("\0")
        for head, path in zip(parts[::2], parts[1::2], strict=False):
            if path.endswith(".md"):
                _, _, old, new, _ = head.split()
                blobs = [_git(repository, "cat-file", "blob", blob) for blob in (old, new)]
                yield Change(f"{bundle.stem} {commit[:10]} {path}", blobs[0], blobs[1])


def _git(folder: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True).stdout


def line_edits(old: str, new: str) -> list[dict[str, object]]:
    """One edit for each run of lines that differs."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    edits: list[dict[str, object]] = []
    for tag, first, stop, start, end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        text = "".join(after[start:end])
        lines = {"start": first + 1, "end": stop}
        if tag == "replace":
            edits.append({"op": "replace_lines", "lines": lines, "text": text})
        elif tag == "delete":
            edits.append({"op": "delete_lines", "lines": lines})
        elif tag == "insert" and first:
            edits.append({"op": "insert_lines", "line": first, "position": "after", "text": text})
        elif tag == "insert":
            edits.append({"op": "insert_lines", "line": 1, "position": "before", "text": text})
    return edits


def section_edits(old: str, new: str) -> list[dict[str, object]]:
    """One edit for each section whose body differs; none where the headings are others."""
    before, after = (Outline(Source.from_text(text)) for text in (old, new))
    names = [[(each.section_id, each.level) for each in side.sections] for side in (before, after)]
    if names[0] != names[1] or before.text_of(before.sections[0].body) != after.text_of(
        after.sections[0].body
    ):
        return []
    changed = [
        (section, after.text_of(Span(now.heading_start, now.body.end)))
        for section, now in zip(before.sections[1:], after.sections[1:], strict=True)
        if before.text_of(section.body) != after.text_of(now.body) and after.text_of(now.body).strip()
    ]
    return [
        {"op": "replace_section", "sectionId": section.section_id, "keepSubsections": True, "markdown": text}
        for section, text in changed
    ]


def replay(
    changes: Iterable[Change], edits_of: Callable[[str, str], list[dict[str, object]]] = line_edits
) -> Outcome:
    """Plan each change as `edits_of` makes it, without any of the `allow…` options."""
    outcome = Outcome()
    for change in changes:
        old, new = Source.decode(change.old), Source.decode(change.new)
        if not isinstance(old, Source) or not isinstance(new, Source) or "\r" in old.text + new.text:
            continue
        edits = edits_of(old.text, new.text)
        if not edits:
            continue
        outcome.changes += 1
        built = Document(change.name, change.old).plan(*edits)
        if not isinstance(built, BuiltFile):
            outcome.codes.update({problem.code for problem in built})
            outcome.refused.append((change, built))
        elif edits_of is line_edits and built.result.source.text.rstrip("\n") != new.text.rstrip("\n"):
            outcome.wrong.append(change)
    return outcome


def main(folder: Path, most: int) -> None:
    """Print the numbers and each refused change."""
    with tempfile.TemporaryDirectory() as temporary:
        for bundle in sorted(folder.glob("*.bundle")):
            changes = list(changes_of(bundle, most, Path(temporary)))
            for edits_of in (line_edits, section_edits):
                report(f"{bundle.stem}, {edits_of.__name__}", replay(changes, edits_of))


def report(name: str, outcome: Outcome) -> None:
    """Print the numbers of `outcome`, and each refused change."""
    share = 100 * len(outcome.refused) / max(outcome.changes, 1)
    sys.stdout.write(f"{name}: {outcome.changes} changes, {len(outcome.refused)} refused ({share:.2f} %)\n")
    sys.stdout.write(f"  by code: {dict(outcome.codes)}; other result: {len(outcome.wrong)}" + "\n")
    for change, problems in outcome.refused:
        sys.stdout.write(f"  {change.name}" + "\n")
        for problem in problems:
            sys.stdout.write(f"    {problem.code} {problem.place}: {problem.message}" + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else BUNDLES, int(sys.argv[2]) if len(sys.argv) > 2 else 700)
