"""The text of a section that moves to another file, with the definitions and footnotes that it uses."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.field_names import short_name
from mdplan.markdown.destinations import is_external
from mdplan.markdown.links import (
    Definition,
    definitions,
    footnote_labels,
    footnotes,
    reference_uses,
    relabelling,
)
from mdplan.markdown.outline import Outline
from mdplan.markdown.parser import read_content
from mdplan.markdown.paths import folder_of, followed
from mdplan.markdown.payload import Payload, read_payload
from mdplan.markdown.targets import explicit_anchors, resolvable_targets, target_key
from mdplan.planning.build import SnapshotFile
from mdplan.text.lines import Span
from mdplan.values import Struct
from mdplan.words import say

_MOST_NAMES: Final = 5


class MovedText(Struct):
    """The text to insert into the other file, and warnings about IDs that exist there too."""

    payload: Payload
    warnings: Problems = ()


@dataclass(slots=True)
class _Labels:
    """The normalized labels that a file defines, including labels that the batch moved there.

    `targets` are the targets of link labels. `notes` are the texts of footnotes, empty for moved ones.
    """

    targets: dict[str, str]
    notes: dict[str, str]

    @classmethod
    def of(cls, file: SnapshotFile) -> "_Labels":
        outline = file.outline
        return cls(
            {label: _target(file, definition) for label, definition in definitions(outline).items()},
            {label: outline.text_of(span).strip() for label, span in footnotes(outline).items()},
        )


class _Defined(Struct):
    """Definitions of a file by label: links, and the lines of footnotes."""

    links: Mapping[str, Definition]
    notes: Mapping[str, Span]


@dataclass(slots=True)
class MovedTexts:
    """Makes the texts of one batch, so that the footnotes of its sections keep apart in each file."""

    _labels: dict[str, _Labels] = field(default_factory=dict)
    _defined: dict[str, _Defined] = field(default_factory=dict)

    def make(self, file: SnapshotFile, span: Span, exported: Payload, there: SnapshotFile) -> MovedText:
        """Return the section at `span` of `file`, whose text is `exported`, as it goes to the file `there`.

        Definitions of links that `there` lacks, and footnotes, are copied to the end of the text. Their
        labels change where `there` has other definitions of these.
        """
        outline = file.outline
        # Scan each file once, even if several sections move.
        if there.path not in self._labels:
            self._labels[there.path] = _Labels.of(there)
        if file.path not in self._defined:
            self._defined[file.path] = _Defined(definitions(outline), footnotes(outline))
        labels = self._labels[there.path]
        used = _used_definitions(outline, span, self._defined[file.path])
        is_same_folder = folder_of(file.relative) == folder_of(there.relative)
        notes = {
            label: note
            for label, note in used.notes.items()
            if not (is_same_folder and labels.notes.get(label) == outline.text_of(note).strip())
        }
        new_labels: dict[str, str] = {}
        for label in dict.fromkeys([*used.own_notes, *notes]):
            if label in labels.notes:
                taken = {*labels.notes, *used.own_notes, *notes}
                new_labels[f"^{label}"] = _free_label(label, taken)
            labels.notes[new_labels.get(f"^{label}", label)] = ""
        missing: list[str] = []
        for label, definition in used.links.items():
            target = _target(file, definition)
            if labels.targets.get(label) == target:
                continue
            if label in labels.targets:
                new_labels[label] = _free_label(label, {*labels.targets, *used.links})
            labels.targets[new_labels.get(label, label)] = target
            if not span.contains(definition.span):
                missing.append(definition.with_label(new_labels.get(label)))
        pieces = [_relabelled(outline, span, new_labels) if new_labels else exported.text]
        pieces += ["\n".join(missing)] if missing else []
        pieces += (_relabelled(outline, note, new_labels) for note in notes.values())
        return MovedText(
            read_payload("\n\n".join(pieces)) if new_labels or len(pieces) > 1 else exported,
            tuple(_equal_anchors(outline, span, there.outline)),
        )


class _Used(Struct):
    """What a text uses of its document: by their labels, definitions of links, and footnotes elsewhere.

    `own_notes` are the labels of the footnotes that the text itself defines.
    """

    links: dict[str, Definition]
    notes: dict[str, Span]
    own_notes: Sequence[str]


def _used_definitions(outline: Outline, text: Span, defined: _Defined) -> _Used:
    """Return what `text` uses of `defined`, also through its footnotes, in the order of use."""
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
    own = [label for label, note in defined.notes.items() if text.contains(note)]
    return _Used(links, notes, own)


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
    pieces: list[str] = []
    at = span.start
    edits = relabelling(outline, span, new_labels)
    for edit in sorted(edits, key=lambda edit: edit.span.start):
        pieces += (outline.source.text[at : edit.span.start], edit.new_text)
        at = edit.span.end
    return "".join([*pieces, outline.source.text[at : span.end]]).strip("\r\n")


def _target(file: SnapshotFile, definition: Definition) -> str:
    """Return the target of a definition of `file`: a URL, or a path from the root with its fragment."""
    if is_external(definition.href):
        return definition.href
    path, sign, fragment = definition.href.partition("#")
    return (
        followed(folder_of(file.relative), path) + sign + fragment
        if path
        else file.relative + sign + fragment
    )


def _equal_anchors(outline: Outline, span: Span, there: Outline) -> Iterator[Diagnostic]:
    """Yield a warning about IDs of the section that something else has in the file to which it goes."""
    explicit = [anchor for anchor, place in explicit_anchors(outline) if span.contains(place)]
    explicit += (
        read_content(section.heading.content).id for section in outline.headings_in(span) if section.heading
    )
    by_key = {target_key(anchor): anchor for anchor in explicit if anchor}
    taken = resolvable_targets(there) if by_key else frozenset()
    equal = [f"#{anchor}" for key, anchor in by_key.items() if key in taken]
    if equal:
        yield Code.LINK_RETARGETED.warning(
            say(
                "the section has {}, which {toFile} has too: links name what comes first there",
                _listed(equal),
            ),
            "change the ID of the section first",
        )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(f"`{short_name(name)}`" for name in names[:_MOST_NAMES])
    return shown if len(names) <= _MOST_NAMES else f"{shown} and {len(names) - _MOST_NAMES} more"
