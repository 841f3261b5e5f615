"""Which files of a root may be touched: globs with git's rules, as in a `.gitignore`."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mdplan.diagnostics import Diagnostic
from mdplan.storage.fs.errors import StorageRefused
from mdplan.storage.fs.file_name import visible

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_GLOBS_SHOWN: Final = 5
_MAX_STARS: Final = 3
_MAX_DOUBLE_STARS: Final = 2
_AS_GIT: Final = "write it as in a `.gitignore`, for example `docs/**/*.md`"
_ONE_EACH: Final = "give a glob for each, for example `*.md` and `*.txt`"
_BRACES: Final = r"\{[^{}/]*,[^{}/]*\}"


@dataclass(frozen=True, slots=True)
class Scope:
    """The globs of `--allow` and `--deny`: a file must match one that allows, if any, and none that denies.

    Of several globs that match, the last decides, so `!` makes exceptions. Letters with accents match however
    they are composed: a repository from macOS can hold `é` as two characters where the glob has one.
    """

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    _allowed: "GitIgnoreSpec | None" = None
    _denied: "GitIgnoreSpec | None" = None

    @staticmethod
    def of(allow: Sequence[str], deny: Sequence[str]) -> "Scope":
        """Compile the globs; raises `StorageRefused` with INVALID_ARGUMENT for those that are none."""
        problems = tuple(problem for glob in (*allow, *deny) if (problem := glob_problem(glob)))
        if problems:
            raise StorageRefused(problems)
        return Scope(
            tuple(allow),
            tuple(deny),
            compiled([_composed(glob) for glob in allow]) if allow else None,
            compiled([_composed(glob) for glob in deny]) if deny else None,
        )

    @property
    def is_limited(self) -> bool:
        """Whether there is any glob."""
        return bool(self.allow or self.deny)

    def refusal(self, path: str) -> str | None:
        """Why the canonical `path` may not be touched, naming the glob; None when it may."""
        path = _composed(path)
        if self._denied is not None:
            decided = self._denied.check_file(path)
            if decided.include and decided.index is not None:
                return f"is denied by `{visible(self.deny[decided.index])}`"
        if self._allowed is not None and not self._allowed.match_file(path):
            return (
                f"is not allowed by {', '.join(f'`{visible(glob)}`' for glob in self.allow[:_GLOBS_SHOWN])}"
            )
        return None

    def hides_folder(self, path: str) -> bool:
        """Whether a glob denies a folder at the canonical `path`, as `drafts/` does."""
        return self._denied is not None and self._denied.match_file(f"{_composed(path)}/")


def _composed(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def compiled(globs: Sequence[str]) -> "GitIgnoreSpec":
    """Globs without a `glob_problem`, in the form that matches."""
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(globs)


def glob_problem(glob: str) -> Diagnostic | None:
    """INVALID_ARGUMENT when `glob` is none, or one that can match nothing (a comment, half a bracket).

    Also for braces: other tools expand them and git does not, so `--deny "*.{key,pem}"` would deny nothing.
    """
    braces = re.search(_BRACES, glob)
    if braces is not None:
        return _invalid(glob, f"has `{visible(braces[0])}`, and braces are not expanded", _ONE_EACH)
    try:
        patterns = compiled([glob]).patterns
    except (ValueError, re.error):
        patterns = []
    if not patterns or patterns[0].include is None:
        return _invalid(glob, "is not a glob")
    return None


def cost_problem(glob: str) -> Diagnostic | None:
    """INVALID_ARGUMENT when matching `glob`, which a stranger wrote, could take very long; else None.

    A match is a search that tries every length for every star.
    """
    components = glob.split("/")
    stars = max((component.count("*") for component in components if component != "**"), default=0)
    if stars > _MAX_STARS or components.count("**") > _MAX_DOUBLE_STARS:
        return _invalid(glob, f"has more than {_MAX_STARS} `*` in one name or {_MAX_DOUBLE_STARS} `**`")
    return None


def _invalid(glob: str, reason: str, hint: str = _AS_GIT) -> Diagnostic:
    return Diagnostic.invalid(f"`{visible(glob)}` {reason}", hint)
