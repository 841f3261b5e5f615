"""What looking and planning cost: against the hash of a file, each other, and twice as much."""

import difflib
import hashlib
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from documents import MEGABYTE, Edit, document, edits
from measure import Measure, Part, Timed, against, cpu
from scratch import scratch_folder

from mdplan.documents.workspace import Workspace
from mdplan.engine.engine import Engine
from mdplan.markdown.outline import Outline
from mdplan.mcp.server import build_catalog
from mdplan.requests.queries import StatRequest
from mdplan.text.diff import file_diff, find_hunks
from mdplan.text.edit import EditList, TextEdit
from mdplan.text.source import Source

MOST_PER_DOUBLING = 2.5
IN_ENGINE = "processor time; every run has an engine that has seen nothing"


def verb_parts(text: str) -> Iterator[Part]:
    """Everything about `stat` and `plan`; `text` is a mixed document of a megabyte."""
    yield Part("Looking at a file of 1 MB", IN_ENGINE, tuple(stat_measures(text)))
    yield Part("Plans", IN_ENGINE, tuple(plan_measures(text)))
    yield Part("Twice as much", IN_ENGINE, tuple(doublings(text)))
    yield Part(
        "Differences and memory", "processor time; memory in a process of its own", (diff(text), memory())
    )


def stat_measures(text: str) -> Iterator[Measure]:
    with served(text) as (workspace, data):
        seen = Engine(workspace)
        again = cpu(lambda: seen.stat(StatRequest(file="a.md")))
        hashed = cpu(lambda: hashlib.sha256(data).digest())
        costs = against("hash", {"hash": hashed, "tool": md_stat(workspace), "again": again})
        yield Measure(what="`md_stat`, whole, against SHA-256 of the file", ratio=costs["tool"])
        yield Measure(what="stat of unchanged content again, against the same", ratio=costs["again"])


