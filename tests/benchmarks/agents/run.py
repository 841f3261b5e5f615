"""`make bench-agents`: what thirty tasks cost an agent, with mdplan and with its rivals. No model takes part.

It prints a table, and writes it into `docs/explanation/answers-for-agents.md` if all rivals ran.
The real server-filesystem runs where it is on the PATH, or named by MDPLAN_SERVER_FILESYSTEM; one gets it by
`npm install @modelcontextprotocol/server-filesystem`.
"""

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from mcp import StdioServerParameters

from tests.benchmarks.agents.tasks import TASKS, Task
from tests.benchmarks.agents.tools import READINGS, BuiltIn, Cost, ServerFilesystem, Tree
from tests.surfaces.mcp_calls import Calls, calls_to, compact, process

REPOSITORY: Final = Path(__file__).parents[3]
FOLDERS: Final = ("nodejs-api", "EIPs/EIPS", "PowerShell-Docs/reference/7.5/Microsoft.PowerShell.Core/About")
PACKAGE: Final = "@modelcontextprotocol/server-filesystem"
BAR: Final = 0.5
# Readings that are shown and not judged: agents that were watched received more for each call.
BEYOND_AGENTS: Final = tuple(reading.name for reading in READINGS if not reading.is_seen)
PAGE: Final = REPOSITORY / "docs" / "explanation" / "answers-for-agents.md"
TABLE_START, TABLE_END = "<!-- The table of make bench-agents -->\n", "<!-- End of the table -->\n"


def corpus() -> Path | None:
    """Return the folder of real documents, or None."""
    folder = Path(os.environ.get("MDPLAN_CORPUS") or REPOSITORY.parent / "shared" / "corpus")
    return folder if folder.is_dir() else None


def documents(folder: Path) -> dict[str, str]:
    """The documents that the tasks are about."""
    paths = [path for name in FOLDERS for path in sorted((folder / name).glob("*.md"))]
    paths.append(folder / "book" / "TODO.md")
    return {path.relative_to(folder).as_posix(): path.read_text() for path in paths}


@contextmanager
def laid_out(files: Tree) -> Iterator[Path]:
    """A folder with `files`."""
    with tempfile.TemporaryDirectory(prefix="mdplan-agents-") as name:
        root = Path(name).resolve()
        for file, text in files.items():
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            (root / file).write_text(text)
        yield root


def tree(root: Path) -> dict[str, str]:
    """The documents below `root`."""
    paths = (path for path in root.rglob("*.md") if ".mdplan" not in path.parts)
    return {path.relative_to(root).as_posix(): path.read_text() for path in sorted(paths)}


def tool_list(calls: Calls) -> int:
    """Characters of the names, descriptions and input schemas that a model reads."""
    return sum(
        len(compact([tool["name"], tool.get("description", ""), tool["inputSchema"]]))
        for tool in calls.tools()
    )


def filled(task: Task, before: Tree) -> Task:
    """`task` with the number of files that its search finds in place of a zero."""
    calls = []
    count = 0
    for name, arguments in task.calls:
        if name == "md_search":
            count = sum(
                arguments.get("pattern", "") in text
                for file, text in before.items()
                if file.startswith(f"{arguments['file']}/")
            )
        expects = arguments.get("expectedFiles") == 0
        calls.append((name, {**arguments, "expectedFiles": count} if expects else arguments))
    return replace(task, calls=tuple(calls))


def run_mdplan(files: Tree, tasks: tuple[Task, ...]) -> tuple[Cost, list[Tree]]:
    """What `tasks` cost in one session of a real process, and the documents after each."""
    trees: list[Tree] = []
    with laid_out(files) as root, calls_to(process("--root", str(root)), "legacy") as calls:
        cost = Cost(received=tool_list(calls))
        now = dict(files)
        for task in tasks:
            start = cost.sums
            for name, arguments in filled(task, now).calls:
                result = calls.call(name, arguments)
                assert not result.is_error, f"{task.name}: {result.text}"
                # Clients show a model one of the two forms; count the longer one.
                cost.count(name, arguments, max(result.text, compact(result.data), key=len))
            cost.close(task.name, start)
            now = tree(root)
            trees.append(now)
    return cost, trees


def server_filesystem() -> list[str] | None:
    """Return the command of the real server; None if it is not installed and cannot be fetched."""
    named = os.environ.get("MDPLAN_SERVER_FILESYSTEM")
    if named:
        return [named]
    found = shutil.which("mcp-server-filesystem")
    if found:
        return [found]
    npx = shutil.which("npx")
    return [npx, "--no-install", PACKAGE] if npx else None


