"""Real merges: cases on this machine, and every two-parent merge of the histories on it."""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_SHARED = Path(__file__).parents[2].parent / "shared"
CASES = _SHARED / "merges"
BUNDLES = _SHARED / "replay"


@dataclass(frozen=True)
class RealMerge:
    """A file that both parents of a merge changed, and what a person committed."""

    name: str
    base: bytes
    ours: bytes
    theirs: bytes
    human: bytes

    @property
    def took_one_side(self) -> bool:
        """True if the person took one side completely."""
        return self.human in {self.ours, self.theirs}

    def files(self, folder: Path) -> tuple[str, str, str]:
        """Base, ours and theirs as files in `folder`."""
        for name in ("base", "ours", "theirs"):
            (folder / f"{name}.md").write_bytes(getattr(self, name))
        base, ours, theirs = (str(folder / f"{name}.md") for name in ("base", "ours", "theirs"))
        return base, ours, theirs


def cases() -> Iterator[RealMerge]:
    """The cases that were cut out of histories before."""
    for case in json.loads((CASES / "index.json").read_text()):
        names = ("base", "ours", "theirs", "human")
        texts = [(CASES / case["id"] / f"{name}.md").read_bytes() for name in names]
        yield RealMerge(case["id"], *texts)


def of_bundles(folder: Path) -> Iterator[RealMerge]:
    """The Markdown files that both parents changed, of every merge in the bundles, which go to `folder`."""
    seen: set[tuple[bytes, ...]] = set()
    for bundle in sorted(BUNDLES.glob("*.bundle")):
        repository = folder / bundle.stem
        _git(folder, "clone", "-q", "--bare", str(bundle), str(repository))
        for line in _git(repository, "rev-list", "--merges", "--all", "--parents").splitlines():
            merge, *parents = line.decode().split()
            if len(parents) == 2:
                yield from _files(repository, merge, parents, seen)


def _files(
    repository: Path, merge: str, parents: list[str], seen: set[tuple[bytes, ...]]
) -> Iterator[RealMerge]:
    bases = _git(repository, "merge-base", "--all", *parents).decode().split()
    if not bases:
        return
    commits = [bases[0], *parents, merge]
    changed = [
        set(_git(repository, "diff-tree", "-r", "-z", "--name-only", bases[0], each).split(b"\0"))
        for each in parents
    ]
    for path in sorted(changed[0] & changed[1]):
        if not path.lower().endswith((b".md", b".markdown")):
            continue
        names = [f"{commit}:{path.decode()}" for commit in commits]
        blobs = [_git(repository, "rev-parse", "-q", "--verify", name).strip() for name in names]
        if all(blobs) and len(set(blobs[:3])) == 3 and tuple(blobs) not in seen:
            seen.add(tuple(blobs))
            texts = [_git(repository, "cat-file", "blob", blob.decode()) for blob in blobs]
            yield RealMerge(f"{repository.name} {merge[:12]} {path.decode()}", *texts)


def _git(folder: Path, *arguments: str) -> bytes:
    run = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, check=False)
    return run.stdout
