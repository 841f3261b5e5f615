"""Count the bytes that tomlkit and mdplan change in addition to the requested value; run as a program.

    find / -name '*.toml' | .venv/bin/python -m tests.corpus.toml_comparison

Random scalars of each file get another value, one at a time. Changes outside the lines of the value count.
"""

import random
import sys
from collections import Counter
from pathlib import Path as FilePath
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from mdplan.data.content import DataContent, data_edits, placed, read_data, verify_edits
from mdplan.data.tree import REMOVED, Change, DataError, KeyChange, Language, Path, value_at
from mdplan.text.edit import EditList
from mdplan.text.lines import LineIndex
from mdplan.text.source import Source

KEYS = 10
LONGEST = 100_000


def by_tomlkit(text: str, path: Path, value: object) -> str:
    """`text` with `value` at `path`, as tomlkit writes it."""
    document: Any = tomlkit.parse(text)
    place = document
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    return tomlkit.dumps(document)


def by_edits(content: DataContent, path: Path, value: object) -> str:
    """The same by edits at places."""
    changes: list[Change] = [KeyChange(path, value)]
    splices = placed(data_edits(content, changes), 0, LineIndex(content.text))
    edits = EditList.of(splice.edit for splice in splices)
    if not isinstance(edits, EditList):
        raise DataError("two of the changes want the same text")
    verify_edits(content, edits, changes)
    return edits.apply(content.text)


def judged(content: DataContent, path: Path, result: str) -> str:
    """What `result` changed: nothing but the text of the value, more of its lines, or other lines."""
    text, span = content.text, content.places[path]
    lines = content.lines
    start, end = lines.start(lines.line_at(span.start)), lines.end(lines.line_at(max(span.end - 1, 0)))
    if result[: span.start] == text[: span.start] and result.endswith(text[span.end :]):
        return "the value alone"
    if result[:start] == text[:start] and result.endswith(text[end:]):
        return "more of its lines"
    return "OTHER LINES"


def compare(text: str) -> Counter[str]:
    """Outcomes of both for one file."""
    content = read_data(Language.TOML, text)
    drawn = random.Random(len(text))
    paths = [path for path in content.places if isinstance(value_at(content.values, path), str | int)]
    found: Counter[str] = Counter({"files": 1})
    for path in drawn.sample(paths, min(KEYS, len(paths))):
        found["values"] += 1
        try:
            found[f"edits: {judged(content, path, by_edits(content, path, 'new # value'))}"] += 1
        except DataError as error:
            found[f"edits: refused: {error.reason}"] += 1
        try:
            found[f"tomlkit: {judged(content, path, by_tomlkit(text, path, 'new # value'))}"] += 1
        except (TOMLKitError, ValueError, TypeError, KeyError, AttributeError) as error:
            found[f"tomlkit: failed: {type(error).__name__}"] += 1
        if not any(isinstance(each, int) for each in path):
            found += Counter({f"delete, {who}": 1 for who in _deleted_lines(content, path)})
    return found


def _deleted_lines(content: DataContent, path: Path) -> list[str]:
    """Return how each of the two deletes the key at `path`: only its lines, or more."""
    text, lines, span = content.text, content.lines, content.places[path]
    start = lines.start(lines.line_at(span.start))
    if text[start : span.start].strip():
        return []
    alone = text[:start] + text[lines.end(lines.line_at(span.end - 1)) :]
    document: Any = tomlkit.parse(text)
    place = document
    for name in path[:-1]:
        place = place[name]
    del place[path[-1]]
    by_kit = "its lines alone" if tomlkit.dumps(document) == alone else "other text too"
    try:
        splices = placed(data_edits(content, [KeyChange(path, REMOVED)]), 0, LineIndex(text))
        edits = EditList.of(splice.edit for splice in splices)
        is_alone = isinstance(edits, EditList) and edits.apply(text) == alone
        by_own = "its lines alone" if is_alone else "other text too"
    except DataError:
        by_own = "refused"
    return [f"tomlkit: {by_kit}", f"edits: {by_own}"]


def main() -> None:
    """Compare on the files whose names come on standard input."""
    found: Counter[str] = Counter()
    for name in map(str.strip, sys.stdin):
        try:
            source = Source.decode(FilePath(name).read_bytes())
        except OSError:
            continue
        if not isinstance(source, Source) or len(source.text) > LONGEST:
            continue
        try:
            of_file = compare(source.text)
        except DataError:
            continue
        found += of_file
        found += Counter(
            f"files in which {who} changed other lines"
            for who in ("edits", "tomlkit")
            if of_file[f"{who}: OTHER LINES"]
        )
    for outcome, count in sorted(found.items()):
        print(f"{count:7} {outcome}")


if __name__ == "__main__":
    main()
