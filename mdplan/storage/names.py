r"""Names of files and folders, and how each system reads them.

A path in a batch is relative to a root and has `/` between its components on every system. Names that could
leave the root on any system are refused everywhere. Names that only one system reads differently, such as
`aux.md` or `a:b.md` on Windows, are refused only there. These functions only look at text; a file system also
compares a name with the one on disk, so that no second spelling (`DOCS`, `DOCUME~1`) reaches a file.
"""

import os
import re
import sys
import unicodedata
from typing import Final

from mdplan.diagnostics import Code, Diagnostic
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.visible import has_hidden, visible

LINUX: Final = "linux"
MACOS: Final = "darwin"
WINDOWS: Final = "win32"
# A variable, because type checkers treat `sys.platform` as a constant.
SYSTEM: Final[str] = str(sys.platform)

MAX_PATH_BYTES: Final = 4096
# Bytes of UTF-8, on Windows units of UTF-16.
MAX_COMPONENT: Final = 255
# The note of a running commit at its root, and the temporary files next to its targets.
NOTE: Final = ".mdplan-commit.json"
_TEMPORARY: Final = r"\.mdplan-(?:[0-9a-f]{8,}-\d+\.tmp|commit\.json)"

# `git~1` is the Windows short name of `.git`.
_OWN_FOLDERS: Final = frozenset({".git", ".mdplan", "git~1"})
_DEVICES: Final = frozenset(
    {"con", "prn", "aux", "nul", "conin$", "conout$"}
    | {f"{port}{digit}" for port in ("com", "lpt") for digit in range(10)}
)
_NOT_ON_WINDOWS: Final = frozenset('<>"|?*')

_ORDINARY: Final = lazy_pattern(r"[A-Za-z0-9_-](?:[A-Za-z0-9._-]{0,200}[A-Za-z0-9_-])?")


def is_temporary_name(name: str) -> bool:
    """Return True for names of temporary files that commits create and may leave when killed."""
    return re.fullmatch(_TEMPORARY, name) is not None


def canonical_path(path: str, system: str = SYSTEM) -> str | Diagnostic:
    """Return `path`, relative to a root, without `.` components, or the reason to refuse it.

    Absolute paths and `..` are PATH_OUTSIDE_ROOT; names that some system reads differently are PATH_INVALID.
    `~`, `$` and `%` are ordinary characters.
    """
    problem = _problem_of_text(path)
    if problem is not None:
        return problem
    components = path.split("/")
    outside = Code.PATH_OUTSIDE_ROOT
    if ".." in components:
        return _refused(
            path, "`..` is not allowed in a path", "name the file from the root folder down", outside
        )
    if is_absolute(path, system):
        return _refused(path, "it is absolute", "name the file relative to the root folder", outside)
    if components[-1] == ".":
        return _refused(path, "it names a folder", "name a file in it")
    kept = [component for component in components if component != "."]
    for component in kept:
        reason = component_problem(component, system)
        if reason is not None:
            names = "/".join(filter(None, kept))
            return _refused(path, reason, "" if component else f"write `{visible(names)}`")
    return "/".join(kept)


