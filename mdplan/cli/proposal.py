"""Edits made by one command: the diff is shown, a person agrees, and exactly that plan is applied."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import click

from mdplan.cli import plan_output
from mdplan.cli.field_types import edit_text, heading_path
from mdplan.cli.options import all_options, approval_option, flag, intent_options
from mdplan.cli.report_text import file_list, plan_size
from mdplan.cli.session import Session
from mdplan.cli.suggestions import Misuse
from mdplan.cli.terminal import ask, ask_key
from mdplan.diagnostics import Code, Diagnostic, Exit, Problems
from mdplan.reports.plan import PlanReport, as_apply_report
from mdplan.storage.names import relative
from mdplan.text.visible import counted
from mdplan.values import Struct, field, replace
from mdplan.words import snake_case

if TYPE_CHECKING:
    from mdplan.cli.edit_options import CommandWords
    from mdplan.engine.engine import Engine
    from mdplan.planning.replay import PlanResult


_KEYS: Final = {
    "y": "apply this change",
    "n": "change nothing",
    "p": "ask for each place, and apply what you choose",
    "e": "edit the request in your editor, then show the new diff",
    "?": "this help",
    "q": "",
}

Check = Callable[[PlanReport], Diagnostic | None]
Words: TypeAlias = Callable[[], "CommandWords"]


class ApplyOptions(Struct, kw_only=True):
    """How a command ends: `yes` applies without a question, `dry_run` never applies.

    With `no_follow` links stay as they are. `plan_title` and `plan_description` say what the change is for.
    """

    yes: bool
    dry_run: bool
    no_follow: bool
    picks: bool = False
    require_approval: bool
    plan_title: str | None
    plan_description: str | None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "ApplyOptions":
        """Return the choice among the values `given` for the options of a command."""
        return cls(**{name: given[name] for name in cls.__struct_fields__ if name in given})


# The options that are the fields of `ApplyOptions`.
answer_options: Final = all_options(
    flag("--yes -y", "Apply without asking."), flag("--dry-run -n", "Show the diff; change nothing.")
)
choice_options: Final = all_options(
    answer_options,
    flag("--no-follow", "Leave links to what is renamed or moved as they are."),
    approval_option,
    intent_options("plan_"),
)


def batch_of(session: Session, edits: Mapping[str, Sequence[object]]) -> dict[str, Any]:
    """Return a batch with the `edits` of each file."""
    return {"files": [{"file": session.named(file), "edits": list(each)} for file, each in edits.items()]}


def propose_short(
    session: Session,
    edits: Mapping[str, Sequence[Mapping[str, Any]]],
    given: Mapping[str, Any],
    section: str | None = None,
    check: Check | None = None,
) -> Exit:
    """Propose the `edits` of each file, all of one operation, as the options `given` say."""
    words = partial(shortcut_words, next(iter(edits.values()))[0]["op"], section)
    return propose(session, batch_of(session, edits), ApplyOptions.of(given), words, check, section)


def propose(
    session: Session,
    batch: dict[str, Any],
    choice: ApplyOptions,
    words: Words | None,
    check: Check | None = None,
    section: str | None = None,
) -> Exit:
    """Plan `batch`, show its diff, ask, and apply it. `check` can refuse the plan.

    A plan that the user previews, declines or edits into another one is not stored.

    `words` maps fields of the batch to names of the command for problems; problems of an edited batch use
    field names. A `section` that was read as a path can also be one heading, such as ``Input / Output``.

    Links in all files follow moved targets. Without a terminal and `--yes` the plan is stored but not
    applied, with exit code 1.
    """
    engine = session.open_engine(require_approval=choice.require_approval)
    intent = {"title": choice.plan_title, "description": choice.plan_description}
    batch |= {name: text for name, text in intent.items() if text}
    batch |= {} if choice.no_follow else {"updateReferences": "workspace"}
    while True:
        draft = _drafted(session, engine, batch, words, section)
        report = draft.report
        problem = check(report) if check is not None and report.ok else None
        if problem is not None or not report.ok:
            return session.finish(report) if problem is None else session.refuse(problem)
        match _decision(session, draft, choice):
            case "dry":
                return _end_dry_run(session, report)
            case ("yes" | "y") as key:
                # The question has shown the warnings.
                warnings = report.warnings if key == "yes" else ()
                return _apply(session, engine, _stored(engine, draft), warnings)
            case "nobody":
                saved = _stored(engine, draft).report
                plan_output.print_nobody_to_ask(session)
                session.finish(as_apply_report(saved))
                plan_output.print_summary(session, saved)
                return Exit.WOULD_CHANGE
            case "p" if batch := _picked(session, draft, batch):
                check, choice = None, replace(choice, picks=False, yes=not choice.dry_run)
            case "e":
                batch, words = _edited(session, batch), None
            case _:
                session.console.note("Nothing changed.")
                return Exit.WOULD_CHANGE


def _drafted(
    session: Session, engine: "Engine", batch: dict[str, Any], words: Words | None, section: str | None
) -> "PlanResult":
    """Return the plan of `batch`; of several files, those without the section are left out."""
    while True:
        with session.console.progress("planning") as show:
            # A file is read, and then planned.
            draft = engine.draft(batch, lambda done, total: show(done // 2, (total or 0) // 2), stores=False)
        if not draft.report.ok and section is not None and len(heading_path(section)) > 1:
            by_heading = engine.draft(_with_heading(batch, section), stores=False)
            draft = by_heading if by_heading.report.ok else draft
        draft = replace(draft, report=_in_own_words(session, draft.report, batch, words))
        missing = _files_without(draft.report, batch)
        if not missing:
            return draft
        batch["files"] = [entry for entry in batch["files"] if entry["file"] not in missing]
        session.console.note(f"{counted(len(missing), 'file')} left alone, without the section.")


def _decision(session: Session, draft: "PlanResult", choice: ApplyOptions) -> str:
    """Return how to proceed after the diff, from `choice` or the key pressed."""
    if choice.picks and not draft.report.no_op:
        return "p"
    plan_output.write_diff(session, draft.diff)
    _print_skipped(session, draft.report)
    if draft.report.no_op or choice.dry_run:
        return "dry"
    if choice.yes:
        return "yes"
    return _answer(session, draft.report) if session.console.can_ask else "nobody"


def _files_without(report: PlanReport, batch: dict[str, Any]) -> set[str]:
    """Return the files of `batch` that lack a section found in others."""
    missing = {problem.edit_index for problem in report.diagnostics if problem.code is Code.SECTION_NOT_FOUND}
    owners = [entry["file"] for entry in batch["files"] for _ in entry["edits"]]
    files = {owners[index] for index in missing if index is not None and index < len(owners)}
    return files if len(missing) == len(report.diagnostics) and len(files) < len(batch["files"]) else set()


def _print_skipped(session: Session, report: PlanReport) -> None:
    """Print how many matches the plan skips, by context: code, links and so on."""
    parts = [
        f"{number} in {'HTML' if kind == 'html' else snake_case(kind).replace('_', ' ')}"
        for kind, number in (report.excluded_matches or {}).items()
        if number
    ]
    if parts:
        session.console.note(f"Skipped matches: {', '.join(parts)}.")


def _stored(engine: "Engine", draft: "PlanResult") -> "PlanResult":
    """Return `draft` with its plan stored, or unchanged if it cannot be stored."""
    assert draft.planned is not None
    stored = engine.library.save(draft.planned, draft.document)
    return replace(draft, report=replace(draft.report, stored=stored))


def _with_heading(batch: dict[str, Any], section: str) -> dict[str, Any]:
    """Return `batch` with `section`, so far read as a path, as one heading."""

    def edit(of: dict[str, Any]) -> dict[str, Any]:
        return {**{name: value for name, value in of.items() if name != "headingPath"}, "heading": section}

    return {
        **batch,
        "files": [{**entry, "edits": list(map(edit, entry["edits"]))} for entry in batch["files"]],
    }


def _in_own_words(
    session: Session, report: PlanReport, batch: Mapping[str, Any], words: Words | None
) -> PlanReport:
    """Return `report` on `batch`, whose problems and warnings are in the `words` of the command."""
    if words is None or not (report.diagnostics or report.warnings):
        return report
    # Loaded only for problems, like the words.
    from mdplan.cli.edit_options import edit_command

    command_words = words()
    command_words.roots = session.roots
    edits = [(entry["file"], edit) for entry in batch["files"] for edit in entry["edits"]]

    def in_own_words(problem: Diagnostic) -> Diagnostic:
        file, edit = edits[problem.edit_index or 0]
        named = relative(file, session.folder()) if os.path.isabs(file) else file  # noqa: PTH117

        def command(name: str, value: object) -> str:
            return session.on_roots(edit_command(command_words.edit_options, named, {**edit, name: value}))

        command_words.whole = command
        told: Diagnostic = command_words.tell(problem)
        return told

    problems, warnings = (tuple(map(in_own_words, each)) for each in (report.diagnostics, report.warnings))
    error = problems[0] if report.error is not None and problems else report.error
    return replace(report, error=error, diagnostics=problems, warnings=warnings)


def _end_dry_run(session: Session, report: PlanReport) -> Exit:
    """End without a commit and without a trace."""
    session.finish(as_apply_report(report))
    plan_output.print_warnings(session, report)
    if report.no_op:
        session.console.note("Nothing to change: the files already have this content.")
    else:
        plan_output.print_files(session, report)
        session.console.note(f"{plan_size(report)}. Nothing changed: --dry-run.")
    return Exit.DONE


def _apply(session: Session, engine: "Engine", draft: "PlanResult", warnings: Problems) -> Exit:
    """Apply the plan and print its result with its `warnings` and those of the commit."""
    from mdplan.engine.plans import PlanDocument, PlanRef

    planned = draft.report
    # A plan that could not be stored is applied from its document.
    request = (
        PlanRef(plan_id=planned.plan_id)
        if planned.stored and planned.plan_id is not None
        else PlanDocument(body=json.loads(draft.document))
    )
    report = engine.apply(request)
    plan_output.print_recovered(session, report.recovered)
    code = session.finish(report)
    if report.ok:
        # Those of the plan are in the words of the command by now.
        told = {(warning.code, warning.file, warning.place) for warning in planned.warnings}
        of_commit = (each for each in report.warnings if (each.code, each.file, each.place) not in told)
        plan_output.print_applied(session, replace(report, warnings=(*warnings, *of_commit)))
    return code


def _answer(session: Session, report: PlanReport) -> str:
    """Return the key of a person; at the end of the input, no."""
    plan_output.print_warnings(session, report)
    listed = file_list(report.files, session.console.err)
    if listed:
        session.console.problem(listed)
    question = f"{plan_size(report)}. Apply this change? [y/n/p/e/?] "
    return ask_key(question, _KEYS, ask, lambda text: session.console.problem(text.rstrip("\n"))) or "n"


def _picked(session: Session, draft: "PlanResult", batch: dict[str, Any]) -> dict[str, Any]:
    """Return `batch` with the places that the user chooses; empty without any. Raises a usage error."""
    from mdplan.cli.places import chosen_places, entries_of, places_of

    if not session.console.can_ask:
        raise Misuse("there is no terminal to ask on", "leave out `--patch`, and name a section with `--in`")
    assert draft.planned is not None
    plan = draft.planned
    places = list(places_of(plan.files, plan.plan.results, session.console.err))
    entries = entries_of(batch["files"], chosen_places(places, session.console.problem))
    return {**batch, "files": entries} if entries else {}


def _short(session: Session, batch: Mapping[str, Any]) -> dict[str, Any]:
    """Return `batch` in a form to edit by hand: names as typed, equal edits of several files once."""
    entries = [{**each, "file": relative(each["file"], session.folder())} for each in batch["files"]]
    others = {name: batch[name] for name in batch if name not in ("files", "updateReferences")}
    edits = entries[0]["edits"]
    if any(each["edits"] != edits for each in entries):
        return {**others, "files": entries}
    return {**others, "files": [each["file"] for each in entries], "edits": edits}


def _with_names(session: Session, written: Any) -> dict[str, Any]:  # noqa: ANN401 (any YAML)
    """Return the batch `written` in the short form, with file names for the engine."""
    try:
        others = {name: written[name] for name in written if name not in ("edits", "files")}
        entries = [
            each if isinstance(each, dict) else {"file": each, "edits": written["edits"]}
            for each in written["files"]
        ]
        return {**others, "files": [{**each, "file": session.named(each["file"])} for each in entries]}
    except (TypeError, KeyError, AttributeError):
        raise click.UsageError("the edited request is not a batch: it needs `files` and `edits`.") from None


def _edited(session: Session, batch: dict[str, Any]) -> dict[str, Any]:
    """Return `batch` after the user edits it as YAML. Raises a usage error if the result is not a batch."""
    import yaml

    class Dumper(yaml.SafeDumper):
        """Writes as people do: no anchors, and text of several lines as a block."""

        def ignore_aliases(self, data: object) -> bool:
            del data
            return True

    Dumper.add_representer(
        str,
        lambda dumper, text: dumper.represent_scalar(
            "tag:yaml.org,2002:str", text, style="|" if "\n" in text else None
        ),
    )
    text = yaml.dump(_short(session, batch), Dumper=Dumper, sort_keys=False, allow_unicode=True, width=100)
    edited = edit_text(text, ".yaml")
    if edited is None:
        return batch
    try:
        written = yaml.safe_load(edited)
    except yaml.YAMLError as error:
        raise click.UsageError(f"the edited request is not YAML: {error}") from None
    followed = {name: batch[name] for name in ("updateReferences",) if name in batch}
    return {**_with_names(session, written), **followed}


def check_count(expected: int | None, search: str) -> Check:
    """Return a check that a plan replaces `expected` matches in total; None means at least one.

    `search` is the command that shows the matches.
    """

    def check(report: PlanReport) -> Diagnostic | None:
        count = report.matches_replaced or 0
        if count == expected or (expected is None and count):
            return None
        return Code.MATCH_COUNT_MISMATCH.problem(
            "no file contains the text"
            if expected is None
            else f"the text has {counted(count, 'match', 'matches')}, and --count expects {expected}",
            f"`{search}` shows every place, also those in code and HTML",
        )

    return check


# --- Names that the short commands have for the fields of their operations

# What `mdplan replace --code` looks into.
CODE_KINDS: Final = ("codeBlocks", "inlineCode", "linkDestinations", "images", "frontMatter", "html")


class _Shortcut(Struct):
    """Names of fields, `target` for the section, and `flags` that stand for one value of a field."""

    names: Mapping[str, str]
    target: str | None = None
    flags: Mapping[str, Callable[[Any], str | None]] = field(default_factory=dict)


_SHORTCUTS: Final[Mapping[str, _Shortcut]] = {
    "set_value": _Shortcut({"key": "KEY", "values": "VALUE", "value": "VALUE", "section": "KEY"}),
    "replace_match": _Shortcut(
        {"pattern": "OLD", "replacement": "NEW", "include": "--code"},
        "--in",
        {
            "include": lambda kinds: "--code" if set(kinds) <= set(CODE_KINDS) else None,
            "caseSensitive": lambda is_sensitive: None if is_sensitive else "--ignore-case",
            "matchType": lambda kind: "--regex" if kind == "regex" else None,
            "expectedMatchCount": lambda count: f"--count {count}",
        },
    ),
    "append_to_section": _Shortcut({"markdown": "TEXT"}, "HEADING"),
    "set_task": _Shortcut({"item": "ITEM"}, "--in"),
    "rename_heading": _Shortcut({"newTitle": "TITLE"}, "HEADING"),
    "rename_file": _Shortcut({"newFile": "NEW"}),
    "move_section": _Shortcut({"toFile": "--to"}, "HEADING"),
    "delete_section": _Shortcut({}, "HEADING"),
    "delete_file": _Shortcut({}),
    "save_file": _Shortcut(
        {"markdown": "EDITED", "serialized": "--serialized"},
        None,
        {"include": lambda kinds: "--accept-losses" if "losses" in kinds else "--keep-style-changes"},
    ),
}


def shortcut_words(op: str, section: str | None = None) -> "CommandWords":
    """Return the words of the short command for `op`, in which the user named `section`."""
    # Loaded only for problems.
    from mdplan.cli.edit_options import CommandWords, EditOptions

    shortcut = _SHORTCUTS[op]
    targets = dict.fromkeys(("heading", "headingPath", "sectionId"), shortcut.target or "")
    names = {**(targets if shortcut.target else {}), **shortcut.names}
    return CommandWords(EditOptions.of(op), names, shortcut.flags, section=section)