def plan_measures(text: str) -> Iterator[Measure]:
    for size, name, bar in ((len(text), "1 MB", 2.5), (MEGABYTE // 10, "100 kB", None)):
        with served(document(size)) as (workspace, data):
            three = edits(data.decode(), 3)
            costs = against("stat", {"stat": stat(workspace), "plan": plan(workspace, data, three)})
            yield Measure(what=f"a plan of 3 edits in {name} against its stat", ratio=costs["plan"], bar=bar)
    with served(text) as (workspace, data):
        batches = {str(count): plan(workspace, data, edits(text, count)) for count in (3, 1000)}
        ratio = against("3", batches)["1000"]
        yield Measure(what="a plan of 1,000 edits in 1 MB against one of 3", ratio=ratio)
    yield Measure(what="an outline after one edit in 1 MB against a full one", ratio=outline_again(text))


def outline_again(text: str) -> float:
    base = Outline(source_of(text.encode()))
    at = base.sections[len(base.sections) // 2].span.end
    result = source_of((text[:at] + "One more *line*.\n\n" + text[at:]).encode())
    change = EditList.of([TextEdit.insert(at, "One more *line*.\n\n")])
    assert isinstance(change, EditList)
    full, part = cpu(lambda: Outline(result)), cpu(lambda: base.edited(change, result))
    return against("full", {"full": full, "part": part})["part"]


def doublings(text: str) -> Iterator[Measure]:
    with served(text) as (workspace, data):
        counts = [125, 250, 500, 1000, 2000]
        yield from doubled({f"{n:,} edits": plan(workspace, data, edits(text, n)) for n in counts})
    with scratch_folder() as folder:
        sizes = (MEGABYTE // 4, MEGABYTE // 2, MEGABYTE, 2 * MEGABYTE)
        plans: dict[str, Timed] = {}
        for size in sizes:
            below = folder / str(size)
            below.mkdir()
            data = document(size).encode()
            (below / "a.md").write_bytes(data)
            name = f"250 edits in {size / MEGABYTE:g} MB"
            plans[name] = plan(Workspace.open([below]), data, edits(data.decode(), 250))
        yield from doubled(plans)


def doubled(actions: dict[str, Timed]) -> Iterator[Measure]:
    """What each action costs against the one before it."""
    for before, after in pairwise(actions):
        ratio = against(before, {name: actions[name] for name in (before, after)}, rounds=5)[after]
        yield Measure(what=f"a plan of {after} against {before}", ratio=ratio, bar=MOST_PER_DOUBLING)


def diff(text: str) -> Measure:
    """`difflib` over both texts, in units of the diff that a plan has from its edits."""
    source = source_of(text.encode())
    changes = [TextEdit.insert(section.span.start, "x\n\n") for section in Outline(source).sections[1::5]]
    listed = EditList.of(changes)
    assert isinstance(listed, EditList)
    bytes_of_edits = source.byte_edits(listed)
    assert isinstance(bytes_of_edits, tuple)
    base, result = text.split("\n"), listed.apply(text).split("\n")
    costs = against(
        "edits",
        {
            "edits": cpu(lambda: file_diff("a.md", "a.md", find_hunks(source.data, bytes_of_edits))),
            "texts": cpu(lambda: list(difflib.unified_diff(base, result))),
        },
        rounds=5,
    )
    return Measure(what="`difflib.unified_diff` of two texts of 1 MB against our diff", ratio=costs["texts"])


def memory() -> Measure:
    text = document(10 * MEGABYTE).encode().decode("ascii", "ignore")
    with tempfile.TemporaryDirectory() as name:
        Path(name, "a.md").write_text(text, encoding="ascii")
        Path(name, "small.md").write_text("# Small\n", encoding="ascii")
        done = subprocess.run(
            [sys.executable, "-c", _MEMORY, name], capture_output=True, check=True, text=True
        )
    ratio = float(done.stdout) / len(text)
    return Measure(what="peak memory above start for 10 MB of ASCII, in its sizes", ratio=ratio, bar=12)


_MEMORY = """
import sys
from pathlib import Path
from mdplan.engine.engine import Engine
from mdplan.requests.queries import StatRequest
# What `getrusage` tells begins with the peak of the process that started this one.
status = Path("/proc/self/status")
peak = lambda: int(status.read_text().partition("VmHWM:")[2].split()[0]) * 1024
engine = Engine.open([sys.argv[1]])
assert engine.stat(StatRequest(file="small.md")).ok
start = peak()
assert engine.stat(StatRequest(file="a.md")).ok
print(peak() - start)
"""


def md_stat(workspace: Workspace) -> Timed:
    """One call of the tool, with its answer as the client gets it."""

    def timed() -> float:
        (tool,) = (tool for tool in build_catalog(Engine(workspace)).tools if tool.name == "md_stat")
        return cpu(lambda: tool.call({"file": "a.md"}))()

    return timed


def stat(workspace: Workspace) -> Timed:
    return fresh(workspace, lambda engine: engine.stat(StatRequest(file="a.md")))


def plan(workspace: Workspace, data: bytes, batch: list[Edit]) -> Timed:
    request = {"file": "a.md", "baseSha256": hashlib.sha256(data).hexdigest(), "edits": batch}
    report = Engine(workspace).plan(request)
    assert report.ok, report.diagnostics
    return fresh(workspace, lambda engine: engine.plan(request))


def fresh(workspace: Workspace, action: Callable[[Engine], object]) -> Timed:
    """Measure `action` on an engine with empty caches."""

    def timed() -> float:
        engine = Engine(workspace)
        return cpu(lambda: action(engine))()

    return timed


@contextmanager
def served(text: str) -> Iterator[tuple[Workspace, bytes]]:
    """A workspace in which `text` is the file `a.md`, and its bytes."""
    with scratch_folder() as folder, Workspace.open([folder]) as workspace:
        (folder / "a.md").write_bytes(text.encode())
        yield workspace, text.encode()


def source_of(data: bytes) -> Source:
    source = Source.decode(data)
    assert isinstance(source, Source)
    return source
