"""Splits the files of a manifest into parts, each with its own branch and pull request."""

import re
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Final

from pathspec import GitIgnoreSpec

from mdplan.diagnostics import Diagnostic
from mdplan.documents.documents import Documents
from mdplan.git.tree import CommitTree
from mdplan.markdown.front_matter import FrontMatterContent
from mdplan.markdown.headings import heading_slug
from mdplan.settings import Settings

# Where GitHub looks for it, in this order, and GitLab.
_CODEOWNERS: Final = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS")
_OTHERS: Final = "other"
_MOST_BYTES: Final = 3 << 20
_COMMENT: Final = re.compile(r"(?:^|(?<!\\)\s)#.*")
_BLANKS: Final = re.compile(r"(?<!\\)\s+")
# GitHub ignores rules with these, which `.gitignore` knows; in GitLab they begin a section.
_NO_PATTERN: Final = re.compile(r"!|.*[\[\]]")


class SplitBy(StrEnum):
    """The criterion that assigns a file to a part."""

    CODEOWNERS = "codeowners"
    FOLDER = "folder"
    FRONT_MATTER = "front-matter"
    FILES = "files"


@dataclass(frozen=True, slots=True)
class Split:
    """How to split: the criterion `by`, and its folder depth, front matter key or number of files."""

    by: SplitBy
    argument: str = ""

    @classmethod
    def read(cls, text: str) -> "Split | Diagnostic":
        """The split that ``BY`` or ``BY:ARGUMENT`` gives. Errors: INVALID_ARGUMENT."""
        name, colon, argument = text.partition(":")
        takes = {SplitBy.FOLDER: "1", SplitBy.FRONT_MATTER: None, SplitBy.FILES: None}
        known = name in set(SplitBy) and (bool(colon) <= (name in takes))
        split = cls(SplitBy(name), argument or takes.get(SplitBy(name)) or "") if known else None
        numbered = split is not None and split.by in {SplitBy.FOLDER, SplitBy.FILES}
        if split is None or (name in takes and not split.argument) or (numbered and not split.is_positive):
            return Diagnostic.invalid(
                f"`{text[:60]}` is not a way to split",
                "write codeowners, folder, folder:DEPTH, front-matter:KEY or files:NUMBER",
            )
        return split

    @property
    def is_positive(self) -> bool:
        """Whether the argument is a number from 1."""
        return self.argument.isdecimal() and int(self.argument) > 0


def split_files(
    split: Split, files: Sequence[str], tree: CommitTree, settings: Settings
) -> dict[str, list[str]]:
    """`files` (paths from the root), as parts by name; each name can be part of the name of a branch."""
    if split.by is SplitBy.FILES:
        size = int(split.argument)
        chunks = (files[start : start + size] for start in range(0, len(files), size))
        return {str(number): list(chunk) for number, chunk in enumerate(chunks, 1)}
    keys = _keys(split, files, tree, settings)
    parts: defaultdict[str, list[str]] = defaultdict(list)
    for file, key in zip(files, keys, strict=True):
        parts[heading_slug(key.replace("/", "-")).strip("-.") or _OTHERS].append(file)
    return dict(sorted(parts.items()))


def _keys(split: Split, files: Sequence[str], tree: CommitTree, settings: Settings) -> list[str]:
    """For each of `files` the text that its part is named after."""
    match split.by:
        case SplitBy.FOLDER:
            depth = int(split.argument)
            return ["/".join(PurePosixPath(file).parts[:-1][:depth]) for file in files]
        case SplitBy.CODEOWNERS:
            return _owners(files, tree)
        case _:
            with tree.open() as workspace:
                documents = Documents.of(workspace, settings)
                return [_value(documents, file, split.argument) for file in files]


def _value(documents: Documents, file: str, key: str) -> str:
    """The value of `key` in the front matter of `file`; empty without one."""
    name = documents.workspace.locate(file)
    outline = name if isinstance(name, Diagnostic) else documents.open(name, None, None)
    content = None if isinstance(outline, Diagnostic) else outline.front_matter_content
    value = content.values.get(key) if isinstance(content, FrontMatterContent) else None
    return "" if value is None else str(value)


def _owners(files: Sequence[str], tree: CommitTree) -> list[str]:
    """The owners of each of `files` by the file CODEOWNERS of the repository: the last rule that matches."""
    rules: list[tuple[_OwnedFiles, str]] = []
    for pattern, *owners in _rules(tree):
        # Forges ignore a rule that is none.
        with suppress(ValueError):
            rules.append((_OwnedFiles.of(pattern), " ".join(owners)))
    found: list[str] = []
    for file in files:
        path = f"{tree.place.below}/{file}".lstrip("/")
        found.append(next((owners for owned, owners in reversed(rules) if owned.has(path)), ""))
    return found


@dataclass(frozen=True, slots=True)
class _OwnedFiles:
    """The files that a pattern of CODEOWNERS names: as `.gitignore` does, but ``docs/*`` is one level."""

    spec: GitIgnoreSpec
    is_one_level: bool

    @classmethod
    def of(cls, pattern: str) -> "_OwnedFiles":
        is_one_level = pattern.endswith("/*") and not pattern.endswith("**/*")
        return cls(GitIgnoreSpec.from_lines([pattern]), is_one_level)

    def has(self, path: str) -> bool:
        """Whether the file at `path`, from the top of the repository, is one of them."""
        folder = path.rpartition("/")[0]
        return self.spec.match_file(path) and not (self.is_one_level and self.spec.match_file(folder))


def _rules(tree: CommitTree) -> list[list[str]]:
    """The lines of CODEOWNERS as words: a pattern and its owners."""
    with tree.of_repository().open() as workspace:
        for path in _CODEOWNERS:
            name = workspace.locate(path)
            read = name if isinstance(name, Diagnostic) else workspace.read(name, _MOST_BYTES)
            if not isinstance(read, Diagnostic):
                lines = read.data.decode("utf-8", "replace").splitlines()
                rules = (_BLANKS.split(_COMMENT.sub("", line).strip()) for line in lines)
                return [words for words in rules if words[0] and not _NO_PATTERN.match(words[0])]
    return []
