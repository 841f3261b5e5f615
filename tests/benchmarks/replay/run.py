"""Replay real changes with each tool: `python -m tests.benchmarks.replay.run [--changes N] ORIGIN…`.

ORIGIN is a bundle or a clone. Rows go to build/replay; a run that was stopped goes on there, also in other
shards. With `--tool` only the tools that are named run.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from tempfile import gettempdir
from typing import Any

from tests.benchmarks.replay.changes import Change, Repository
from tests.benchmarks.replay.commits import commit_row
from tests.benchmarks.replay.formats import blocks
from tests.benchmarks.replay.judge import Drifted, drift, judged, on_branch
from tests.benchmarks.replay.kinds import kind_of
from tests.benchmarks.replay.tools import TOOLS, Tool
from tests.benchmarks.replay.variants import variant_rows

REPOSITORY = Path(__file__).parents[3]
BUNDLES = REPOSITORY.parent / "shared" / "replay"
Work = Callable[[Any, Repository, Sequence[Tool]], dict[str, Any]]
ENCODINGS = ("o200k_base", "cl100k_base")


@cache
def encoding(name: str) -> Any:
    import bpe_openai  # type: ignore[import-untyped]

    return bpe_openai.get_encoding(name)


def tokens(text: str) -> list[int]:
    return [len(encoding(name).encode(text)) for name in ENCODINGS]


def row_of(change: Change, repository: Repository, tools: Sequence[Tool] = TOOLS) -> dict[str, Any] | None:
    """Return the result of each tool for `change`; None if it is not UTF-8 or changes no line."""
    old, new = text_of(repository.blob(change.old)), text_of(repository.blob(change.new))
    if old is None or new is None or old == new:
        return None
    drifted = [drift(text_of(repository.blob(each)), old, new) for each in change.later]
    branch = None
    if change.beside is not None:
        before, after = (repository.blob_or_none(each) for each in change.beside)
        branch = on_branch(before, after, old, new)
    reads: dict[Callable[[str, str, str], str], list[int]] = {}
    found = {}
    for tool in tools:
        row = result_of(tool, change.path, old, new, drifted, branch)
        if tool.read not in reads:
            reads[tool.read] = tokens(tool.read(change.path, old, new))
        found[tool.name] = row | {"read": reads[tool.read]}
    return {
        "change": change.name,
        "hunks": len(blocks(old, new)),
        "size": len(old),
        "kind": kind_of(old, new),
        "tools": found,
    }


def result_of(
    tool: Tool, path: str, old: str, new: str, drifted: list[Drifted | None], branch: Drifted | None = None
) -> dict[str, Any]:
    call = tool.write(path, old, new)
    if call is None:
        return {"exact": False, "tokens": [0, 0], "drift": ["refused"] * len(drifted)}
    found: dict[str, Any] = {
        "exact": tool.apply(call, path, old, old) == new,
        "tokens": tokens(call),
        "drift": [
            None if each is None else judged(tool.apply(call, path, each.text, old), each, old, new)
            for each in drifted
        ],
    }
    if branch is not None:
        found["branch"] = judged(tool.apply(call, path, branch.text, old), branch, old, new)
    if tool.name == "mdplan":
        found["alarm"] = '"allowOutlineChange"' in call or '"allowDuplicateHeadings"' in call
    return found


def text_of(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def main() -> None:
    reader = argparse.ArgumentParser()
    reader.add_argument("--changes", type=int, default=1020, help="of each repository")
    reader.add_argument("--commits", type=int, default=40, help="of several files, of each repository")
    reader.add_argument("--variants", type=int, default=16, help="changes that are transcoded")
    reader.add_argument("--shard", default="1/1", help="which part of the work, as in 2/3")
    reader.add_argument("origins", nargs="*", type=Path, default=sorted(BUNDLES.glob("*.bundle")))
    reader.add_argument("--tool", action="append", help="run only this one; can be repeated")
    given = reader.parse_args()
    tools = [tool for tool in TOOLS if given.tool is None or tool.name in given.tool]
    if not given.origins:
        sys.exit("no ../shared/replay: name a clone or a bundle")
    number, shards = map(int, given.shard.split("/"))
    results = REPOSITORY / "build" / "replay"
    results.mkdir(parents=True, exist_ok=True)
    folder = Path(gettempdir()) / "mdplan-replay"
    folder.mkdir(exist_ok=True)
    for origin in given.origins:
        with Repository(origin.resolve(), folder) as repository:
            parts: tuple[tuple[str, Sequence[Any], Work], ...] = (
                ("commits", repository.commits(given.commits), commit_row),
                ("variants", repository.changes(given.variants), _variants),
                ("changes", repository.changes(given.changes), _changes),
            )
            for what, tasks, work in parts:
                done = set(_done(results.glob(f"{what}-{origin.stem}-*.jsonl")))
                path = results / f"{what}-{origin.stem}-{number}.jsonl"
                with path.open("a", encoding="utf-8") as rows:
                    for task in tasks[number - 1 :: shards]:
                        if _name(task) not in done:
                            rows.write(json.dumps(work(task, repository, tools)) + "\n")
                            rows.flush()


def _changes(change: Change, repository: Repository, tools: Sequence[Tool]) -> dict[str, Any]:
    return row_of(change, repository, tools) or {"change": change.name}


def _variants(change: Change, repository: Repository, tools: Sequence[Tool]) -> dict[str, Any]:
    return {"change": change.name, "variants": variant_rows(change, repository, tools)}


def _name(task: Change | list[Change]) -> str:
    return task[0].commit if isinstance(task, list) else task.name


def _done(paths: Iterable[Path]) -> Iterator[str]:
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)["change"]


if __name__ == "__main__":
    main()
