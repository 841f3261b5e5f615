"""One hostile input: what is tried, what it may lead to, and that nothing else has changed."""

import stat
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from mdplan.diagnostics import Code, Diagnostic
from mdplan.engine.engine import Engine
from mdplan.reports.base import Report
from mdplan.requests.query_reader import read_read_request, read_search_request, read_stat_request

HERE = b"# Here\n\ntext\n\n# There\n\nmore\n"
SECRET = b"# Secret\n\nsecret\n"


@dataclass(frozen=True, slots=True)
class Place:
    """A `folder` that must stay unchanged, except for expected changes in the `root` of `engine`."""

    folder: Path
    root: Path
    engine: Engine


Found = TypeVar("Found")
# The default limit in CPU seconds.
PATIENCE = 20.0
# What a path may be handed to: each takes it from a caller and gives a report, or what is wrong with it.
Verb = Callable[[Engine, str], object]


def read_verb(engine: Engine, path: str) -> object:
    """Read the file."""
    request = read_read_request({"file": path})
    return request if isinstance(request, tuple) else engine.read(request)


def stat_verb(engine: Engine, path: str) -> object:
    """Look at its structure."""
    request = read_stat_request({"file": path})
    return request if isinstance(request, tuple) else engine.stat(request)


def search_verb(engine: Engine, path: str) -> object:
    """Look for text in it."""
    request = read_search_request({"file": path, "pattern": "secret"})
    return request if isinstance(request, tuple) else engine.search(request)


def _batch(path: str, edit: dict[str, Any]) -> dict[str, Any]:
    return {"file": path, "edits": [edit]}


APPEND = {"op": "append_to_file", "markdown": "Owned."}
# Edits of the file at the path, and edits of another file that write to the path.
_EDITS: dict[str, Callable[[str], dict[str, Any]]] = {
    "append": lambda path: _batch(path, APPEND),
    "create": lambda path: _batch(path, {"op": "create_file", "markdown": "Owned."}),
    "delete": lambda path: _batch(path, {"op": "delete_file"}),
    "rename to": lambda path: _batch("here.md", {"op": "rename_file", "newFile": path}),
    "move to": lambda path: _batch(
        "here.md", {"op": "move_section", "headingPath": ["There"], "toFile": path}
    ),
    "diff of": lambda path: {"diff": f"--- a/{path}\n+++ b/{path}\n@@ -1,1 +1,1 @@\n-# Secret\n+# Owned\n"},
}


def _plan(name: str) -> Verb:
    return lambda engine, path: engine.plan(_EDITS[name](path))


def _write(name: str) -> Verb:
    """Plan and commit in one call, without a separate guard."""
    return lambda engine, path: engine.write(_EDITS[name](path))


LOOKING: dict[str, Verb] = {"read": read_verb, "stat": stat_verb, "search": search_verb}
OF_FILE: dict[str, Verb] = {
    "plan an append": _plan("append"),
    "write an append": _write("append"),
    "plan a deletion": _plan("delete"),
    "write a deletion": _write("delete"),
    "write a diff": _write("diff of"),
}
NEW_FILE: dict[str, Verb] = {
    "plan a creation": _plan("create"),
    "write a creation": _write("create"),
    "plan a renaming": _plan("rename to"),
    "write a renaming": _write("rename to"),
}
OTHER_FILE: dict[str, Verb] = {"write a move": _write("move to")}
EVERY_VERB = {**LOOKING, **OF_FILE, **NEW_FILE, **OTHER_FILE}


def timed(act: Callable[[], Found]) -> tuple[Found, float]:
    """What `act` gives, and the seconds that the processor worked on it: a busy machine fails nothing."""
    started = time.process_time()
    return act(), time.process_time() - started


def problems_of(found: object) -> tuple[Diagnostic, ...]:
    """Return the problems of a report, a tuple, or a single problem; empty without problems."""
    if isinstance(found, Report):
        return found.diagnostics if not found.ok else ()
    if isinstance(found, Diagnostic):
        return (found,)
    return found if isinstance(found, tuple) else ()


def everything(folder: Path) -> dict[str, tuple[object, ...]]:
    """Every path below `folder`, state folders included, with all that a write could change of it."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content: object = None
        if stat.S_ISLNK(status.st_mode):
            content = str(path.readlink())
        elif stat.S_ISREG(status.st_mode) and status.st_size < 1 << 24:
            with suppress(PermissionError):
                content = path.read_bytes()
        found[str(path)] = (status.st_mode, status.st_ino, status.st_size, status.st_mtime_ns, content)
    return found


def check_refused(
    case: str,
    act: Callable[[], Found],
    codes: Collection[Code],
    watched: Path,
    *,
    locks: bool = False,
    within: float = PATIENCE,
) -> tuple[Diagnostic, ...]:
    """Check that `act` is first refused with one of `codes`, and that nothing below `watched` changes.

    With `locks` it is refused under the lock, which creates the state folder. It takes less than `within` CPU
    seconds. No message can control a terminal, or is long.
    """

    def seen() -> dict[str, tuple[object, ...]]:
        found = everything(watched)
        # A folder that gets a state folder has a new time.
        return {
            path: facts[:2] + facts[4:] if locks else facts
            for path, facts in found.items()
            if not (locks and ".mdplan" in Path(path).parts)
        }

    before = seen()
    found, seconds = timed(act)
    problems = problems_of(found)
    is_unchanged = seen() == before
    is_refused = bool(problems) and problems[0].code in codes
    assert is_unchanged, case
    assert is_refused, (case, problems[:3])
    assert seconds < within, case
    for problem in problems:
        for text in (problem.message, problem.hint, problem.file or ""):
            assert len(text.encode("utf-8")) < 2000, case
            assert text.isprintable(), case
    return problems


def check_accepted(
    case: str, act: Callable[[], Found], holds: Callable[[Found], bool], *, within: float = PATIENCE
) -> Found:
    """Return the result of `act`, which takes less than `within` seconds and fulfils `holds`."""
    found, seconds = timed(act)
    is_expected = not problems_of(found) and holds(found)
    assert is_expected, (case, found)
    assert seconds < within, case
    return found
