"""Changes of Markdown files that people committed, in an order that depends on nothing but their names."""

import hashlib
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self


@dataclass(frozen=True)
class Change:
    """A file in a commit, as blob names.

    `later` are its versions 1, 5 and 20 changes afterwards. If the commit was merged, `beside` names the
    versions on the target branch before and after the merge.
    """

    repository: str
    commit: str
    path: str
    old: str
    new: str
    later: tuple[str, ...]
    beside: tuple[str, str] | None = None

    @property
    def name(self) -> str:
        return f"{self.repository} {self.commit[:10]} {self.path}"


class Repository:
    """A clone of a bundle or repository, whose blobs are read by one process."""

    def __init__(self, origin: Path, folder: Path) -> None:
        self.name = origin.stem
        self._folder = folder / self.name
        if not self._folder.exists():
            run("git", "clone", "--quiet", "--bare", str(origin), str(self._folder))
        command = ["git", "-C", str(self._folder), "cat-file", "--batch"]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert process.stdin is not None
        assert process.stdout is not None
        self._process, self._asked, self._answers = process, process.stdin, process.stdout

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End the process that reads blobs."""
        self._process.communicate()

    def blob(self, name: str) -> bytes:
        found = self.blob_or_none(name)
        assert found is not None, name
        return found

    def blob_or_none(self, name: str) -> bytes | None:
        """Return the blob of `name`, as in ``COMMIT:PATH``, or None."""
        self._asked.write(name.encode() + b"\n")
        self._asked.flush()
        answer = self._answers.readline()
        if answer.endswith(b" missing\n"):
            return None
        return self._answers.read(int(answer.split()[-1]) + 1)[:-1]

    def changes(self, most: int) -> list[Change]:
        """The first `most` changes in the order of the hash of commit and path."""
        versions: dict[str, list[str]] = {}
        found = []
        merges = self._merges()
        for commit, path, old, new in self._log():
            later = versions.setdefault(path, [])
            picked = tuple(later[-distance] for distance in (1, 5, 20) if len(later) >= distance)
            merge = merges.get(commit)
            beside = (f"{merge[1]}:{path}", f"{merge[0]}:{path}") if merge is not None else None
            found.append(Change(self.name, commit, path, old, new, picked, beside))
            later.append(new)
        found.sort(key=lambda change: hashlib.sha256(f"{change.commit} {change.path}".encode()).digest())
        return found[:most]

    def commits(self, most: int) -> list[list[Change]]:
        """The first `most` commits, by their hash, that change from 2 to 10 files."""
        together: dict[str, list[Change]] = {}
        for commit, path, old, new in self._log():
            together.setdefault(commit, []).append(Change(self.name, commit, path, old, new, ()))
        found = [changes for changes in together.values() if 2 <= len(changes) <= 10]
        found.sort(key=lambda changes: hashlib.sha256(changes[0].commit.encode()).digest())
        return found[:most]

    def _merges(self) -> dict[str, tuple[str, str]]:
        """Return, for each commit that was a whole branch, its merge and the target."""
        log = run("git", "-C", str(self._folder), "log", "--merges", "--format=%H %P", "HEAD").decode()
        parents = (line.split() for line in log.splitlines())
        return {other: (merge, into) for merge, into, other, *more in parents if not more}

    def _log(self) -> Iterator[tuple[str, str, str, str]]:
        options = ("--no-merges", "--diff-filter=M", "--raw", "--no-abbrev", "--no-renames", "--format=@%H")
        log = run("git", "-C", str(self._folder), "log", *options, "HEAD", "--", "*.md").decode()
        commit = ""
        for line in log.splitlines():
            if line.startswith("@"):
                commit = line[1:]
            elif line.startswith(":"):
                head, path = line.split("\t", 1)
                _, _, old, new, _ = head.split()
                yield commit, path, old, new


def run(*command: str, data: bytes = b"", check: bool = True) -> bytes:
    return subprocess.run(command, input=data, check=check, capture_output=True).stdout


def merged(ours: bytes, base: bytes, theirs: bytes) -> tuple[bytes, bool]:
    """The three-way merge, `ours` where they conflict, and whether they do not."""
    with TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in ("ours", "base", "theirs")]
        for path, data in zip(paths, (ours, base, theirs), strict=True):
            path.write_bytes(data)
        names = list(map(str, paths))
        clean = subprocess.run(["git", "merge-file", "-p", "-q", *names], check=False, capture_output=True)
        if clean.returncode == 0:
            return clean.stdout, True
        return run("git", "merge-file", "-p", "-q", "--ours", *names, check=False), False
