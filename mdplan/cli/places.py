"""The places of an edit, asked for one by one, as `git add -p` does with hunks."""

from collections.abc import Callable, Iterator, Sequence
from itertools import count, groupby
from typing import TYPE_CHECKING, Any, Final

from mdplan.cli.suggestions import Misuse
from mdplan.cli.terminal import Style, ask, ask_key, shown
from mdplan.text.edit import EditList, TextEdit
from mdplan.values import Struct

if TYPE_CHECKING:
    from mdplan.plan import EditResult, Range
    from mdplan.planning.build import BuiltFile

_KEYS: Final = {
    "y": "make the change at this place",
    "n": "leave this place as it is",
    "a": "make it here and at all later places of this file",
    "q": "leave this place and all later ones",
    "d": "leave this place and all later ones of this file",
    "?": "this help",
}


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
        if found > len(result.matches) and not result.no_op:
            raise Misuse(f"`{result.file}` has {found} places", "name a section with `--in`")
        offset = built.base.source.lines.offset
        ranges: Sequence[Range | None] = [match.range for match in result.matches] or [None]
        ranges = () if result.no_op else ranges
        for number, match in enumerate(ranges, 1):
            edits = list(built.edits)
            if match is not None:
                start, end = offset(match.start) or 0, offset(match.end) or 0
                edits = [edit for edit in edits if start <= edit.span.start and edit.span.end <= end]
            shows = _text(built, edits, style)
            yield Place(result.file, result.edit_index, number if match is not None else None, shows)


def _text(built: "BuiltFile", edits: Sequence[TextEdit], style: Style) -> str:
    """Return the lines of `edits` before and after them, below their place."""
    outline, text = built.base, built.base.source.text
    start, end = (edits[0].span.start, edits[-1].span.end) if edits else (0, 0)
    first, last = outline.source.lines.line_at(start), outline.source.lines.line_at(max(end - 1, start))
    whole = outline.source.lines.span(first, last)
    result = EditList(tuple(edits)).apply(text)
    section = outline.section_at(min(start, max(len(text) - 1, 0)))
    heading = f"  {shown(' / '.join(section.path))}" if section.path else ""
    old, new = text[whole.start : whole.end], result[whole.start : whole.end + len(result) - len(text)]
    rows = [style.bold(f"{shown(built.file.path)}:{first}") + heading]
    rows += [style.paint(f"-{shown(line)}", "red") for line in old.splitlines()]
    rows += [style.paint(f"+{shown(line)}", "green") for line in new.splitlines()]
    return "\n".join(rows)


def chosen_places(places: Sequence[Place], show: Callable[[str], None]) -> list[Place]:
    """Ask about each of `places`; return the chosen ones."""
    chosen: list[Place] = []
    rest: dict[str, bool] = {}
    for number, place in enumerate(places, 1):
        answer = rest.get(place.file)
        if answer is None:
            show(place.text)
            question = f"({number}/{len(places)}) Make this change [{','.join(_KEYS)}]? "
            key = ask_key(question, _KEYS, ask, lambda text: show(text.rstrip("\n")))
            if key in {None, "q"}:
                return chosen
            answer = key in {"y", "a"}
            rest |= {place.file: answer} if key in {"a", "d"} else {}
        chosen += [place] if answer else []
    return chosen


def entries_of(entries: Sequence[dict[str, Any]], chosen: Sequence[Place]) -> list[dict[str, Any]]:
    """Return the `entries` of a batch with only the `chosen` matches of their edits."""
    numbers = {
        index: [each.number for each in same] for index, same in groupby(chosen, lambda each: each.index)
    }
    indexes = count()
    kept = (
        {
            **entry,
            "edits": [
                part for edit in entry["edits"] for part in _parts(edit, numbers.get(next(indexes), ()))
            ],
        }
        for entry in entries
    )
    return [entry for entry in kept if entry["edits"]]


def _parts(edit: dict[str, Any], numbers: Sequence[int | None]) -> Iterator[dict[str, Any]]:
    """Return `edit`, or an edit for each of the matches `numbers`."""
    rest = {name: edit[name] for name in edit if name != "minMatches"}
    for number in numbers:
        yield edit if number is None else {**rest, "matchSelection": str(number)}
