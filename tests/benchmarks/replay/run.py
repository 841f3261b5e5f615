"""Replay real changes with each tool: `python -m tests.benchmarks.replay.run [--changes N] ORIGIN…`.

ORIGIN is a bundle or a clone. Rows go to build/replay/NAME.jsonl; a run that was stopped goes on there.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import gettempdir
from typing import Any, NamedTuple

from mdplan.markdown.outline.outline import Outline
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
    return ("right elsewhere" if effect(drifted.text, result) == effect(old, new) else "wrong") + mark


def effect(before: str, after: str) -> object:
    """Words that come and go, by the heading that they stand under."""
    counts = Counter(words(after))
    counts.subtract(words(before))
    return {word: count for word, count in counts.items() if count}


def words(text: str) -> list[tuple[str, str]]:
    outline = Outline(Source.from_text(text))
    return [
        (section.title, word)
        for section in outline.sections
        for word in text[section.heading_start : section.body.end].split()
    ]


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
        repository = Repository(origin.resolve(), folder)
        path = results / f"{repository.name}.jsonl"
        done = (
            {json.loads(line)["change"] for line in path.read_text().splitlines()} if path.exists() else set()
        )
        with path.open("a") as rows:
            for change in repository.changes(given.changes):
                if change.name not in done:
                    row = row_of(change, repository) or {"change": change.name}
                    rows.write(json.dumps(row) + "\n")
                    rows.flush()


if __name__ == "__main__":
    main()
