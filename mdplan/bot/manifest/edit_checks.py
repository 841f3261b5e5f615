"""Checks of the edits of a manifest that need no file."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from mdplan.bot.manifest.expansion import (
    ABOUT_EDITS,
    AT,
    DEFAULT_NAME,
    EDIT_LOOP,
    LOOP,
    ONLY_IF_CHANGED,
    TEXT_LOOP,
    ManifestProblem,
    is_edit_loop,
    is_text_loop,
)
from mdplan.bot.manifest.placeholders import (
    OF_FILES,
    Template,
    Values,
    VariableName,
    has_placeholder,
    misuse,
    placeholders_in,
)
from mdplan.bot.manifest.places import PagePlace
from mdplan.bot.manifest.source_map import Path
from mdplan.diagnostics import Code, Diagnostic
from mdplan.operations import OPERATIONS
from mdplan.requests.batch import read_batch
from mdplan.requests.spellings import op_of

_ANY_FILE: Final = "a.md"


@dataclass(frozen=True, slots=True)
class EditChecks:
    """Checks of texts that get `values`: those that are known before files are.

    Of names that begin with one of `of_files` nothing is known before.
    """

    values: Values
    of_files: frozenset[str] = OF_FILES

    def edits(self, edits: Sequence[Any], path: Path, inside: frozenset[str]) -> Iterator[ManifestProblem]:
        """What is wrong with `edits` at `path`; `inside` are the names of the loops around them."""
        for index, edit in enumerate(edits):
            here = (*path, index)
            if not isinstance(edit, Mapping):
                yield _misplaced("the edit is not a map", 'write {"op": …}', here)
            elif is_edit_loop(edit):
                yield from self._loop(edit, EDIT_LOOP, here, inside)
                inner = inside | {str(edit.get("as", DEFAULT_NAME))}
                yield from self.edits(_list(edit["edits"]), (*here, "edits"), inner)
            else:
                yield from self._edit(edit, here, inside)

    def texts(self, value: Any, path: Path, inside: frozenset[str]) -> Iterator[ManifestProblem]:  # noqa: ANN401
        """What is wrong with the placeholders in `value`, decoded JSON."""
        match value:
            case str():
                yield from self._placeholders(value, path, inside)
            case Mapping():
                if is_text_loop(value):
                    yield from self._loop(value, TEXT_LOOP, path, inside)
                    inside = inside | {str(value.get("as", DEFAULT_NAME))}
                for name, part in value.items():
                    if name != LOOP:
                        yield from self.texts(part, (*path, name), inside)
            case list() | tuple():
                for index, item in enumerate(value):
                    yield from self.texts(item, (*path, index), inside)
            case _:
                pass

    def _edit(self, edit: Mapping[str, Any], path: Path, inside: frozenset[str]) -> Iterator[ManifestProblem]:
        if not isinstance(edit.get(ONLY_IF_CHANGED, False), bool):
            yield _misplaced("onlyIfChanged is not true or false", "write `onlyIfChanged: true`", path)
        if AT in edit and edit[AT] not in set(PagePlace):
            yield _misplaced(f"`at` is not one of: {', '.join(PagePlace)}", "write `at: first H1`", path)
        given = {name: value for name, value in edit.items() if name not in ABOUT_EDITS}
        if AT in edit:
            # Any address: which one it is, each file decides.
            given = {**given, "headingPath": []}
        misplaced = list(self.texts(given, path, inside))
        yield from misplaced
        # What the request reader says of a field that is not filled in yet means nothing; of names it is
        # right.
        checked = given if not _is_to_fill(given) else _plain_fields(given)
        batch = read_batch({"file": _ANY_FILE, "edits": [checked]})
        for problem in batch if isinstance(batch, tuple) else ():
            if checked is given or problem.code is Code.UNKNOWN_FIELD or op_of(edit) is None:
                yield ManifestProblem(replace(problem, edit_index=None), path)

    def _loop(
        self, loop: Mapping[str, Any], known: frozenset[str], path: Path, inside: frozenset[str]
    ) -> Iterator[ManifestProblem]:
        for name in loop:
            if name not in known:
                yield _misplaced(
                    f"a loop has no field `{name[:60]}`", f"it has {', '.join(sorted(known))}", (*path, name)
                )
        if not isinstance(loop[LOOP], str):
            yield _misplaced(
                "forEach is not a name", "name a list, as in a placeholder: data.rows", (*path, LOOP)
            )
        elif problem := self._misuse(VariableName(loop[LOOP]), inside):
            yield ManifestProblem(problem, (*path, LOOP))
        if not isinstance(loop.get("as", ""), str):
            yield _misplaced("as is not a name", "name the entry: as: row", (*path, "as"))
        if "edits" in loop and not isinstance(loop["edits"], list):
            yield _misplaced("edits is not a list", "write the edits of the loop as a list", (*path, "edits"))

    def _placeholders(self, text: str, path: Path, inside: frozenset[str]) -> Iterator[ManifestProblem]:
        found = placeholders_in(text)
        if isinstance(found, Diagnostic):
            yield ManifestProblem(found, path)
            return
        for each in found:
            if not each.has_default and (problem := self._misuse(each.name, inside)):
                yield ManifestProblem(problem, path)

    def _misuse(self, name: VariableName, inside: frozenset[str]) -> Diagnostic | None:
        """Why nothing has `name`; what loops and files give is not known yet."""
        if name.parts[0] in inside or name.parts[0] in self.of_files:
            return None
        known = self.values.having(**dict.fromkeys(inside | self.of_files))
        found = known.written(name)
        if isinstance(found, Template):
            return self._misuse_in(found)
        return found if isinstance(found, Diagnostic) else None

    def _misuse_in(self, template: Template) -> Diagnostic | None:
        """What is wrong with the placeholders of a variable; one variable cannot use another."""
        found = placeholders_in(template)
        if isinstance(found, Diagnostic):
            return found
        for each in found:
            if each.name.parts[0] == "vars":
                reason = f"a variable uses `{each.name.text}`, and variables cannot use each other"
                return misuse(reason, "write both where they are used, or the text of one into the other")
            if not each.has_default and (problem := self._misuse(each.name, frozenset())):
                return problem
        return None


def repeating_edits(edits: Sequence[Any], path: Path) -> Iterator[ManifestProblem]:
    """Edits of a rule without a condition that would change their files in every run of the manifest."""
    for index, edit in enumerate(edits):
        if is_edit_loop(edit):
            yield from repeating_edits(_list(edit["edits"]), (*path, index, "edits"))
            continue
        op = op_of(edit) if isinstance(edit, Mapping) else None
        if isinstance(op, str) and op in OPERATIONS and OPERATIONS[op].repeats and not _is_conditional(edit):
            condition = OPERATIONS[op].once_condition
            yield _misplaced(
                f"`{op}` would change the file again in every run",
                f"add a condition to the rule: `when: {{not: {{{condition}}}}}`",
                (*path, index),
            )


def has_unconditional(edits: Sequence[Any]) -> bool:
    """Whether one of `edits` applies without another that changes the file."""
    return any(
        has_unconditional(_list(edit["edits"])) if is_edit_loop(edit) else not _is_conditional(edit)
        for edit in edits
    )


def _is_conditional(edit: object) -> bool:
    return isinstance(edit, Mapping) and edit.get(ONLY_IF_CHANGED) is True


def _is_to_fill(value: object) -> bool:
    return has_placeholder(value) or _has_text_loop(value)


def _has_text_loop(value: object) -> bool:
    match value:
        case Mapping():
            return is_text_loop(value) or any(map(_has_text_loop, value.values()))
        case list() | tuple():
            return any(map(_has_text_loop, value))
        case _:
            return False


def _plain_fields(edit: Mapping[str, Any]) -> dict[str, Any]:
    """The names of `edit`, with the values that can be checked; of all others a text."""
    return {name: "" if _is_to_fill(value) else value for name, value in edit.items()}


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _misplaced(reason: str, hint: str, path: Path) -> ManifestProblem:
    return ManifestProblem(misuse(reason, hint), path)
