"""Names of files, checked as text: what is not a plain relative path below a root gets no further.

The rules are those of every system at once, so that a batch that is accepted here is accepted elsewhere.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mdplan.diagnostics import Code, Diagnostic
from mdplan.storage.filesystem import StorageRefused
from mdplan.text.lazy_pattern import lazy_pattern

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


MAX_PATH_BYTES: Final = 4096

MAX_COMPONENT_BYTES: Final = 255

_TEMPORARY: Final = r"\.mdplan-[0-9a-f]{8,}-\d+\.tmp"

# `git~1` is the short name that Windows gives to `.git`.
_OWN_FOLDERS: Final = frozenset({".git", ".mdplan", "git~1"})

_DEVICES: Final = frozenset(
    {"con", "prn", "aux", "nul", "conin$", "conout$"}
    | {f"{port}{digit}" for port in ("com", "lpt") for digit in range(10)}
)

# Controls, format characters (bidi overrides, zero width), line separators, surrogates: a name that holds one
# does not look like what it is.
_HIDDEN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Zl", "Zp", "Cs"})

_ORDINARY: Final = lazy_pattern(r"[A-Za-z0-9_-](?:[A-Za-z0-9._-]{0,200}[A-Za-z0-9_-])?")

_SHOWN_CHARACTERS: Final = 200


@dataclass(frozen=True, slots=True, order=True)
class FileName:
    """A file below a root, by names that passed the rules; `str()` of it is what a caller writes.

    `root` is the root's name, empty where the workspace has one root. `path` is relative, with `/` between
    its components and no `.` or `..` among them, and the scope of the root has it. `Root.locate` and the
    listing of a root check that; whoever has a `FileName` does not check it again.
    """

    root: str
    path: str

    def __str__(self) -> str:
        return f"{self.root}:{self.path}" if self.root else self.path


def is_temporary_name(name: str) -> bool:
    """Whether a commit makes files of that name next to its targets, and leaves them there when it is killed.

    It is never a document.
    """
    return re.fullmatch(_TEMPORARY, name) is not None


def canonical_path(path: str) -> str | Diagnostic:
    """`path`, relative to a root, without its `.` components (`./a.md` is `a.md`); or why it is refused.

    Refused with PATH_OUTSIDE_ROOT are absolute paths and `..` components, with PATH_INVALID what some system
    reads as something else than a file of that name. `~`, `$` and `%` are ordinary characters.
    """
    problem = _problem_of_text(path)
    if problem is not None:
        return problem
    components = path.split("/")
    if ".." in components:
        return _outside(path, "`..` is not allowed in a path", "name the file from the root folder down")
    if path.startswith("/"):
        return _outside(path, "it is absolute", "name the file relative to the root folder")
    if components[-1] == ".":
        return _invalid_path(path, "it names a folder", "name a file in it")
    kept = [component for component in components if component != "."]
    for component in kept:
        reason = component_problem(component)
        if reason is not None:
            names = "/".join(filter(None, kept))
            return _invalid_path(path, reason, "" if component else f"write `{visible(names)}`")
    return "/".join(kept)


def component_problem(component: str) -> str | None:
    """Why `component` cannot be the name of a file or folder that is read or written; None when it can."""
    # Most names need no closer look.
    if _ORDINARY.fullmatch(component) and component.partition(".")[0].lower() not in _DEVICES:
        return None
    # Compatibility forms count as what they represent: some systems store names normalized, and to Windows
    # `LPT¹` is the device `LPT1`.
    folded = unicodedata.normalize("NFKC", component).casefold()
    length = len(_encoded(component))
    reasons = (
        (component in ("", ".", ".."), "it has an empty component"),
        (length > MAX_COMPONENT_BYTES, f"a name is longer than {MAX_COMPONENT_BYTES} bytes"),
        (folded in _OWN_FOLDERS, "`.git` and `.mdplan` are not edited"),
        (is_temporary_name(folded), "the name is one of a temporary file of mdplan"),
        (":" in component, "`:` is not allowed in a name (drive letters, streams)"),
        (component.endswith((".", " ")), "a name ends in a dot or a space"),
        (folded.partition(".")[0].rstrip() in _DEVICES, "a name is that of a device (`con`, `aux`, …)"),
        (_has_hidden(component), "a name has a control or invisible character"),
    )
    return next((reason for holds, reason in reasons if holds), None)


def visible(path: str) -> str:
    """`path` for a message: invisible characters escaped, bounded in length, always valid Unicode."""
    cut = path if len(path) <= _SHOWN_CHARACTERS else path[: _SHOWN_CHARACTERS - 1] + "…"
    if not _has_hidden(cut):
        return cut
    return "".join(
        character.encode("unicode_escape").decode("ascii") if _is_hidden(character) else character
        for character in cut
    )


def _problem_of_text(path: str) -> Diagnostic | None:
    reasons = (
        (not path, "it is empty", "name a file"),
        (len(_encoded(path)) > MAX_PATH_BYTES, f"it is longer than {MAX_PATH_BYTES} bytes", ""),
        ("\\" in path, "it has a backslash", "write `/` between the names of folders and files"),
        (path.startswith("//") or path == "/", "it names no file", "name a file below the root folder"),
        (any("\ud800" <= character <= "\udfff" for character in path), "it is not valid Unicode", ""),
    )
    return next((_invalid_path(path, reason, hint) for holds, reason, hint in reasons if holds), None)


def _has_hidden(text: str) -> bool:
    return not text.isprintable() and any(map(_is_hidden, text))


def _is_hidden(character: str) -> bool:
    return not character.isprintable() and unicodedata.category(character) in _HIDDEN_CATEGORIES


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _invalid_path(path: str, reason: str, hint: str = "") -> Diagnostic:
    return _refused(Code.PATH_INVALID, path, reason, hint)


def _outside(path: str, reason: str, hint: str) -> Diagnostic:
    return _refused(Code.PATH_OUTSIDE_ROOT, path, reason, hint)


def _refused(code: Code, path: str, reason: str, hint: str) -> Diagnostic:
    shown = visible(path)
    return Diagnostic(code=code, message=f"the path `{shown}` is refused: {reason}", hint=hint, file=shown)


# --- Which files of a root may be touched: globs with git's rules, as in a `.gitignore`.

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
        return _invalid_glob(glob, f"has `{visible(braces[0])}`, and braces are not expanded", _ONE_EACH)
    try:
        patterns = compiled([glob]).patterns
    except (ValueError, re.error):
        patterns = []
    if not patterns or patterns[0].include is None:
        return _invalid_glob(glob, "is not a glob")
    return None


def cost_problem(glob: str) -> Diagnostic | None:
    """INVALID_ARGUMENT when matching `glob`, which a stranger wrote, could take very long; else None.

    A match is a search that tries every length for every star.
    """
    components = glob.split("/")
    stars = max((component.count("*") for component in components if component != "**"), default=0)
    if stars > _MAX_STARS or components.count("**") > _MAX_DOUBLE_STARS:
        return _invalid_glob(glob, f"has more than {_MAX_STARS} `*` in one name or {_MAX_DOUBLE_STARS} `**`")
    return None


def _invalid_glob(glob: str, reason: str, hint: str = _AS_GIT) -> Diagnostic:
    return Diagnostic.invalid(f"`{visible(glob)}` {reason}", hint)
