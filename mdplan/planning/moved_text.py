"""The text of a section that moves to another file, with the definitions and footnotes that it uses."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.field_names import short_name
from mdplan.markdown.destinations import is_external
from mdplan.markdown.links import (
    Definition,
    definitions,
    explicit_anchors,
    footnote_labels,
    footnotes,
    reference_uses,
    relabelling,
    resolvable_targets,
    target_key,
)
from mdplan.markdown.outline import Outline
from mdplan.markdown.parser import read_content
from mdplan.markdown.paths import folder_of, followed
from mdplan.markdown.payload import Payload, read_payload
from mdplan.planning.build import SnapshotFile
from mdplan.text.edit import EditList
from mdplan.text.lines import Span
from mdplan.text.visible import first_few
from mdplan.words import say

_MOST_NAMES: Final = 5


@dataclass(slots=True)
class Labels:
    """What a file defines, by normalized labels: `links`, and the lines of footnotes, `notes`.

    `targets` are those of its links, and `texts` those of its footnotes, with what the batch moved there: of
    a footnote no text.
    """

    links: dict[str, Definition]
    notes: dict[str, Span]
    targets: dict[str, str]
    texts: dict[str, str]

    @classmethod
    def of(cls, file: SnapshotFile) -> "Labels":
        """Return those of `file`."""
        links, notes = definitions(file.outline), footnotes(file.outline)
        return cls(
            links,
            notes,
            {label: _target(file, definition) for label, definition in links.items()},
            {label: file.outline.text_of(span).strip() for label, span in notes.items()},
        )


def moved_text(
    file: SnapshotFile, span: Span, exported: Payload, there: SnapshotFile, known: dict[str, Labels]
) -> tuple[Payload, Problems]:
    """Return the section at `span` of `file`, whose text is `exported`, as it goes to the file `there`.

    Definitions of links that `there` lacks, and footnotes, are copied to the end of the text. Their labels
    change where `there` has other definitions of these. Warns about IDs that exist there too. `known` are the
    labels of the files of the batch.
    """
    outline = file.outline
    # Scan each file once, even if several sections move.
    for each in (file, there):
        if each.path not in known:
            known[each.path] = Labels.of(each)
    here, labels = known[file.path], known[there.path]
    links, notes = _used_definitions(outline, span, here)
    own_notes = [label for label, note in here.notes.items() if span.contains(note)]
    if folder_of(file.relative) == folder_of(there.relative):
        notes = {
            label: note
            for label, note in notes.items()
            if labels.texts.get(label) != outline.text_of(note).strip()
        }
    new_labels: dict[str, str] = {}
    for label in dict.fromkeys([*own_notes, *notes]):
        if label in labels.texts:
            new_labels[f"^{label}"] = _free_label(label, {*labels.texts, *own_notes, *notes})
        labels.texts[new_labels.get(f"^{label}", label)] = ""
    missing: list[str] = []
    for label, definition in links.items():
        target = _target(file, definition)
        if labels.targets.get(label) == target:
            continue
        if label in labels.targets:
            new_labels[label] = _free_label(label, {*labels.targets, *links})
        labels.targets[new_labels.get(label, label)] = target
        if not span.contains(definition.span):
            missing.append(definition.with_label(new_labels.get(label)))
    pieces = [_relabelled(outline, span, new_labels) if new_labels else exported.text]
    pieces += ["\n".join(missing)] if missing else []
    pieces += (_relabelled(outline, note, new_labels) for note in notes.values())
    payload = read_payload("\n\n".join(pieces)) if new_labels or len(pieces) > 1 else exported
    return payload, tuple(_equal_anchors(outline, span, there.outline))


def _used_definitions(
    outline: Outline, text: Span, defined: Labels
) -> tuple[dict[str, Definition], dict[str, Span]]:
    """Return definitions of links, and footnotes elsewhere, that `text` uses, also through its footnotes."""
    links: dict[str, Definition] = {}
    notes: dict[str, Span] = {}
    spans = [text]
    for span in spans:
        for use in reference_uses(outline, span):
            if use.label in defined.links:
                links.setdefault(use.label, defined.links[use.label])
        for label, _ in footnote_labels(outline, span):
            note = defined.notes.get(label)
            if note is not None and label not in notes and not text.contains(note):
                notes[label] = note
                spans.append(note)
    return links, notes


def _free_label(label: str, taken: set[str]) -> str:
    """Return a variant of `label` not in `taken`: the next number, or the same words with a number."""
    last = len(taken) + 2
    if label.isdecimal():
        numbers = (str(int(label) + number).zfill(len(label)) for number in range(1, last))
    else:
        numbers = (f"{label.lower()}-{number}" for number in range(2, last + 1))
    return next(number for number in numbers if number.upper() not in taken)


def _relabelled(outline: Outline, span: Span, new_labels: Mapping[str, str]) -> str:
    """Return the text of `span` with other labels of some of its links and footnotes."""
    edits = EditList.of(relabelling(outline, span, new_labels))
    assert isinstance(edits, EditList), "labels do not overlap"
    return edits.apply(outline.source.text[: span.end])[span.start :].strip("\r\n")


def _target(file: SnapshotFile, definition: Definition) -> str:
    """Return the target of a definition of `file`: a URL, or a path from the root with its fragment."""
    if is_external(definition.href):
        return definition.href
    path, sign, fragment = definition.href.partition("#")
    named = followed(folder_of(file.relative), path) if path else file.relative
    return named + sign + fragment


def _equal_anchors(outline: Outline, span: Span, there: Outline) -> Iterator[Diagnostic]:
    """Yield a warning about IDs of the section that something else has in the file to which it goes."""
    explicit = [anchor for anchor, place in explicit_anchors(outline) if span.contains(place)]
    explicit += (
        read_content(section.heading.content).id for section in outline.headings_in(span) if section.heading
    )
    by_key = {target_key(anchor): anchor for anchor in explicit if anchor}
    taken = resolvable_targets(there) if by_key else frozenset()
    equal = [f"`{short_name(f'#{anchor}')}`" for key, anchor in by_key.items() if key in taken]
    if equal:
        listed = first_few(equal, _MOST_NAMES)
        yield Code.LINK_RETARGETED.warning(
            say("the section has {}, which {toFile} has too: links name what comes first there", listed),
            "change the ID of the section first",
        )
