"""From the text of a manifest to its model and its values, or to all that is wrong, by line and column."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from pydantic import ValidationError
from pydantic.alias_generators import to_camel

from mdplan.bot.manifest.edit_checks import EditChecks, has_unconditional, repeating_edits
from mdplan.bot.manifest.expansion import LOOP, ManifestProblem
from mdplan.bot.manifest.model import Condition, Manifest, Rule
from mdplan.bot.manifest.placeholders import Values, filled, misuse, templates_in
from mdplan.bot.manifest.source_map import Path, SourceMap
from mdplan.diagnostics import Diagnostic, Problems
from mdplan.plan import MOST_DESCRIPTION, MOST_TITLE, Intent
from mdplan.requests.batch import value_problem

_NO_TEXT: Final = misuse("a text is needed here", "write more than the placeholder")
_HINT: Final = "see `mdplan schema manifest` for what is allowed"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedManifest:
    """A manifest that was checked: its `name` in messages, and `values` that are the same for all files.

    `intent` is its title and description, with these values.
    """

    name: str
    manifest: Manifest
    located: SourceMap
    values: Values
    intent: Intent

    def uses(self, rule: Rule, name: str) -> bool:
        """Whether `rule`, or a variable that is filled in for each file, may use the value `name`."""
        used = re.compile(rf"(?:\{{\{{[ \t]*|'{LOOP}': ['\"]){name}\b")
        return any(map(used.search, (str(rule), *templates_in(self.values.known))))

    def problem(self, misplaced: ManifestProblem) -> Diagnostic:
        """INVALID_ARGUMENT at its place in the manifest."""
        return _placed(self.name, self.located, misplaced)


def read_manifest(name: str, located: SourceMap) -> Manifest | Problems:
    """The manifest in `located`, called `name` in messages. Errors: INVALID_ARGUMENT, UNKNOWN_FIELD."""
    if not isinstance(located.data, dict):
        problem = misuse(
            "the manifest is not a map", "write `files:` and below it what should be true of them"
        )
        return (_placed(name, located, ManifestProblem(problem, ())),)
    try:
        return Manifest.model_validate(located.data)
    except ValidationError as error:
        found = error.errors(include_url=False)
        # An entry that was refused leaves its list short; that the list is then empty is no news.
        inside = {each["loc"][:length] for each in found for length in range(len(each["loc"]))}
        return tuple(
            _of_value(each, name, located)
            for each in found
            if each["type"] != "too_short" or each["loc"] not in inside
        )


def _of_value(error: Mapping[str, Any], name: str, located: SourceMap) -> Diagnostic:
    problem = value_problem(error, Manifest, "", _HINT)
    message = problem.message.replace("`` ", "the manifest ")
    return replace(problem, message=message, file=name, place=located.place(error["loc"]))


def checked(name: str, manifest: Manifest, located: SourceMap, values: Values) -> LoadedManifest | Problems:
    """`manifest` with its `values`; or what is wrong with its edits, conditions and placeholders."""
    problems = [_placed(name, located, found) for found in _all_checks(manifest, located, EditChecks(values))]
    if problems:
        return tuple(problems)
    intent = _intent(manifest, values)
    if not isinstance(intent, Intent):
        return (_placed(name, located, intent),)
    return LoadedManifest(name=name, manifest=manifest, located=located, values=values, intent=intent)


def _intent(manifest: Manifest, values: Values) -> Intent | ManifestProblem:
    texts: dict[str, str] = {}
    for text_field in ("title", "description"):
        found = filled(getattr(manifest, text_field) or "", values)
        if not isinstance(found, str):
            return ManifestProblem(found if isinstance(found, Diagnostic) else _NO_TEXT, (text_field,))
        texts[text_field] = found
    intent = Intent.of(**texts)
    if intent.is_short:
        return intent
    is_title = len(intent.title) > MOST_TITLE
    most = MOST_TITLE if is_title else MOST_DESCRIPTION
    return ManifestProblem(
        misuse(f"it has more than {most:,} characters", "say it shorter"),
        ("title" if is_title else "description",),
    )


def _all_checks(manifest: Manifest, located: SourceMap, checks: EditChecks) -> Iterator[ManifestProblem]:
    before = replace(checks, of_files=frozenset())
    for text_field in ("title", "description"):
        yield from before.texts(getattr(manifest, text_field), (text_field,), frozenset())
    for number, rule in enumerate(manifest.files):
        path: Path = ("files", number)
        for name in ("file", "glob", "exclude", "changed_since"):
            # Files are found before anything is known of them.
            yield from before.texts(getattr(rule, name), (*path, to_camel(name)), frozenset())
        if rule.when is None:
            yield from repeating_edits(rule.edits, (*path, "edits"))
        else:
            yield from _condition_checks(
                located.data["files"][number]["when"], rule.when, (*path, "when"), checks
            )
        yield from checks.edits(rule.edits, (*path, "edits"), frozenset())
    if not any(has_unconditional(rule.edits) for rule in manifest.files):
        reason = "every edit has `onlyIfChanged`, so that none can be the first to change a file"
        yield ManifestProblem(misuse(reason, "leave it off the edit that the others follow"), ("files",))


def _condition_checks(
    data: Mapping[str, Any], condition: Condition, path: Path, checks: EditChecks
) -> Iterator[ManifestProblem]:
    yield from checks.texts(
        {name: value for name, value in data.items() if name != "comment"}, path, frozenset()
    )
    if not condition.model_fields_set - {"comment"}:
        yield ManifestProblem(
            misuse("the condition is empty", "name what must be true, or remove `when`"), path
        )


def _placed(name: str, located: SourceMap, misplaced: ManifestProblem) -> Diagnostic:
    return replace(misplaced.problem, file=name, place=located.place(misplaced.path))
