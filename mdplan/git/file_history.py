"""File history from git: first and last change, and authors."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from dulwich.objects import ObjectID

from mdplan.git.changed_files import git_words
from mdplan.git.git_program import run_git
from mdplan.git.repository import PLAN_TRAILER, RepositoryLocation


@dataclass(slots=True)
class _Commits:
    """The commits of one file, the newest first."""

    dates: list[str] = field(default_factory=list)
    authors: Counter[str] = field(default_factory=Counter)


def file_history(
    place: RepositoryLocation, paths: Collection[str], commit: ObjectID | None = None
) -> dict[str, dict[str, Any]]:
    """Facts on those of `paths` (from the root) that have a commit, from `commit` or HEAD back.

    Each is a map of `changed` and `created` (dates of ISO 8601), `authors` (names, those with the most
    commits first), and `tag`, the newest tag that the commit has; null for none. Commits of the bot do not
    count: a page that says when it changed would change again. Raises `StorageRefused` (IO_ERROR).
    """
    start: str | bytes = commit or "HEAD"
    words = git_words(
        place,
        *("log", "--name-only", "--no-renames", "-z", "--format=%x01%aI%x09%aN"),
        *("--invert-grep", f"--grep=^{PLAN_TRAILER}: ", start, "--", f":(top){place.below}"),
    )
    prefix = f"{place.below}/" if place.below else ""
    wanted = frozenset(paths)
    found: dict[str, _Commits] = {}
    date = author = ""
    for word in words:
        name = word.removeprefix("\n")
        if name.startswith("\x01"):
            date, _, author = name[1:].partition("\t")
        elif (path := name.removeprefix(prefix)) in wanted:
            commits = found.setdefault(path, _Commits())
            commits.dates.append(date)
            commits.authors[author] += 1
    tag = _newest_tag(place, start)
    return {
        path: {
            "changed": commits.dates[0],
            "created": commits.dates[-1],
            "authors": [name for name, _ in commits.authors.most_common()],
            "tag": tag,
        }
        for path, commits in found.items()
    }


def _newest_tag(place: RepositoryLocation, start: str | bytes) -> str | None:
    with place.open() as repository:
        done = run_git(repository, "describe", "--tags", "--abbrev=0", start, variables={}, settings={})
    return done.stdout.decode("utf-8", "surrogateescape").strip() or None
