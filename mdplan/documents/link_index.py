"""The files of a root next to those of a batch, looked at where links lead: the second pass of a snapshot."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property

from mdplan.diagnostics import Diagnostic
from mdplan.documents.files import OutlinedFiles
from mdplan.markdown.destinations import TargetKind
from mdplan.markdown.paths import MARKDOWN_SUFFIXES, NO_RULES, SiteRules, folder_of, page_key
from mdplan.markdown.targets import resolvable_targets
from mdplan.planning.build import SnapshotFile
from mdplan.planning.link_changes import may_link_to, may_list, text_of_bytes
from mdplan.planning.navigation import is_navigation
from mdplan.requests.batch import FileEdits
from mdplan.storage.names import FileName
from mdplan.storage.root import Root
from mdplan.text.source import Source


class LinkIndex:
    """The files of `root`, read through `documents` with its limits.

    Each folder is listed once. What git ignores is no place where links are looked for.
    """

    def __init__(self, documents: OutlinedFiles, root: Root) -> None:
        """Look at `root`, which is one of the workspace of `documents`."""
        self._documents = documents
        self._root = root
        self._folders: dict[str, dict[str, TargetKind] | None] = {}
        self._anchors: dict[str, frozenset[str] | None] = {}

    @classmethod
    def for_file(cls, file: SnapshotFile, documents: OutlinedFiles) -> "LinkIndex":
        """The files of the root that `file` of `documents` lies in."""
        name = documents.workspace.locate(file.path)
        assert isinstance(name, FileName), "the files of a snapshot were located before"
        return cls(documents, documents.workspace.root_of(name))

    def at(self, path: str) -> TargetKind:
        """What is at `path`, from the root; links and what must not be examined count as something."""
        if self._root.scope.is_limited and self._root.scope.refusal(path) is not None:
            return TargetKind.OTHER
        folder = folder_of(path)
        if folder not in self._folders:
            self._folders[folder] = self._listed(folder)
        names = self._folders[folder]
        if names is not None:
            return names.get(path.rpartition("/")[2], TargetKind.NOTHING)
        # A folder that is not there holds nothing; of one that cannot be opened no one knows.
        return TargetKind.NOTHING if folder and self.at(folder) is not TargetKind.OTHER else TargetKind.OTHER

    def pages(self, key: str) -> Sequence[str]:
        """Markdown files whose `page_key` is `key`, sorted."""
        return self._pages.get(key, ())

    def spelled(self, path: str) -> str | None:
        """The one path that is `path` but for case; None where there is none, or there are several."""
        here = ""
        for component in path.split("/"):
            if here not in self._folders:
                self._folders[here] = self._listed(here)
            wanted = component.casefold()
            found = [name for name in self._folders[here] or () if name.casefold() == wanted]
            if len(found) != 1:
                return None
            here = f"{here}/{found[0]}" if here else found[0]
        return here

    @property
    def rules(self) -> SiteRules:
        """How links of the site name its files; none where they cannot be read."""
        return self._site if isinstance(self._site, SiteRules) else NO_RULES

    @property
    def rules_problem(self) -> Diagnostic | None:
        """A warning about rules that cannot be read."""
        return self._site if isinstance(self._site, Diagnostic) else None

    @cached_property
    def _site(self) -> SiteRules | Diagnostic:
        return self._documents.site_rules(self._root)

    def anchors(self, path: str) -> frozenset[str] | None:
        """Anchors of the Markdown file `path`, as `target_key` writes them; None for what cannot be read.

        Each file is parsed once.
        """
        if path not in self._anchors:
            self._anchors[path] = self._read_anchors(path)
        return self._anchors[path]

    def linking_to(self, names: frozenset[str]) -> Iterator[SnapshotFile | Diagnostic]:
        """Markdown files that may link to a file of one of `names`, sorted; only these are parsed.

        A file that cannot be read is a warning.
        """
        yield from self._parsed(self._markdown, lambda text: may_link_to(text, names))

    def navigation(self, names: frozenset[str]) -> Iterator[SnapshotFile | Diagnostic]:
        """Files that list the pages of a site and may name one of `names`, in the same way."""
        yield from self._parsed(self._lists_of_pages, lambda text: may_list(text, names))

    def _parsed(
        self, paths: Iterable[str], may_name: Callable[[str], bool]
    ) -> Iterator[SnapshotFile | Diagnostic]:
        for path in paths:
            name = FileName(self._root.name, path)
            found = self._documents.workspace.read(name, self._documents.max_file_bytes)
            if isinstance(found, Diagnostic):
                yield _not_looked_at(name, found)
            elif may_name(text_of_bytes(found.data)):
                source = self._documents.decode(name, found.data, None)
                yield (
                    self._snapshot(name, source)
                    if isinstance(source, Source)
                    else _not_looked_at(name, source)
                )

    def refusal(self, file: SnapshotFile) -> Diagnostic | None:
        """Why `file` could not be replaced now; None when it could."""
        return self._documents.workspace.write_refusal(FileName(self._root.name, file.relative))

    def _read_anchors(self, path: str) -> frozenset[str] | None:
        if not path.lower().endswith(MARKDOWN_SUFFIXES):
            return None
        # A document links to it, so the path may be any.
        name = self._root.locate(path)
        outline = name if isinstance(name, Diagnostic) else self._documents.open(name, None, None)
        return None if isinstance(outline, Diagnostic) else resolvable_targets(outline)

    def _listed(self, folder: str) -> dict[str, TargetKind] | None:
        """What the names in `folder` are; None where it cannot be opened."""
        opened = self._root.open_folder(folder)
        if isinstance(opened, Diagnostic):
            return None
        try:
            entries = self._root.filesystem.list(opened)
        except OSError:
            return None
        finally:
            self._root.filesystem.release(opened)
        return {entry.name: TargetKind.FILE if entry.is_file else TargetKind.OTHER for entry in entries}

    @cached_property
    def _markdown(self) -> list[str]:
        return [path for path in self._files if path.lower().endswith(MARKDOWN_SUFFIXES)]

    @cached_property
    def _lists_of_pages(self) -> list[str]:
        return [path for path in self._files if is_navigation(path)]

    @cached_property
    def _files(self) -> list[str]:
        everything = f"{self._root.name}:." if self._root.name else "."
        names = self._documents.workspace.iter_files(everything, respect_gitignore=True)
        if isinstance(names, Diagnostic):
            return []
        return [
            name.path
            for name in names
            if name.path.lower().endswith(MARKDOWN_SUFFIXES) or is_navigation(name.path)
        ]

    def _snapshot(self, name: FileName, source: Source) -> SnapshotFile:
        return SnapshotFile(
            path=str(name),
            relative=name.path,
            requested=FileEdits.none_of(str(name)),
            outline=self._documents.outline(name, source, None),
            first_edit=0,
        )

    @cached_property
    def _pages(self) -> dict[str, list[str]]:
        pages: defaultdict[str, list[str]] = defaultdict(list)
        for path in self._markdown:
            pages[page_key(path)].append(path)
        return dict(pages)


def _not_looked_at(name: FileName, problem: Diagnostic) -> Diagnostic:
    return Diagnostic.warning(
        problem.code,
        f"links in `{name}` were not looked at: {problem.message}",
        "correct them by hand if there are any",
        file=str(name),
    )
