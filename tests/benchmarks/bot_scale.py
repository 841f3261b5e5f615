"""Measure the bot on thousands of real pages: `python -m tests.benchmarks.bot_scale [CORPUS] [FILES…]`.

The trees are copies of the corpus with FILES pages. All costs are CPU seconds of whole processes and their
children, because a busy machine distorts wall time; the times of several processes on separate cores are
computed. The literal replacement changes 16 of 100 files. The appended line changes all files, here short
pages, because the stored part of a plan does not depend on their size.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BUILD = Path(__file__).resolve().parents[2] / "build"
SOME, NONE, ALL = "some.yml", "none.yml", "all.yml"
MANIFESTS = {
    SOME: """\
files:
  - glob: "**/*.md"
    edits: [{op: replace_match, pattern: Windows, replacement: Fenster, matchSelection: all}]
""",
    NONE: """\
files:
  - glob: "**/*.md"
    edits: [{op: replace_match, pattern: W1ndows, replacement: Fenster, matchSelection: all}]
""",
    ALL: """\
files:
  - glob: "**/*.md"
    when: {not: {hasText: "Kept by a bot."}}
    edits: [{op: append_to_file, markdown: "Kept by a bot."}]
""",
}
IMPORTS = "import distributed, mdplan.bot.bot, mdplan.bot.file_planner"
WORKERS = (1, 2, 4, 16)
CHUNK = 32
# The gain of several processes does not depend on the number of files.
MOST_FOR_SEVERAL = 10_000


@dataclass(frozen=True, slots=True)
class Cost:
    """What a process took: CPU seconds, its own and with its children, and its largest size in MB."""

    own: float
    cpu: float
    wall: float
    size: float


def cost_of(command: Sequence[str]) -> Cost:
    """Run `command`, which may end with 1, "something would change"."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    said = process.stderr.read()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    own = sum(map(int, Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]))
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stderr.close()
    assert process.returncode in {0, 1}, said.decode()
    cpu, size = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
    return Cost(own / os.sysconf("SC_CLK_TCK"), cpu, time.perf_counter() - start, size)


def bot(root: Path, verb: str, manifest: str, *more: str) -> Cost:
    """What `mdplan bot VERB` costs."""
    many = ["--max-files", "100000", "--max-edits", "1000000", "--progress", "none"]
    words = ["bot", verb, str(root / manifest), "--root", str(root), *many, *(more or ("--jobs", "1"))]
    return cost_of([sys.executable, "-m", "mdplan", *words])


def here(task: str, root: Path) -> Cost:
    """Return the cost of a task of this file in a separate process."""
    return cost_of([sys.executable, __file__, task, str(root)])


def read_and_hash(root: Path) -> None:
    """Read and hash all pages."""
    for path in pages(root):
        hashlib.sha256(path.read_bytes()).digest()


def substitute(root: Path) -> None:
    """Read, replace and encode as a script of one line does; nothing is written."""
    for path in pages(root):
        re.sub("Windows", "Fenster", path.read_bytes().decode("utf-8", "replace")).encode()


def list_pages(root: Path) -> None:
    """List and stat all pages."""
    for path in pages(root):
        path.lstat()


TASKS = {"hash": read_and_hash, "sub": substitute, "list": list_pages}


def pages(root: Path) -> Iterator[Path]:
    """All pages below `root`."""
    for folder, _, names in os.walk(root):
        yield from (Path(folder, name) for name in names if name.endswith(".md"))


def make_copies(corpus: Path, root: Path, count: int) -> None:
    """Write `count` pages below `root`: copies of all pages of `corpus`, each copy in another folder."""
    sources = sorted(corpus.rglob("*.md"))
    for number in range(count):
        copy, index = divmod(number, len(sources))
        target = root / f"copy-{copy:03}" / sources[index].relative_to(corpus)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(sources[index], target)
    for name, text in MANIFESTS.items():
        (root / name).write_text(text, encoding="utf-8")


def make_short_pages(root: Path, count: int) -> None:
    """Write `count` pages of three lines below `root`."""
    for number in range(count):
        path = root / f"{number // 100:03}" / f"page-{number:05}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# Page {number}\n\nIt has a few words.\n", encoding="utf-8")
    (root / ALL).write_text(MANIFESTS[ALL], encoding="utf-8")


def simulated(workers: int, client: float, work: float, chunks: int) -> float:
    """Seconds by the clock that `workers` need, if the client spends `client` and the workers `work` in all.

    The client sends and takes one chunk after the other, and a worker makes one at a time.
    """
    each_client, each_work = client / chunks, work / chunks
    free = [0.0] * workers
    sent = 0.0
    ends: list[float] = []
    for _ in range(chunks):
        sent += each_client / 2
        worker = min(range(workers), key=free.__getitem__)
        free[worker] = max(free[worker], sent) + each_work
        ends.append(free[worker])
    taken = 0.0
    for end in sorted(ends):
        taken = max(taken, end) + each_client / 2
    return max(taken, client)


