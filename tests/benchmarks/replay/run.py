"""Replay real changes with each tool: `python -m tests.benchmarks.replay.run [--changes N] ORIGIN…`.

ORIGIN is a bundle or a clone. Rows go to build/replay/NAME.jsonl; a run that was stopped goes on there.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from tempfile import gettempdir
from typing import Any, NamedTuple

from mdplan.markdown.outline.outline import Outline
from mdplan.text.diff.line_blocks import LineComparison
from mdplan.text.source import Source
from tests.benchmarks.replay.changes import Change, Repository, merged
from tests.benchmarks.replay.tools import TOOLS, Tool, blocks

REPOSITORY = Path(__file__).parents[3]
BUNDLES = REPOSITORY.parent / "shared" / "replay"
ENCODINGS = ("o200k_base", "cl100k_base")


class Drifted(NamedTuple):
    """A `later` version, the `text` of it without a change, and whether the two could be told apart."""

    text: str
    later: str
    is_clean: bool


@cache
def encoding(name: str) -> Any:
    import bpe_openai  # type: ignore[import-untyped]

    return bpe_openai.get_encoding(name)


def row_of(change: Change, repository: Repository, tools: Sequence[Tool] = TOOLS) -> dict[str, Any] | None:
    """What each tool does with `change`; None for what is no UTF-8 text, or changes no line."""
    old, new = text_of(repository.blob(change.old)), text_of(repository.blob(change.new))
    if old is None or new is None or old == new:
        return None
    drifted = [drift(text_of(repository.blob(each)), old, new) for each in change.later]
    row: dict[str, Any] = {
        "change": change.name,
        "hunks": len(blocks(old, new)),
        "size": len(old),
        "tools": {},
    }
    for tool in tools:
        row["tools"][tool.name] = result_of(tool, change.path, old, new, drifted)
    return row


def result_of(tool: Tool, path: str, old: str, new: str, drifted: list[Drifted | None]) -> dict[str, Any]:
    call = tool.write(path, old, new)
    if call is None:
        return {"exact": False, "tokens": [0, 0], "drift": ["refused"] * len(drifted)}
    found = {
        "exact": tool.apply(call, path, old, old) == new,
        "tokens": [len(encoding(name).encode(call)) for name in ENCODINGS],
        "drift": [
            None if each is None else judged(tool.apply(call, path, each.text, old), each, old, new)
            for each in drifted
        ],
    }
    if tool.name == "mdplan":
        found["alarm"] = '"allowOutlineChange"' in call or '"allowDuplicateHeadings"' in call
    return found


def text_of(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def drift(later: str | None, old: str, new: str) -> Drifted | None:
    """The later version without the change from `old` to `new`."""
    if later is None:
        return None
    data, is_clean = merged(*(each.encode() for each in (later, new, old)))
    return Drifted(data.decode("utf-8", "replace"), later, is_clean)


def judged(result: str | None, drifted: Drifted, old: str, new: str) -> str:
    """Right, refused or wrong; where the place of the change has changed too, in that case with a mark."""
    mark = "" if drifted.is_clean else " (changed)"
    if result is None or result == drifted.text:
        return "refused" + mark
    if drifted.is_clean and result == drifted.later:
        return "right"
    names = renamed(grouped(lines_of(old)), grouped(lines_of(drifted.text)))
    wanted = effect(old, new)
    moved = Counter({(names.get(title, title), word): count for (title, word), count in wanted.items()})
    is_same = effect(drifted.text, result) in (wanted, moved)
    return ("right elsewhere" if is_same else "wrong") + mark


@lru_cache(maxsize=64)
def effect(before: str, after: str) -> Counter[tuple[str, str]]:
    """Words of the lines that come and go, by the heading that they stand under."""
    old, new = lines_of(before), lines_of(after)
    counts: Counter[tuple[str, str]] = Counter()
    for block in LineComparison(1_000_000).differing([line for _, line in old], [line for _, line in new]):
        for title, line in new[block.new_start : block.new_end]:
            counts.update((title, word) for word in line.split())
        for title, line in old[block.old_start : block.old_end]:
            counts.subtract((title, word) for word in line.split())
    return Counter({word: count for word, count in counts.items() if count})


@lru_cache(maxsize=64)
def lines_of(text: str) -> list[tuple[str, str]]:
    """The lines of `text`, each behind the heading that it stands under; none for definitions at the end."""
    outline = Outline(Source.from_text(text))
    table, end = outline.source.lines, outline.sections[-1].body.end
    lines = ((table.start(number), table.content(number)) for number in range(1, table.count + 1))
    return [(outline.section_at(start).title if start < end else "", line) for start, line in lines]


def grouped(lines: list[tuple[str, str]]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for title, line in lines:
        if line.strip():
            found.setdefault(title, set()).add(line)
    return found


def renamed(before: dict[str, set[str]], after: dict[str, set[str]]) -> dict[str, str]:
    """New titles of sections that are gone by name: of those that have half of their lines or more."""
    names = {}
    for title, own in before.items():
        if title not in after:
            shared = {each: len(own & others) for each, others in after.items()}
            best = max(shared, key=lambda each: shared[each], default=title)
            # The line of the heading is another one.
            if 2 * shared.get(best, 0) >= len(own) - 1:
                names[title] = best
    return names


def main() -> None:
    reader = argparse.ArgumentParser()
    reader.add_argument("--changes", type=int, default=1000)
    reader.add_argument("origins", nargs="*", type=Path, default=sorted(BUNDLES.glob("*.bundle")))
    given = reader.parse_args()
    if not given.origins:
        sys.exit("no ../shared/replay: name a clone or a bundle")
    results = REPOSITORY / "build" / "replay"
    results.mkdir(parents=True, exist_ok=True)
    folder = Path(gettempdir()) / "mdplan-replay"
    folder.mkdir(exist_ok=True)
    for origin in given.origins:
        with Repository(origin.resolve(), folder) as repository:
            _replay(repository, results / f"{repository.name}.jsonl", given.changes)


def _replay(repository: Repository, path: Path, most: int) -> None:
    """Add the rows of the first `most` changes to the file `path`, without those that it has."""
    done = {json.loads(line)["change"] for line in path.read_text().splitlines()} if path.exists() else set()
    with path.open("a") as rows:
        for change in repository.changes(most):
            if change.name not in done:
                row = row_of(change, repository) or {"change": change.name}
                rows.write(json.dumps(row) + "\n")
                rows.flush()


if __name__ == "__main__":
    main()
