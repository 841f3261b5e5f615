"""A plan is the same whether all of its result is parsed and checked, or only what its edits can reach.

`make test` makes some random edits of hostile and of real documents, MDPLAN_FULL=1 10,000.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import pytest

from mdplan.data import yaml
from mdplan.diagnostics import Problems
from mdplan.markdown.front_matter import read_content
from mdplan.markdown.outline import Outline
from mdplan.planning.batch import build_files
from mdplan.planning.build import BuildResult, BuiltFile, SnapshotFile
from mdplan.planning.links import derive_link_edits
from mdplan.planning.plan_document import write_document
from mdplan.planning.results import plan_of
from mdplan.requests.batch import Batch, read_batch
from mdplan.text.edit import EditList
from mdplan.text.source import Source
from tests.conftest import FULL
from tests.corpus.sample import files_of, in_all
from tests.properties.hostile_markdown import NAMES, random_document
from tests.support.files import NoOtherFiles
from tests.support.oracles import source_of

pytestmark = pytest.mark.timeout(3600 if FULL else 300)
COUNT = 5_000 if FULL else 200
LONGEST = 20_000

# What can open, close, name or separate something; and words, which cannot.
MARKS = (
    *("<", ">", "[", "]", "|", ":", "!", "%", "$", "{", "}", "/", "*", "=", "-", "#", "`", "^", "&", "\\"),
    *(
        "```\n",
        "---\n",
        "===\n",
        "- ",
        "1. ",
        "> ",
        "    ",
        "\t",
        "\n",
        "\n\n",
        "\r",
        "\u2028",
        "<!-- ",
        "-->",
    ),
    *(
        "[a](#b)",
        "[^1]",
        "[[A]]",
        '<a id="b">',
        "{#b}",
        "(b)=\n",
        "$$\n",
        "%%",
        "^b",
        "</details>",
        "| a | b |\n",
    ),
    *("# One\n", "[a]: b\n", ":::", "{% if %}", "www.a.org", "http://", "x: &a 1\n", "<<: *a\n"),
)
WORDS = ("word", "other words", "Ünïcode", "12", "")


def test_plan_of_a_hostile_document_is_the_same_when_everything_is_checked() -> None:
    dice = Random(0)

    def document() -> Outline:
        pieces = (dice.choice((*NAMES, *NAMES, random_document(dice))) for _ in range(dice.randint(2, 9)))
        front_matter = dice.choice(("", "---\ntitle: a\ntags: [b, c]\n---\n"))
        return Outline(source_of(front_matter + "".join(pieces).replace("\r", "\n")))

    assert alike(dice, document) > 0.3 * COUNT


def test_plan_of_a_real_document_is_the_same_when_everything_is_checked(corpus: Path) -> None:
    dice = Random(0)
    files = [path for path in files_of(corpus, first=3, step=40) if path.stat().st_size < LONGEST]
    documents = list(in_all(corpus, files))

    assert alike(dice, lambda: dice.choice(documents).outline) > 0.3 * COUNT


def alike(dice: Random, document: Callable[[], Outline]) -> int:
    """Compare the plans of random edits of random documents, and count them; others are refused alike."""
    planned = 0
    for _ in range(COUNT):
        outline = document()
        batch = random_batch(dice, outline)
        with everything_checked():
            expected = outcome(outline, batch)
        found = outcome(outline, batch)
        assert found == expected, (outline.source.text, batch.files[0].edits)
        planned += isinstance(found, bytes)
    return planned


@contextmanager
def everything_checked() -> Iterator[None]:
    """Within it results are parsed from the start, nothing is known of them, and YAML is read in Python."""

    def parsed_anew(base: Outline, edits: EditList, source: Source) -> Outline:
        del edits
        return Outline(source, base.format, base.limits, is_mdx=base.is_mdx, slugs=base.slugs)

    read_content.cache_clear()
    with (
        mock.patch.object(Outline, "edited", parsed_anew),
        mock.patch.object(yaml, "parsers_agree", return_value=False),
    ):
        yield
    read_content.cache_clear()


def outcome(outline: Outline, batch: Batch) -> bytes | Problems:
    """The plan of `batch`, with its diff, or what is wrong with it."""
    file = SnapshotFile(path="a.md", relative="a.md", requested=batch.files[0], outline=outline, first_edit=0)
    parts = list(build_files([file], batch, NoOtherFiles()))
    problems = tuple(problem for part in parts if not isinstance(part, BuiltFile) for problem in part)
    if problems:
        return problems
    files = [part for part in parts if isinstance(part, BuiltFile)]
    made = derive_link_edits(files, batch.update_references, NoOtherFiles())
    if not isinstance(made, BuildResult):
        return made
    return write_document(plan_of(made, batch)) + b"".join(built.diff for built in made.files)


def random_batch(dice: Random, outline: Outline) -> Batch:
    """Draw a batch of one or two edits, half of them with special characters in the old or new text."""
    edits = [random_edit(dice, outline) for _ in range(dice.choice((1, 1, 2)))]
    options = {name: dice.random() < 0.3 for name in ("allowOutlineChange", "allowDuplicateHeadings")}
    entry = {"file": "a.md", "baseSha256": "0" * 64, "edits": edits}
    batch = read_batch({"files": [entry], "updateReferences": dice.choice(("none", "file")), **options})
    assert isinstance(batch, Batch), batch
    return batch


def random_edit(dice: Random, outline: Outline) -> dict[str, Any]:
    """A key of front matter, a heading, or a range of text near words or marks gets something else."""
    text, has_marks = outline.source.text, dice.random() < 0.5
    new = dice.choice(MARKS) if has_marks else dice.choice(WORDS)
    if has_marks and dice.random() < 0.5:
        new = f"{dice.choice(WORDS)}{new}{dice.choice(MARKS + WORDS)}"
    if outline.front_matter and dice.random() < 0.4:
        key = dice.choice(("title", "id", "slug", "aliases", "added"))
        value = dice.choice((new, [new], {"a": new}, 1, None, True))
        return {"op": "set_value", "key": key, "value": value}
    if len(outline.sections) > 1 and dice.random() < 0.2:
        section = dice.choice(outline.sections[1:])
        title = dice.choice(("One", "Two", "`New`"))
        return {"op": "rename_heading", "sectionId": section.section_id, "newTitle": title}
    start = dice.randrange(len(text) + 1)
    if has_marks:
        marked = [at for mark in dice.sample("<>[]|:#*-`\n", 4) if (at := text.find(mark, start)) >= 0]
        start = dice.choice(marked) if marked else start
    elif outline.front_matter and dice.random() < 0.2:
        start = dice.randrange(outline.body_start + 2)
    places = map(outline.source.lines.position, (start, min(start + dice.choice((0, 1, 3, 30)), len(text))))
    start_at, end_at = ({"line": place.line, "col": place.col} for place in places)
    place = {"start": start_at, "end": end_at}
    return {"op": "replace_range", "range": place, "allowInsecureRange": True, "replacement": new}