def row(what: str, cost: float, unit: str, note: str = "") -> None:
    """Print a row of the table."""
    sys.stdout.write(f"| {what} | {cost:.2f} {unit} | {note} |\n")
    sys.stdout.flush()


def costs(what: str, found: Cost, note: str = "") -> Cost:
    """Print what `found` says."""
    row(what, found.cpu, "s CPU", f"{found.wall:.1f} s by the clock, {found.size:.0f} MB{note}")
    return found


def measure(corpus: Path, folder: Path, count: int) -> None:
    """All rows for a tree of `count` pages."""
    root = folder / str(count)
    root.mkdir()
    make_copies(corpus, root, count)
    sys.stdout.write(f"\n## {count} pages\n\n| What | Cost | Besides |\n|---|---|---|\n")
    time.sleep(3)  # What was written just now has no certain stamp.
    listed = costs("list and stat", here("list", root))
    costs("read and SHA-256", here("hash", root))
    substituted = costs("`re.sub`", here("sub", root))
    first = costs("check, 16 % would change", bot(root, "check", SOME))
    row("check against `re.sub`", first.cpu / substituted.cpu, "times", "bar 15")
    costs("check, no file would change", bot(root, "check", NONE))
    clean = costs("check again", bot(root, "check", NONE))
    row("check again, without listing", clean.cpu - listed.cpu, "s CPU", f"bar {2 * count / 60_000:.2f} s")
    short = folder / f"{count}-short"
    make_short_pages(short, count)
    costs("plan, all would change", bot(short, "plan", ALL), "; bar 400 MB for 60,000 files")
    if count <= MOST_FOR_SEVERAL:
        costs("apply, all change", bot(short, "apply", ALL))
        process_rows(root)
        costs("apply, 16 % change", bot(root, "apply", SOME))
    shutil.rmtree(root)
    shutil.rmtree(short)


def least_of_three(measured: Callable[[], tuple[Cost, float]]) -> tuple[Cost, float]:
    """The cheapest of three runs: on a busy machine the same work takes up to a fifth more CPU time."""
    return min((measured() for _ in range(3)), key=lambda found: found[0].cpu + found[1])


def process_rows(root: Path) -> None:
    """Rows about two processes, and about two workers of a cluster on this machine."""

    def with_jobs(jobs: str) -> Cost:
        return least_of_three(lambda: (bot(root, "check", SOME, "--jobs", jobs), 0.0))[0]

    alone = costs("check in one process", with_jobs("1"))
    two = costs("check in two processes", with_jobs("2"))
    ratio = (two.own + (two.cpu - two.own) / 2) / alone.cpu
    row("two processes against one, on two cores", ratio, "times", "from CPU seconds; bar 0.6")
    dask_rows(root, alone)


def dask_rows(root: Path, alone: Cost) -> None:
    """Rows about two workers of a cluster on this machine, and what more of them would take."""
    try:
        import dask
        import psutil
        from distributed import LocalCluster
    except ImportError:
        row("Dask", 0, "", "not installed")
        return
    # The statistical profiler takes CPU time by the clock, which a busy machine stretches.
    dask.config.set({"distributed.worker.profile.enabled": False})
    open_cluster: Any = LocalCluster
    with open_cluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        address = cluster.scheduler_address.removeprefix("tcp://")
        # The workers import and open all that they need once.
        bot(root, "check", SOME, "--executor", f"dask://{address}")
        children = psutil.Process().children(recursive=True)

        def spent() -> float:
            return sum(sum(each.cpu_times()[:2]) for each in children)

        def measured() -> tuple[Cost, float]:
            before = spent()
            client = bot(root, "check", SOME, "--executor", f"dask://{address}")
            return client, spent() - before

        client, work = least_of_three(measured)
    started = cost_of([sys.executable, "-c", IMPORTS]).cpu
    costs("check on two Dask workers, the client", client, f"; {started:.1f} s of it to start")
    row("the workers", work, "s CPU")
    row("client's share", 100 * client.cpu / (client.cpu + work), "%", "bar 15")
    chunks = max(1, sum(1 for _ in pages(root)) // CHUNK)
    for workers in WORKERS:
        taken = started + simulated(workers, client.cpu - started, work, chunks)
        note = f"{taken / alone.cpu:.2f} of one process{'; bar 0.65' if workers == 2 else ''}"
        row(f"simulated with {workers} workers", taken, "s", note)


def main(words: Sequence[str]) -> None:
    """Run a task, or measure trees of the given sizes."""
    if words and words[0] in TASKS:
        TASKS[words[0]](Path(words[1]))
        return
    corpus = Path(words[0] if words else "../shared/corpus")
    BUILD.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="scale-", dir=BUILD) as name:
        os.environ["MDPLAN_STATE_DIR"] = str(Path(name) / "state")
        # Installed packages have their bytecode; without it a process compiles 650 modules for 0.3 s.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        for count in [int(word) for word in words[1:]] or [5000, 60_000]:
            measure(corpus, Path(name), count)


if __name__ == "__main__":
    main(sys.argv[1:])
