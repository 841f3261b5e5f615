"""The places of an edit, asked for one by one, as `git add -p` does with hunks."""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from mdplan.cli.suggestions import Misuse
from mdplan.cli.terminal import Style, shown
from mdplan.text.edit import EditList, TextEdit
from mdplan.text.lines import Span
from mdplan.values import Struct

if TYPE_CHECKING:
    from mdplan.plan import EditResult
    from mdplan.planning.build import BuiltFile

_HELP: Final = """\
y - make the change at this place
n - leave this place as it is
a - make it here and at all later places of this file
d - leave this place and all later ones of this file
q - leave this place and all later ones
? - this help"""


class Place(Struct):
    """A place of the edit at `index` of a batch: its match `number`, from 1; None for the whole edit."""

    file: str
    index: int
    number: int | None
    text: str


def places_of(files: "Sequence[BuiltFile]", results: "Sequence[EditResult]", style: Style) -> Iterator[Place]:
    """Yield the places of a plan, with the lines that change. Raises a usage error for too many matches."""
    by_path = {built.file.path: built for built in files}
    for result in results:
        built = by_path[result.file]
        found = result.matches_found or 0
        if result.no_op:
            continue
        if found > len(result.matches):
            raise Misuse(f"`{result.file}` has {found} places", "name a section with `--in`")
        lines = built.base.source.lines
        spans = [
            Span(lines.offset(match.range.start) or 0, lines.offset(match.range.end) or 0)
            for match in result.matches
        ]
        for number, span in enumerate(spans, 1):
            edits = [
                edit for edit in built.edits if span.start <= edit.span.start and edit.span.end <= span.end
            ]
            yield Place(result.file, result.edit_index, number, _text(built, span, edits, style))
        if not spans:
            edits = list(built.edits)
            span = Span(edits[0].span.start, edits[-1].span.end) if edits else Span(0, 0)
            yield Place(result.file, result.edit_index, None, _text(built, span, edits, style))


def _text(built: "BuiltFile", span: Span, edits: Sequence[TextEdit], style: Style) -> str:
    """Return the lines of `span` before and after `edits`, below their place."""
    outline = built.base
    lines, text = outline.source.lines, outline.source.text
    first, last = lines.line_at(span.start), lines.line_at(max(span.end - 1, span.start))
    whole = lines.span(first, last)
    at = whole.start
    moved = EditList(
        tuple(TextEdit(Span(each.span.start - at, each.span.end - at), each.new_text) for each in edits)
    )
    old = text[whole.start : whole.end]
    section = outline.section_at(min(span.start, max(len(text) - 1, 0)))
    heading = f"  {shown(' / '.join(section.path))}" if section.path else ""
    rows = [style.bold(f"{shown(built.file.path)}:{first}") + heading]
    rows += [style.paint(f"-{shown(line)}", "red") for line in old.splitlines()]
    rows += [style.paint(f"+{shown(line)}", "green") for line in moved.apply(old).splitlines()]
    return "\n".join(rows)


def chosen_places(
    places: Sequence[Place], ask: Callable[[str], str | None], show: Callable[[str], None]
) -> list[Place]:
    """Ask about each of `places`; return the chosen ones."""
    chosen: list[Place] = []
    rest: dict[str, bool] = {}
    for number, place in enumerate(places, 1):
        answer = rest.get(place.file)
        if answer is None:
            show(place.text)
        while answer is None:
            line = ask(f"({number}/{len(places)}) Make this change [y,n,a,q,d,?]? ")
            key = "q" if line is None else line.strip().lower()[:1]
            if key == "q":
                return chosen
            if key and key in "yand":
                answer = key in "ya"
                rest |= {place.file: answer} if key in "ad" else {}
            else:
                show(_HELP)
        chosen += [place] if answer else []
    return chosen


def entries_of(entries: Sequence[dict[str, Any]], chosen: Sequence[Place]) -> list[dict[str, Any]]:
    """Return the `entries` of a batch with only the `chosen` matches of their edits."""
    numbers = {
        index: [each.number for each in same] for index, same in groupby(chosen, lambda each: each.index)
    }
    index, kept = 0, []
    for entry in entries:
        edits: list[dict[str, Any]] = []
        for edit in entry["edits"]:
            edits += _parts(edit, numbers[index]) if index in numbers else []
            index += 1
        kept += [{**entry, "edits": edits}] if edits else []
    return kept


def _parts(edit: dict[str, Any], numbers: Sequence[int | None]) -> Iterator[dict[str, Any]]:
    """Return `edit` limited to the matches `numbers`: one edit per consecutive run."""
    runs = groupby(enumerate(numbers), lambda each: None if each[1] is None else each[1] - each[0])
    for key, run in runs:
        same = [number for _, number in run]
        if key is None:
            yield edit
        else:
            selection = str(same[0]) if len(same) == 1 else f"{same[0]}-{same[-1]}"
            yield {**{name: edit[name] for name in edit if name != "minMatches"}, "matchSelection": selection}
