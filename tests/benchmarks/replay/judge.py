"""What is right: the version that people themselves came to, and the words that the edit brought."""

from collections import Counter
from functools import lru_cache
from typing import NamedTuple

from mdplan.markdown.outline import Outline
from mdplan.text.diff import LineComparison
from mdplan.text.source import Source
from tests.benchmarks.replay.changes import merged


class Drifted(NamedTuple):
    """A version of the file without a change, `later` with it, and whether they could be separated."""

    text: str
    later: str
    is_clean: bool


def on_branch(before: bytes | None, after: bytes | None, old: str, new: str) -> Drifted | None:
    """Return the file on another branch before and after the merge of the change, if the merge brought only
    that.
    """
    if before is None or after is None or before in (old.encode(), after):
        return None
    data, is_clean = merged(before, old.encode(), new.encode())
    return Drifted(before.decode(), after.decode(), True) if is_clean and data == after else None


def drift(later: str | None, old: str, new: str) -> Drifted | None:
    """The later version without the change from `old` to `new`."""
    if later is None:
        return None
    data, is_clean = merged(*(each.encode() for each in (later, new, old)))
    return Drifted(data.decode("utf-8", "replace"), later, is_clean)


def judged(result: str | None, drifted: Drifted, old: str, new: str) -> str:
    """Return right, refused or wrong; marked if the place of the change has changed too."""
    mark = "" if drifted.is_clean else " (changed)"
    if result is None or result == drifted.text:
        return "refused" + mark
    if drifted.is_clean and result == drifted.later:
        return "right"
    names = renamed(grouped(lines_of(old)), grouped(lines_of(drifted.text)))
    wanted = effect(old, new)
    moved = Counter({(names.get(title, title), word): count for (title, word), count in wanted.items()})
    is_same = effect(drifted.text, result) in (wanted, moved) or places(drifted.text, result) == places(
        old, new
    )
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
def places(before: str, after: str) -> Counter[tuple[str, ...]]:
    """Return the old and new text at each place, between its unchanged neighbour lines."""
    old, new = before.split("\n"), after.split("\n")
    return Counter(
        (
            next((line for line in reversed(old[:start]) if line.strip()), ""),
            "\n".join(old[start:end]),
            "\n".join(new[first:last]),
            next((line for line in old[end:] if line.strip()), ""),
        )
        for start, end, first, last in LineComparison(1_000_000).differing(old, new)
    )


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
    """Titles that sections have now: those under which half of their lines or more are."""
    names = {}
    for title, own in before.items():
        shared = {each: len(own & others) for each, others in after.items()}
        best = max(shared, key=lambda each: (shared[each], each == title), default=title)
        # The line of the heading is another one.
        if best != title and 2 * shared[best] >= len(own) - 1:
            names[title] = best
    return names