def component_problem(component: str, system: str = SYSTEM) -> str | None:
    """Return why `component` cannot be a file or folder name, or None."""
    on_windows = system == WINDOWS
    devices = _DEVICES if on_windows else ()
    # Fast path for most names.
    if _ORDINARY.fullmatch(component) and component.partition(".")[0].lower() not in devices:
        return None
    # Normalize compatibility forms, as some systems do: to Windows `LPT¹` is the device `LPT1`.
    folded = unicodedata.normalize("NFKC", component).casefold()
    length = len(component.encode("utf-16-le", "surrogatepass")) // 2 if on_windows else _size(component)
    unit = "characters" if on_windows else "bytes"
    # Windows reads `.git.` and `.git:x` as `.git`, and may share the repository.
    own_folder = folded.partition(":")[0].rstrip(". ")
    strange = sorted(_NOT_ON_WINDOWS & set(component)) if on_windows else []
    reasons = (
        (component in ("", ".", ".."), "it has an empty component"),
        (length > MAX_COMPONENT, f"a name is longer than {MAX_COMPONENT} {unit}"),
        (own_folder in _OWN_FOLDERS, "`.git` and `.mdplan` are not edited"),
        (is_temporary_name(folded), "the name is one of a temporary file of mdplan"),
        (_is_drive(component) or "::$" in component, "a name is that of a drive or stream of Windows"),
        ("\\" in component, "it has a backslash"),
        (not component.strip(". "), "a name has only dots and spaces"),
        (on_windows and ":" in component, "`:` is not allowed in a name (drive letters, streams)"),
        (strange, f"`{''.join(strange)}` is not allowed in a name on Windows"),
        (on_windows and component.endswith((".", " ")), "a name ends in a dot or a space"),
        (folded.partition(".")[0].rstrip() in devices, "a name is that of a device (`con`, `aux`, …)"),
        (has_hidden(component), "a name has a control or invisible character"),
    )
    return next((reason for holds, reason in reasons if holds), None)


def is_absolute(path: str, system: str = SYSTEM) -> bool:
    """Return True if `path`, written with `/`, starts at a root, drive or share of `system`."""
    return path.startswith("/") or (system == WINDOWS and _is_drive(path[:2]) and path[2:3] == "/")


def slashed(path: str, system: str = SYSTEM) -> str:
    r"""Return a path of the system with `/`, and without the prefix `\\?\` of long paths on Windows."""
    if system != WINDOWS:
        return path
    path = path.replace("\\", "/")
    if path.startswith("//?/UNC/"):
        return f"//{path[8:]}"
    return path.removeprefix("//?/")


def absolute(path: str | os.PathLike[str] = os.curdir) -> str:
    """Return `path` from the current folder, written with `/`; links stay."""
    return slashed(os.path.abspath(path))


def real_path(path: str | os.PathLike[str]) -> str:
    """Return the absolute `path` without links, written with `/`."""
    return slashed(os.path.realpath(path))


def relative(path: str, start: str = os.curdir) -> str:
    """Return `path` as seen from the folder `start`, written with `/`; unchanged on another drive."""
    try:
        return slashed(os.path.relpath(path, start))
    except ValueError:
        return slashed(path)


def with_parents(path: str) -> list[str]:
    """Return the absolute `path` and all folders above it, innermost first."""
    above = [path]
    while (folder := os.path.dirname(above[-1])) != above[-1]:
        above.append(folder)
    return above


def path_below(path: str, folder: str, system: str = SYSTEM) -> str | None:
    """Return the absolute `path` relative to the absolute `folder` (empty for itself), or None if outside.

    Whole components count: `/srv/docs2` is not inside `/srv/docs`. Case does not count above a root on
    Windows.
    """
    folders, components = folder.rstrip("/").split("/"), path.split("/")
    above = components[: len(folders)]
    if system == WINDOWS:
        folders, above = [[name.casefold() for name in names] for names in (folders, above)]
    return "/".join(components[len(folders) :]) if above == folders else None


def _is_drive(text: str) -> bool:
    return text[1:] == ":" and text[0].isalpha()


def _problem_of_text(path: str) -> Diagnostic | None:
    reasons = (
        (not path, "it is empty", "name a file"),
        (_size(path) > MAX_PATH_BYTES, f"it is longer than {MAX_PATH_BYTES} bytes", ""),
        ("\\" in path, "it has a backslash", "write `/` between the names of folders and files"),
        (path.startswith("//") or path == "/", "it names no file", "name a file below the root folder"),
        (any("\ud800" <= character <= "\udfff" for character in path), "it is not valid Unicode", ""),
    )
    return next((_refused(path, reason, hint) for holds, reason, hint in reasons if holds), None)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _refused(path: str, reason: str, hint: str = "", code: Code = Code.PATH_INVALID) -> Diagnostic:
    shown = visible(path)
    return code.problem(f"the path `{shown}` is refused: {reason}", hint, file=shown)
