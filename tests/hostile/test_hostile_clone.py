"""A clone with a hostile `.mdplan`: every verb does the same as in a clone without one."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mdplan.diagnostics import Exit
from tests.conftest import FULL
from tests.hostile.cost import Cost, cost_of
from tests.hostile.shipped import HERE, ID, MIB, PLANTED, SHIPPED, TRAPS, lay_out, sha256
from tests.surfaces.command_line import mdplan
from tests.surfaces.tool_case import served

EDITS = [{"op": "append_to_section", "headingPath": ["Here"], "markdown": "Mine."}]
BATCH = {"file": "here.md", "baseSha256": sha256(HERE), "edits": EDITS}
WHEN = {"not": {"hasText": "Mine."}}
MANIFEST = {"files": [{"glob": "folder/*.md", "when": WHEN, "edits": EDITS}]}
KINDS = {**SHIPPED, **TRAPS}
# In this order: commits come in the middle, so that there is something of this user's to be undone.
VERBS: dict[str, tuple[list[str], object]] = {
    "stat": (["stat", "."], b""),
    "read": (["read", "here.md", "--lines", "1-3"], b""),
    "search": (["search", "text", "."], b""),
    "validate": (["validate"], BATCH),
    "plan": (["plan"], BATCH),
    "history": (["history"], b""),
    "history of a file": (["history", "here.md"], b""),
    "history of a transaction": (["history", "--show", ID], b""),
    "show": (["show", "0" * 64], b""),
    "review": (["review", "--list"], b""),
    "undo nothing": (["undo", "-y"], b""),
    "undo theirs": (["undo", ID, "-y"], b""),
    "dry undo": (["undo", "--dry-run"], b""),
    "doctor": (["doctor"], b""),
    "recover": (["recover"], b""),
    "recover with yes": (["recover", "--yes"], b""),
    "recover and keep": (["recover", "--keep-current"], b""),
    "recover and restore": (["recover", "--restore-base", "--yes"], b""),
    "apply": (["apply"], BATCH),
    "history after": (["history"], b""),
    "undo": (["undo", "-y"], b""),
    "redo": (["undo", "-y"], b""),
    "undo again": (["undo", "-y"], b""),
    "bot check": (["bot", "check", "manifest.json", "--jobs", "1"], b""),
    "bot plan": (["bot", "plan", "manifest.json", "--jobs", "1"], b""),
    "bot apply": (["bot", "apply", "manifest.json", "--jobs", "1"], b""),
    "doctor after": (["doctor"], b""),
    "recover after": (["recover"], b""),
    "help": (["help", "batch"], b""),
    "schema": (["schema", "batch"], b""),
    "completion": (["completion", "bash"], b""),
}
TOOLS: dict[str, tuple[str, dict[str, Any]]] = {
    "md_stat": ("md_stat", {"file": "."}),
    "md_read": ("md_read", {"file": "here.md"}),
    "md_search": ("md_search", {"pattern": "text"}),
    "md_validate": ("md_validate", {"file": "here.md", "edits": EDITS}),
    "md_history": ("md_history", {}),
    "md_history of theirs": ("md_history", {"transaction": ID}),
    "md_history undo": ("md_history", {"action": "undo"}),
    "md_history undo theirs": ("md_history", {"action": "undo", "transaction": ID}),
    "md_apply": ("md_apply", {"file": "other.md", "baseSha256": sha256(HERE), "edits": EDITS}),
    "md_history undo ours": ("md_history", {"action": "undo"}),
    "TextInspect": ("TextInspect", {"filePath": "here.md"}),
    "TextRead": ("TextRead", {"filePath": "here.md", "target": {"lines": {"start": 1, "end": 2}}}),
    "TextReplace": ("TextReplace", {"filePath": "here.md", "oldText": "more", "newText": "less"}),
    "TextPatch": (
        "TextPatch",
        {
            "filePath": "here.md",
            "operation": "insert",
            "target": {"appendToSection": "There"},
            "content": "x",
        },
    ),
    "read_files": ("read_files", {"files": [{"file_path": "here.md"}]}),
    "grep_content": ("grep_content", {"pattern": "text"}),
    "get_text_file_contents": (
        "get_text_file_contents",
        {"files": [{"file_path": "here.md", "ranges": [{"start": 1}]}]},
    ),
    "create_text_file": ("create_text_file", {"file_path": "new.md", "contents": "# New\n"}),
}


@dataclass(frozen=True)
class Step:
    """What one verb or tool led to: how it ended, the documents after it, and seconds of the processor."""

    name: str
    ended: object
    documents: dict[str, bytes]
    seconds: float


def documents(root: Path) -> dict[str, bytes]:
    """Return every file of the clone except those of mdplan."""
    paths = (path for path in root.rglob("*") if not path.relative_to(root).parts[0].startswith(".mdplan"))
    return {str(path.relative_to(root)): path.read_bytes() for path in paths if path.is_file()}


# Each of the others costs a start of the command, and is tried in a full run.
_QUICK = frozenset(
    {
        *("stat", "history", "history of a transaction", "undo nothing", "undo theirs", "doctor"),
        *("recover", "recover with yes", "apply", "undo", "redo", "bot apply"),
        *("md_history", "md_history undo", "md_history undo theirs", "md_apply", "md_history undo ours"),
    }
)


def sampled(kinds: Iterable[str]) -> list[Any]:
    """Return all `kinds`; a short run takes one of three."""
    return [
        pytest.param(kind, marks=pytest.mark.slow if number % 3 else ()) for number, kind in enumerate(kinds)
    ]


def is_tried(name: str) -> bool:
    """Return True if this run tries the verb or tool of that name."""
    return FULL or name in _QUICK


def clone(folder: Path, ship: Callable[[Path], object] | None) -> Path:
    root = folder / "clone"
    lay_out(root)
    (root / "manifest.json").write_text(json.dumps(MANIFEST))
    if ship is not None:
        ship(root)
    return root


def verbs_in(root: Path) -> Iterator[Step]:
    for name, (arguments, sent) in VERBS.items():
        if not is_tried(name):
            continue
        place = [] if arguments[0] in ("help", "schema", "completion") else ["--root", str(root)]
        started = time.process_time()
        run = mdplan(*arguments, *place, stdin=sent)
        yield Step(name, run.code, documents(root), time.process_time() - started)


def tools_in(root: Path) -> Iterator[Step]:
    with served(root, "md", "text", "files", "editor") as calls:
        for name, (tool, arguments) in TOOLS.items():
            if not is_tried(name):
                continue
            started = time.process_time()
            result = calls.call(tool, arguments)
            yield Step(name, result.is_error, documents(root), time.process_time() - started)


@contextmanager
def inside(root: Path) -> Iterator[None]:
    """Work in the clone, as a person does."""
    before = Path.cwd()
    os.chdir(root)
    try:
        yield
    finally:
        os.chdir(before)


def steps_in(root: Path) -> list[Step]:
    with inside(root):
        return [*verbs_in(root), *tools_in(root)]


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> list[Step]:
    """Return the results of the verbs in a clone without `.mdplan`."""
    folder = tmp_path_factory.mktemp("clean")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MDPLAN_STATE_DIR", str(folder / "state"))
        return steps_in(clone(folder, None))


def test_every_verb_succeeds_in_a_clean_clone(clean: list[Step]) -> None:
    ended = {step.name: step.ended for step in clean}

    assert (ended["apply"], ended["undo"], ended["redo"], ended["bot apply"]) == (0, 0, 0, 0)
    assert (ended["undo nothing"], ended["undo theirs"]) == (Exit.REFUSED, Exit.REFUSED)
    refused = {tool for tool in TOOLS if ended.get(tool)}
    assert refused <= {"md_history of theirs", "md_history undo theirs"}
    assert len({json.dumps(sorted(map(repr, step.documents.items()))) for step in clean}) > 3


@pytest.mark.parametrize("kind", sampled(SHIPPED))
def test_shipped_state_never_changes_what_a_verb_does(tmp_path: Path, clean: list[Step], kind: str) -> None:
    root = clone(tmp_path, SHIPPED[kind])
    for step, expected in zip(steps_in(root), clean, strict=True):
        assert step.documents == expected.documents, step.name
        assert step.ended == expected.ended, step.name
        assert step.seconds < expected.seconds + 1, step.name


@pytest.mark.parametrize("kind", sampled(TRAPS))
def test_shipped_note_never_changes_a_file(tmp_path: Path, clean: list[Step], kind: str) -> None:
    """Commits of files beside it are refused, with the reason. No verb hangs or follows a link."""
    root = clone(tmp_path, TRAPS[kind])
    before = documents(root)
    known = {item for step in clean for item in step.documents.items()} | before.items()
    for step, expected in zip(steps_in(root), clean, strict=True):
        is_safe = before.keys() <= step.documents.keys() and step.documents.items() <= known
        assert is_safe, step.name
        assert PLANTED.encode() not in b"".join(step.documents.values())
        assert step.ended != Exit.BUG, step.name
        assert step.seconds < expected.seconds + 1, step.name


# The cross product in separate processes, which shows the memory of each.


def cost_in(root: Path, verb: str) -> Cost:
    arguments, sent = VERBS[verb]
    place = [] if arguments[0] in ("help", "schema", "completion") else ["--root", str(root)]
    data = sent if isinstance(sent, bytes) else json.dumps(sent).encode()
    return cost_of(root, *arguments, *place, stdin=data)


@pytest.fixture(scope="module")
def clean_costs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, float]:
    folder = tmp_path_factory.mktemp("clean costs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MDPLAN_STATE_DIR", str(folder / "state"))
        root = clone(folder, None)
        return {verb: cost_in(root, verb).seconds for verb in VERBS}


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", KINDS)
def test_shipped_state_never_costs_memory_or_time(
    tmp_path: Path, clean_costs: dict[str, float], kind: str
) -> None:
    root = clone(tmp_path, KINDS[kind])
    for verb in VERBS:
        cost = cost_in(root, verb)
        assert cost.code != Exit.BUG, verb
        assert cost.memory < 200 * MIB, (verb, cost.memory)
        assert cost.seconds < clean_costs[verb] + 1, verb


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("kind", KINDS)
def test_server_in_a_hostile_clone_never_takes_much_memory(tmp_path: Path, kind: str) -> None:
    from tests.surfaces.stdio_lines import lines_to

    root = clone(tmp_path, KINDS[kind])
    with lines_to("--root", str(root), "--toolsets", "md,text,files,editor") as lines:
        for number, (tool, arguments) in enumerate(TOOLS.values(), 1):
            lines.call(tool, arguments, number)
        status = Path(f"/proc/{lines.server.pid}/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    assert int(peak.split()[1]) * 1024 < 200 * MIB
