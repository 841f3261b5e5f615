"""How blocks and inline nodes differ between mdplan, cmark-gfm and markdown-it-py, counted by class.

``python -m tests.support.parser_comparison CORPUS [--hostile N]`` prints the table of
docs/explanation/commonmark-notes.md. A class is a parser that differs from the other two, and the kind of a
node that not all of them have.
"""

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random

from tests.corpus.variants import documents, examples_in
from tests.properties.hostile_markdown import random_document
from tests.support.oracles import Compared, Comparison, Verdict, compare

# Subject, differing parser, kind of node.
Class = tuple[str, str, str]

# If nodes of several kinds differ, the first kind here names the class.
KINDS = ("heading", "table", "code", "rule", "quote", "list", "item", "footnote", "image", "link")
SUBJECTS = ("blocks", "inline nodes")
NOT_COMPARED = "not compared: undecided nodes, or a footnote defined twice"


def classes(found: Compared) -> Iterator[Class]:
    """Yield the classes of differences in a text: at most one for blocks and one for inline nodes."""
    for subject, comparison in zip(SUBJECTS, (found.blocks, found.inline), strict=True):
        if comparison is None:
            yield subject, NOT_COMPARED, ""
        elif comparison.verdict is not Verdict.AGREED:
            yield subject, comparison.verdict, _kind(comparison)


def count_classes(texts: Iterable[str]) -> Counter[Class]:
    """Count the texts with each class."""
    return Counter(each for text in texts for each in classes(compare(text)))


def hostile_texts(count: int, seed: int = 0) -> Iterator[str]:
    """Return `count` random documents of hostile lines."""
    dice = Random(seed)
    return (random_document(dice) for _ in range(count))


def _kind(comparison: Comparison) -> str:
    """Return the kind of a differing inline node, or of a block on the first differing line."""
    sides = [Counter(side) for side in (comparison.mdplan, comparison.cmark, comparison.markdown_it)]
    everywhere = sides[0] & sides[1] & sides[2]
    different = [fact for side in sides for fact in side - everywhere]
    lines = [fact[1] for fact in different if isinstance(fact[1], int)]
    kinds = {str(fact[0]).split()[0] for fact in different if not lines or fact[1] == min(lines)}
    return min(kinds, key=KINDS.index, default="order")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.support.parser_comparison", description=__doc__)
    parser.add_argument("corpus", type=Path, help="folder with real documents and the specification")
    parser.add_argument("--hostile", type=int, default=20_000, help="number of random documents (20,000)")
    given = parser.parse_args()
    real = [text for _, text in documents(given.corpus)]
    examples = examples_in(given.corpus)
    sets = {"Real": real, "Examples": examples, "Random": list(hostile_texts(given.hostile))}
    columns = [count_classes(texts) for texts in sets.values()]
    names = (f"{name} ({len(texts):,})" for name, texts in sets.items())
    print("|", " | ".join(("Compared", "Difference", "Kind", *names)), "|")
    print("|---|---|---|--:|--:|--:|")
    for each in sorted(set().union(*columns), key=lambda key: [-column[key] for column in columns]):
        print("|", " | ".join((*each, *(str(column[each]) for column in columns))), "|")


if __name__ == "__main__":
    main()
