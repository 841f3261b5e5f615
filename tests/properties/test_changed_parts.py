"""Reports computed from the changed parts of a document equal those of the whole document."""

from dataclasses import replace
from random import Random
from typing import Any

from mdplan.diagnostics import Problems
from mdplan.markdown.destinations import destinations
from mdplan.markdown.outline import Outline
from mdplan.markdown.targets import explicit_anchors, target_key
from mdplan.planning.build import BuiltFile, SnapshotFile, build_file, resolve_edits
from mdplan.planning.link_changes import (
    AnchorChanges,
    changed_anchors,
    keys_in_html,
    places_of_fragments,
    possible_links,
)
from mdplan.planning.links import derive_link_edits
from mdplan.planning.verify import verify
from mdplan.requests.batch import Batch, read_batch
from mdplan.text.lines import Span
from tests.conftest import FULL
from tests.no_other_files import NoOtherFiles
from tests.properties.hostile_markdown import random_document
from tests.rescan_check import NEW, source_of

COUNT = 1_000 if FULL else 250
PIECES = (
    *("\n# One\n\n", "## Two\n\n", "# One\n", '\n<a id="one"></a> x\n\n', "[l](#one) [m](#two) [a]\n\n"),
    *("[a]: #one\n\n", '<div id="two">\n\n', "x[^1] [[#One]] [w](%6fne) [v](&#35;one)\n\n", "[^1]: note\n\n"),
    *('<a href="#one">y</a> <A NAME=three id=one>\n\n', '> <a title=">"\n> id="one">\n\n'),
)


def facts(built: BuiltFile, batch: Batch) -> tuple[AnchorChanges, Problems, Any]:
    made = derive_link_edits([built], batch.update_references, NoOtherFiles())
    assert not isinstance(made, tuple)
    return (
        changed_anchors(built, {}),
        verify(built, batch),
        [(file.edits, file.warnings, file.references_updated) for file in made.files],
    )


def random_edit(dice: Random, base: Outline) -> dict[str, object]:
    text, lines = base.source.text, base.source.lines
    if len(base.sections) > 1 and dice.random() < 0.4:
        section = dice.choice(base.sections[1:])
        title = dice.choice(("One", "Two", "`New`"))
        return {"op": "rename_heading", "sectionId": section.section_id, "newTitle": title}
    start = dice.randrange(len(text) + 1)
    end = min(start + dice.choice((0, 1, 9, 30)), len(text))
    places = [lines.position(offset) for offset in (start, end)]
    place = {key: {"line": at.line, "col": at.col} for key, at in zip(("start", "end"), places, strict=True)}
    new = dice.choice((*NEW, *PIECES))
    return {"op": "replace_range", "range": place, "allowInsecureRange": True, "replacement": new}


def test_report_of_changed_parts_equals_report_of_whole_document() -> None:
    dice = Random(0)
    told = 0
    for _ in range(COUNT):
        pieces = (dice.choice((*PIECES, *PIECES, random_document(dice))) for _ in range(dice.randint(2, 9)))
        base = Outline(source_of("".join(pieces).replace("\r", "\n")))
        edits = [random_edit(dice, base) for _ in range(dice.choice((1, 1, 2)))]
        entry = {"file": "a.md", "baseSha256": "0" * 64, "edits": edits}
        batch = read_batch({"files": [entry], "updateReferences": dice.choice(("none", "file"))})
        file = SnapshotFile(
            path="a.md", relative="a.md", requested=batch.files[0], outline=base, first_edit=0
        )
        resolved, problems = resolve_edits(file)
        built = None if problems else build_file(file, resolved)
        if isinstance(built, BuiltFile) and built.changed is not None:
            told += 1
            assert facts(built, batch) == facts(replace(built, changed=None), batch), (
                base.source.text,
                edits,
            )
    assert told > 0.3 * COUNT


def test_every_link_to_a_fragment_is_found_in_the_text() -> None:
    dice = Random(1)
    found = 0
    for _ in range(COUNT):
        pieces = (dice.choice((*PIECES, random_document(dice))) for _ in range(dice.randint(2, 9)))
        outline = Outline(source_of("".join(pieces)))
        text = outline.source.text
        for link in destinations(outline, [Span(0, len(text))]):
            # No anchor of a heading has more than one line.
            if link.path or not link.fragment or set("\r\n") & set(link.fragment):
                continue
            places = places_of_fragments(possible_links(text), {target_key(link.fragment)})
            blocks = [outline.tree.leaf_at(place) for place in places]
            assert any(block and block.span.contains(link.span) for block in blocks), (text, link)
            found += 1
    assert found > 300


def test_every_anchor_of_html_is_found_in_the_text() -> None:
    dice = Random(2)
    found = 0
    for _ in range(COUNT):
        pieces = (dice.choice((*PIECES, random_document(dice))) for _ in range(dice.randint(2, 9)))
        outline = Outline(source_of("".join(pieces)))
        keys = keys_in_html(outline.source.text)
        for anchor, _ in explicit_anchors(outline):
            assert target_key(anchor) in keys or set("\"'<>\n\r") & set(anchor), (outline.source.text, anchor)
            found += 1
    assert found > 300
