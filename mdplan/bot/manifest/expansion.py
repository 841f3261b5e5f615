"""Expands the edits of a manifest for one file: unrolls loops and fills in placeholders.

There are two kinds of loop. Among edits, ``{forEach, as, edits}`` repeats its edits for each entry of a list.
In place of a text, ``{forEach, as, text, between, before, after}`` repeats its text for each entry: rows of a
table, items, sections.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mdplan.bot.manifest.placeholders import Values, VariableName, filled, misuse, text_of
from mdplan.bot.manifest.source_map import Path
from mdplan.bot.manifest.text_fields import with_texts
from mdplan.diagnostics import Diagnostic

LOOP: Final = "forEach"
EDIT_LOOP: Final = frozenset({LOOP, "as", "edits", "comment"})
# Fields of an edit for the bot, which are not part of the planned operation.
ONLY_IF_CHANGED: Final = "onlyIfChanged"
AT: Final = "at"
ABOUT_EDITS: Final = frozenset({"comment", ONLY_IF_CHANGED, AT})
TEXT_LOOP: Final = frozenset({LOOP, "as", "text", "between", "before", "after", "comment"})
DEFAULT_NAME: Final = "item"
_MOST_EDITS: Final = 100_000


@dataclass(frozen=True, slots=True)
class FilledEdit:
    """One edit as a batch takes it, and its path in the manifest.

    With `only_if_changed` the edit applies only where another edit changes the file; `at` names its section.
    """

    edit: Mapping[str, Any]
    path: Path
    only_if_changed: bool = False
    at: str | None = None


@dataclass(frozen=True, slots=True)
class ManifestProblem:
    """A problem and its path in the manifest."""

    problem: Diagnostic
    path: Path


def expand_edits(
    edits: Sequence[Any], values: Values, path: Path
) -> list[FilledEdit] | list[ManifestProblem]:
    """The edits at `path` of a manifest, filled in from `values`; or all of their problems."""
    found: list[FilledEdit] = []
    problems: list[ManifestProblem] = []
    for each in _edits(edits, values, path):
        if isinstance(each, ManifestProblem):
            problems.append(each)
        else:
            found.append(each)
        if len(found) > _MOST_EDITS:
            return [_too_many(path)]
    return problems or found


def filled_in(value: Any, values: Values, path: Path) -> Any | ManifestProblem:  # noqa: ANN401 (any JSON)
    """`value`, decoded JSON at `path`, with placeholders filled in and texts of loops made."""
    match value:
        case str():
            text = filled(value, values)
            return ManifestProblem(text, path) if isinstance(text, Diagnostic) else text
        case Mapping() if is_text_loop(value):
            return _looped_text(value, values, path)
        case Mapping():
            parts = {name: filled_in(part, values, (*path, name)) for name, part in value.items()}
            return next((part for part in parts.values() if isinstance(part, ManifestProblem)), parts)
        case list() | tuple():
            items = [filled_in(item, values, (*path, index)) for index, item in enumerate(value)]
            return next((item for item in items if isinstance(item, ManifestProblem)), items)
        case _:
            return value


def is_edit_loop(edit: object) -> bool:
    """Whether `edit` is a loop over edits."""
    return isinstance(edit, Mapping) and LOOP in edit and "edits" in edit


def is_text_loop(value: object) -> bool:
    """Whether `value` is a loop that makes a text."""
    return isinstance(value, Mapping) and LOOP in value and "text" in value


def _edits(edits: Sequence[Any], values: Values, path: Path) -> Iterator[FilledEdit | ManifestProblem]:
    for index, edit in enumerate(edits):
        here = (*path, index)
        if is_edit_loop(edit):
            yield from _looped_edits(edit, values, here)
            continue
        given = {name: value for name, value in edit.items() if name not in ABOUT_EDITS}
        made = filled_in(given, values, here)
        if isinstance(made, ManifestProblem):
            yield made
        else:
            yield FilledEdit(with_texts(made, given), here, edit.get(ONLY_IF_CHANGED) is True, edit.get(AT))


def _looped_edits(
    loop: Mapping[str, Any], values: Values, path: Path
) -> Iterator[FilledEdit | ManifestProblem]:
    entries = _entries(loop, values, path)
    if isinstance(entries, ManifestProblem):
        yield entries
        return
    for inner in entries:
        yield from _edits(loop["edits"], inner, (*path, "edits"))


def _looped_text(loop: Mapping[str, Any], values: Values, path: Path) -> str | ManifestProblem:
    entries = _entries(loop, values, path)
    if isinstance(entries, ManifestProblem):
        return entries
    texts = [filled_in(loop["text"], inner, (*path, "text")) for inner in entries]
    texts += [filled_in(loop.get(name, ""), values, (*path, name)) for name in ("before", "between", "after")]
    texts = [text_of(text) if isinstance(text, bool | int | float) else text for text in texts]
    for text in texts:
        if not isinstance(text, str):
            problem = misuse(
                "a loop makes a text of a value that is not text", "write more than the placeholder"
            )
            return text if isinstance(text, ManifestProblem) else ManifestProblem(problem, path)
    *entered, before, between, after = map(str, texts)
    return before + between.join(entered) + after if entered else ""


def _entries(loop: Mapping[str, Any], values: Values, path: Path) -> list[Values] | ManifestProblem:
    """The values for each iteration of `loop`."""
    found = values.find(VariableName(str(loop[LOOP])))
    if isinstance(found, Diagnostic):
        return ManifestProblem(found, (*path, LOOP))
    if not isinstance(found, list):
        problem = misuse(f"`{loop[LOOP]}` is not a list", "a loop takes the entries of a list")
        return ManifestProblem(problem, (*path, LOOP))
    name = str(loop.get("as", DEFAULT_NAME))
    return [values.having(**{name: entry}) for entry in found]


def _too_many(path: Path) -> ManifestProblem:
    return ManifestProblem(
        misuse(f"there are more than {_MOST_EDITS} edits", "make a manifest of a part"), path
    )
