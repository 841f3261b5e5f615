"""The files of a root as a batch leaves them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from mdplan.markdown.destinations import FileTree, TargetKind
from mdplan.markdown.paths import MARKDOWN_SUFFIXES, SiteRules, page_key
from mdplan.planning.build import BuiltFile


@dataclass(frozen=True)
class ResultTree:
    """The tree `base` with other `paths`: by the old path of a file its new one, None for one that is gone.

    `created` are the paths of new files. Paths are from the root.
    """

    base: FileTree
    paths: Mapping[str, str | None]
    created: frozenset[str] = frozenset()

    @classmethod
    def of(cls, base: FileTree, built_files: Iterable[BuiltFile]) -> "ResultTree":
        """What `built_files` make of `base`."""
        files = [built.file for built in built_files]
        return cls(
            base,
            {
                file.relative: None if file.is_deleted else file.result_path
                for file in files
                if file.is_deleted or file.new_relative is not None
            },
            frozenset(file.relative for file in files if not file.exists),
        )

    def at(self, path: str) -> TargetKind:
        """What is at `path`."""
        if path in self._new:
            return TargetKind.FILE
        if path in self._folders:
            return TargetKind.OTHER
        return TargetKind.NOTHING if path in self.paths else self.base.at(path)

    def pages(self, key: str) -> Sequence[str]:
        """Markdown files whose `page_key` is `key`, sorted."""
        stay = (path for path in self.base.pages(key) if path not in self.paths)
        new = (
            path for path in self._new if page_key(path) == key and path.lower().endswith(MARKDOWN_SUFFIXES)
        )
        return sorted({*stay, *new})

    def spelled(self, path: str) -> str | None:
        """The one path that is `path` but for case; None where there is none, or there are several."""
        wanted = path.casefold()
        new = {each for each in self._new if each.casefold() == wanted}
        old = self.base.spelled(path)
        found = new if old is None or old in self.paths else {*new, old}
        return next(iter(found)) if len(found) == 1 else None

    @property
    def rules(self) -> SiteRules:
        """How links of the site name its files."""
        return self.base.rules

    @cached_property
    def _new(self) -> frozenset[str]:
        return self.created | {path for path in self.paths.values() if path is not None}

    @cached_property
    def _folders(self) -> frozenset[str]:
        """Folders of the new files, which may be new too."""
        components = (path.split("/") for path in self._new)
        return frozenset("/".join(each[:depth]) for each in components for depth in range(1, len(each)))