@contextmanager
def filesystem(root: Path) -> Iterator[ServerFilesystem | None]:
    """Start the real server on `root`; return None if it does not start."""
    command = server_filesystem()
    if command is None:
        yield None
        return
    parameters = StdioServerParameters(command=command[0], args=[*command[1:], str(root)], cwd=root)
    try:
        with calls_to(parameters, "legacy") as calls:

            def call(name: str, arguments: dict[str, Any]) -> str:
                absolute = {
                    key: str(root / value) if key in {"path", "source", "destination"} else value
                    for key, value in arguments.items()
                }
                if "paths" in absolute:
                    absolute["paths"] = [str(root / each) for each in absolute["paths"]]
                result = calls.portal.call(calls.client.call_tool, name, absolute)
                return "".join(getattr(block, "text", "") for block in result.content)

            yield ServerFilesystem(root, call, tool_list(calls))
    except (OSError, AssertionError, ExceptionGroup) as error:
        print(f"server-filesystem does not run here: {error}", file=sys.stderr)
        yield None


def run_rival(
    rival: BuiltIn | ServerFilesystem, root: Path, files: Tree, tasks: tuple[Task, ...], trees: list[Tree]
) -> Cost:
    """Return the cost of `tasks` with `rival`, which must produce the same documents."""
    before: Tree = dict(files)
    for task, after in zip(tasks, trees, strict=True):
        rival.run(task, before, after)
        assert tree(root) == after, f"{task.name}: other bytes"
        before = after
    return rival.cost


def rows_of(own: Cost, rivals: Mapping[str, Cost]) -> Iterator[str]:
    """The table as Markdown: sums of each set of tools, and mdplan's as a ratio of them."""
    yield "| Tools | Calls | Sent | Received | mdplan: sent | mdplan: received |"
    yield "|---|---|---|---|---|---|"
    yield f"| mdplan | {own.calls} | {own.sent:,} | {own.received:,} | | |"
    for name, cost in rivals.items():
        ratios = f"{own.sent / cost.sent:.2f} | {own.received / cost.received:.2f}"
        yield f"| {name} | {cost.calls} | {cost.sent:,} | {cost.received:,} | {ratios} |"


def write_table(rows: Sequence[str]) -> None:
    """Put the table between its marks on the page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(TABLE_START)
    after = rest.partition(TABLE_END)[2]
    table = "\n".join(("", *rows, "", ""))
    PAGE.write_text(f"{before}{TABLE_START}{table}{TABLE_END}{after}", encoding="utf-8")


def main() -> int:
    """Print and write the table; 1 where mdplan takes more than the bar of rivals that read as agents do."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--by-task", action="store_true", help="also print what each task costs")
    options = parser.parse_args()
    folder = corpus()
    if folder is None:
        print("no corpus: name it by MDPLAN_CORPUS")
        return 0
    files = documents(folder)
    own, trees = run_mdplan(files, TASKS)
    rivals: dict[str, Cost] = {}
    for reading in READINGS:
        with laid_out(files) as root:
            cost = run_rival(BuiltIn(root, reading), root, files, TASKS, trees)
            rivals[f"built-in tools (stand-in), {reading.name}"] = cost
    with laid_out(files) as root, filesystem(root) as rival:
        if rival is not None:
            rivals["server-filesystem"] = run_rival(rival, root, files, TASKS, trees)
    rows = list(rows_of(own, rivals))
    print("\n".join(rows))
    if "server-filesystem" in rivals:
        write_table(rows)
    else:
        print(f"not written to {PAGE.name}: a rival is missing")
    if options.by_task:
        for task in TASKS:
            numbers = (cost.by_task[task.name] for cost in (own, *rivals.values()))
            print(
                f"{task.name:36}"
                + "  ".join(f"{calls:3}{sent:7}{received:8}" for calls, sent, received in numbers)
            )
    judged = [rivals[name] for name in rivals if not name.endswith(BEYOND_AGENTS)]
    sent = own.sent / min(cost.sent for cost in judged)
    received = own.received / min(cost.received for cost in judged)
    print(f"mdplan of the better rival that reads as agents do: {sent:.2f}, {received:.2f} (bar {BAR})")
    return 0 if max(sent, received) <= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
