"""How headings make a tree: paths and parents, ordinals of equal paths, and where sections end."""

from collections import Counter
from collections.abc import Sequence

from mdplan.markdown.blocks import Block
from mdplan.markdown.section_id import folded


def section_paths(
    headings: Sequence[Block], titles: Sequence[str]
) -> tuple[list[tuple[str, ...]], list[int | None]]:
    """Path of each heading and the number of its parent heading; nested headings have no children."""
    paths: list[tuple[str, ...]] = []
    parents: list[int | None] = []
    open_headings: list[int] = []
    for number, block in enumerate(headings):
        if block.depth == 0:
            while open_headings and headings[open_headings[-1]].level >= block.level:
                open_headings.pop()
        parent = open_headings[-1] if open_headings else None
        paths.append((*(paths[parent] if parent is not None else ()), titles[number]))
        parents.append(parent)
        if block.depth == 0:
            open_headings.append(number)
    return paths, parents


def section_ordinals(
    headings: Sequence[Block], paths: Sequence[tuple[str, ...]]
) -> tuple[list[int], list[int]]:
    """Ordinal of each heading among those of equal folded path, and how many they are.

    Top-level headings are counted before nested ones, so that a quoted look-alike changes no ID.
    """
    keys = [tuple(folded(element) for element in path) for path in paths]
    ordinals = [0] * len(headings)
    seen: Counter[tuple[str, ...]] = Counter()
    for number in sorted(range(len(headings)), key=lambda number: (headings[number].depth > 0, number)):
        seen[keys[number]] += 1
        ordinals[number] = seen[keys[number]]
    return ordinals, [seen[key] for key in keys]


def section_ends(headings: Sequence[Block], content_end: int) -> list[int]:
    """Where each section ends: the next heading of the same or a higher level, or the end."""
    ends = [content_end] * len(headings)
    waiting: list[int] = []
    for index, block in enumerate(headings):
        while waiting and headings[waiting[-1]].level >= block.level:
            ends[waiting.pop()] = block.span.start
        waiting.append(index)
    return ends
