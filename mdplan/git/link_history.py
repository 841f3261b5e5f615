"""The past of the files that links name: how they left their paths, and what they said before."""

from contextlib import closing, suppress
from functools import cached_property, partial
from posixpath import basename
from typing import Final

from mdplan.diagnostics import Diagnostic
from mdplan.documents.files import OutlinedFiles
from mdplan.git.repository import RepositoryLocation
from mdplan.git.tree import Objects
from mdplan.planning.link_repairs import Departure, PathHistory, Version
from mdplan.storage.files import FileName
from mdplan.storage.filesystem import StorageRefused

_MOST_VERSIONS: Final = 400
_ABBREVIATED: Final = "--abbrev=7"
# What git takes for a rename may be two files of one template; of equal names that is no chance.
_SURE: Final = 75


class GitLinkHistory:
    """The past of `files`, as their repository tells it; nothing where there is none.

    Each question is asked once: git runs only where a link needs it.
    """

    def __init__(self, files: OutlinedFiles, commit: tuple[RepositoryLocation, str] | None = None) -> None:
        """Look at the repository of the root of `files`: up to `commit`, or HEAD and what changed since."""
        self._files = files
        self._commit = commit
        self._revision = commit[1] if commit is not None else "HEAD"
        self._versions: dict[str, list[Version]] = {}
        self._texts: dict[tuple[str, str], str] = {}

    @cached_property
    def _place(self) -> RepositoryLocation | None:
        if self._commit is not None:
            return self._commit[0]
        with suppress(StorageRefused):
            place = RepositoryLocation.of(self._files.workspace)
            if place.git("rev-parse", "--verify", "--quiet", "HEAD").returncode == 0:
                return place
        return None

    @cached_property
    def paths(self) -> PathHistory:
        """The paths that files had, but for what merges alone did."""
        if self._place is None:
            return PathHistory()
        shown = ("-z", "--name-status", "-M", "--diff-filter=DR", "--no-show-signature", _ABBREVIATED)
        words = self._place.words("log", *shown, "--format=%x01%h", self._revision, "--")
        if self._commit is None:
            since = self._place.diff("--name-status", "-M", "--diff-filter=DR", self._revision, "--")
            words = ["\x01", *since, *words]
        found: list[Departure] = []
        number, commit, at = (-1 if self._commit is None else 0), "", 0
        while at < len(words):
            word = words[at].strip("\n")
            if word.startswith("\x01"):
                number, commit, at = number + 1, word[1:], at + 1
                continue
            is_rename = word.startswith("R")
            old, new = self._within(words[at + 1]), self._within(words[at + 2]) if is_rename else None
            at += 2 + is_rename
            if old is not None and old != new:
                is_sure = new is None or int(word[1:]) >= _SURE or basename(old) == basename(new)
                departure = Departure(old=old, new=new, number=number, commit=commit, is_sure=is_sure)
                found.append(departure)
        is_shallow = self._place.text("rev-parse", "--is-shallow-repository").strip() == "true"
        return PathHistory(tuple(found), is_complete=not is_shallow)

    def versions(self, path: str) -> list[Version]:
        """Return the versions of the document `path` in commits, the newest first."""
        if path not in self._versions:
            self._versions[path] = self._read_versions(path)
        return self._versions[path]

    def text_at(self, revision: str, path: str) -> str:
        """Return the text of the file `path` in the commit that `revision` names; empty where it has none."""
        if (revision, path) not in self._texts and self._place is not None:
            done = self._place.git("cat-file", "blob", f"{revision}:{self._place.within(path)}")
            self._texts[revision, path] = done.stdout.decode("utf-8", "replace")
        return self._texts.get((revision, path), "")

    def _read_versions(self, path: str) -> list[Version]:
        place, versions = self._place, list[Version]()
        if place is None:
            return versions
        names = [path, *(arrival.old for arrival in self.paths.names_of(path))]
        within = [place.within(name) for name in names]
        count = f"--max-count={_MOST_VERSIONS}"
        log = ("log", "-z", count, "--no-show-signature", _ABBREVIATED, "--format=%H %h", self._revision)
        words = place.words(*log, "--", *(f":(top,literal){name}" for name in within))
        newer = ""
        with closing(Objects(place)) as objects:
            for word in words:
                commit, _, shown = word.strip().partition(" ")
                with suppress(OSError):
                    tree = objects.tree_of(commit)
                    entries = (
                        (name, objects.find(tree, each)) for name, each in zip(names, within, strict=True)
                    )
                    name, entry = next((pair for pair in entries if pair[1] is not None), ("", None))
                    data = objects.read(entry.name, "blob") if entry is not None else b""
                    file = FileName(self._files.workspace.roots[0].name, name)
                    source = self._files.decode(file, data, None) if entry is not None else None
                    if source is not None and not isinstance(source, Diagnostic):
                        read = partial(self._files.outline, file, source, None)
                        versions.append(Version(source.text, newer, read))
                newer = shown
        return versions

    def _within(self, path: str) -> str | None:
        """Return `path` from the root; None for one outside it."""
        assert self._place is not None
        below = self._place.below
        return self._place.from_root(path) if not below or path.startswith(f"{below}/") else None
