"""`mdplan bot`: a manifest of edits to many files, planned, checked or applied as one plan."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from mdplan.cli import plan_output
from mdplan.cli.options import all_options, approval_option, flag, option, stale_options
from mdplan.cli.report_text import file_list, plan_size
from mdplan.cli.session import Session, engine_command, exit_of
from mdplan.cli.terminal import CHOICES, ask, has_terminal, shown, shown_paths
from mdplan.cli.usage import Group, group
from mdplan.diagnostics import Code, Diagnostic, Exit, Problems
from mdplan.text.visible import counted
from mdplan.values import replace
from mdplan.words import ShellWords

if TYPE_CHECKING:
    from mdplan.bot.bot import BotReport, Proposal, RunOptions
    from mdplan.bot.forge import GitHub
    from mdplan.bot.manifest import LoadedManifest
    from mdplan.bot.pulls import PullOptions, Split


_SHORT: Final = 12
_BRANCHES: Final = "refs/heads/"


def _pairs(context: click.Context, parameter: click.Parameter, given: Sequence[str]) -> dict[str, str]:
    """Return ``NAME=VALUE`` options as a mapping."""
    pairs = {}
    for text in given:
        name, _, value = text.partition("=")
        if not name or "=" not in text:
            raise click.BadParameter(f"`{text}` is not NAME=VALUE.", context, parameter)
        pairs[name] = value
    return pairs


# The manifest as argument, and the options of its values.
manifest_options: Final = all_options(
    click.argument("manifest", type=click.Path(readable=False)),
    option(
        "--var variables", "Value of {{vars.NAME}}; repeatable.", "NAME=VALUE", multiple=True, callback=_pairs
    ),
    option("--env environment", "Allow {{env.NAME}}; repeatable.", "NAME", multiple=True),
    option(
        "--data",
        "JSON, YAML, TOML, CSV or text file for {{data.NAME}}; repeatable.",
        "NAME=FILE",
        multiple=True,
        callback=_pairs,
    ),
)

whole_option: Final = flag("--all-or-nothing", "Change no file if one of them cannot be edited.")

progress_option: Final = option(
    "--progress",
    "Progress on standard error; auto is a bar at a terminal.",
    type=click.Choice(CHOICES),
    default="auto",
)

_options: Final = all_options(
    manifest_options,
    whole_option,
    option(
        "--jobs", "Number of worker processes.  [default: one per core]", "NUMBER", type=click.IntRange(min=1)
    ),
    option("--executor", "Plan on a Dask cluster that sees the same files.", "dask://HOST:PORT"),
    option("--git ref", "Work on this branch, tag or commit instead of the work tree.", "REF"),
    progress_option,
)

_sarif_option: Final = option(
    "--sarif",
    "Write problems, and changes as fixes, to FILE for code scanning.",
    "FILE",
    type=click.Path(dir_okay=False, path_type=Path),
)


@group("bot", "init|explain|plan|check|apply|pr|merge MANIFEST|BRANCH [OPTIONS]", Group)
def bot() -> None:
    """A manifest is a YAML or JSON file that lists files, conditions and edits.

    `mdplan help manifest` shows one. The bot skips files that already match, so you can apply a manifest
    again and again.
    """


# Options of more than one command.
base_option: Final = option("--base", "Base branch of the pull request.", "BRANCH", default="main")

remote_option: Final = option("--remote", "Remote of the branches.", "NAME", default="origin")

author_option: Final = option("--author", "Author of the commit; else who git says.", "'NAME <ADDRESS>'")

forge_option: Final = option(
    "--forge", "none: push branches alone.", type=click.Choice(["github", "none"]), default="github"
)


@engine_command("bot plan", group=bot)
@_options
@plan_output.output_option
@_sarif_option
def plan(session: Session, *, output: Path | None, sarif: Path | None, **given: Any) -> Exit:  # noqa: ANN401 (click's)
    """The diff goes to standard output in the format of `git apply`.

    Everything else goes to standard error.
    """
    options = run_options(session, given)
    with _proposed(session, given, options, sarif, keeps=True) as proposal:
        output = output if proposal.plan is not None else None
        problems: Problems = ()
        if output is not None:
            problems = plan_output.write_file("the plan", proposal.document(), output, "--output")
        problems = problems or _write_proposal_sarif(proposal, given["manifest"], sarif)
        code = problems[0].code.exit if problems else exit_of(proposal.report)
        options.on_event("ended", {"exit": int(code)})
        if problems:
            return session.refuse(*problems)
        if session.console.diff_is_for_people:
            plan_output.write_diff(session, b"".join(proposal.diff()))
        else:
            for part in proposal.diff():
                session.console.data(part)
        session.finish(proposal.report)
        if proposal.report.ok or proposal.report.partial:
            if given["ref"] is None:
                plan_output.print_summary(session, proposal.report, output)
            else:
                _print_planned_on_commit(session, proposal.report, given["manifest"], given["ref"], output)
            _print_counts(session, proposal.report)
        return code


@engine_command("bot check", group=bot)
@_options
@_sarif_option
def check(session: Session, *, sarif: Path | None, **given: Any) -> Exit:  # noqa: ANN401 (click's)
    """Changes no file and saves no plan."""
    options = run_options(session, given)
    with _proposed(session, given, options, sarif, keeps=False) as proposal:
        report = proposal.report
        problems = _write_proposal_sarif(proposal, given["manifest"], sarif)
        would_change = report.ok and not report.no_op
        code = problems[0].code.exit if problems else Exit.WOULD_CHANGE if would_change else exit_of(report)
        options.on_event("ended", {"exit": int(code)})
        if problems:
            return session.refuse(*problems)
        session.finish(report)
        if report.ok or report.partial:
            _print_checked(session, report)
        return code


@engine_command("bot init", group=bot)
@click.argument("manifest", default="manifest.yaml", type=click.Path(dir_okay=False, path_type=Path))
@option("--chore", "What the bot does; without it you are asked.", "NAME")
@option("--answer answers", "An answer; repeatable.", "NAME=VALUE", multiple=True, callback=_pairs)
def init(session: Session, *, manifest: Path, chore: str | None, answers: dict[str, str]) -> Exit:
    """It asks at a terminal, and takes the default of what --answer does not give elsewhere.

    It never replaces a file.
    """
    from mdplan.bot.chores import chores

    known, asks = chores(), has_terminal()
    listed = "\n".join(f"  {name:8} {each.about}" for name, each in known.items())
    if chore is None and asks:
        session.console.note(f"What should the bot do?\n{listed}")
        chore = (ask("Name of the chore: ") or "").strip()
    if chore is None or chore not in known:
        raise click.UsageError(f"Give --chore and one of:\n{listed}")
    questions = known[chore].answers
    if strange := sorted(answers.keys() - questions.keys()):
        raise click.UsageError(f"`{chore}` takes no answer `{strange[0]}`, only {', '.join(questions)}.")
    for name, (question, default) in questions.items():
        if name not in answers and asks:
            given = ask(f"{question}{f' [{default}]' if default else ''}: ")
            answers[name] = (given or "").strip() or default
        if not answers.setdefault(name, default):
            raise click.UsageError(f"`--answer {name}=VALUE` is missing: {question}.")
    try:
        with manifest.open("x", encoding="utf-8") as file:
            file.write(known[chore].written(answers))
    except OSError as error:
        message = f"`{manifest}` was not written: {error.strerror}"
        return session.refuse(Code.IO_ERROR.problem(message, "name another file"))
    session.console.note(f"Wrote {shown(str(manifest))}.")
    session.console.note(f"Next: {session.command_line('bot', 'plan', str(manifest))}")
    return Exit.DONE


_OUTCOMES: Final = {
    "skipped": "no edit is needed",
    "holds": "matches the manifest",
    "changes": "would change",
    "refused": "cannot be edited",
}
_FILES_SHOWN: Final = 3


@engine_command("bot explain", group=bot)
@manifest_options
@click.argument("file", required=False, type=click.Path(readable=False))
def explain(session: Session, *, file: str | None, **given: Any) -> Exit:  # noqa: ANN401 (click's)
    """For FILE it shows the failed condition of each rule, and what each placeholder becomes.

    It changes no file and saves no plan.
    """
    from mdplan.bot.explain import explain as explain_manifest

    loaded, engine = loaded_manifest(session, given), session.open_engine()
    if file is not None:
        located = engine.workspace.locate(session.named(file))
        if isinstance(located, Diagnostic):
            return session.refuse(located)
        file = str(located)
    report = explain_manifest(engine, loaded, file)
    code, lines = session.finish(report), list[str]()
    if session.console.as_json:
        return code
    if file is not None and report.outcome is not None:
        lines.append(f"{shown(file)}: {_OUTCOMES[report.outcome]}")
    for rule in report.rules:
        at = f"{shown(given['manifest'])}:{rule.line}"
        if file is None:
            names = shown_paths(rule.files, _FILES_SHOWN)
            lines.append(f"{at}: {counted(len(rule.files), 'file')}{': ' if names else ''}{names}")
            continue
        lines.append(f"{at}: {f'does not apply: {shown(rule.unmet)}' if rule.unmet else 'applies'}")
        for name, value in rule.values.items():
            lines.append(f"  {shown(name)} = {shown(_as_json(value))}")
        for edit in rule.edits:
            lines.append(f"  {shown(_as_json(edit))}")
    session.console.text("".join(f"{line}\n" for line in lines))
    return code


def _as_json(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


@engine_command("bot apply", group=bot)
@_options
@option("--branch", "With --git: the branch to commit to.  [default: REF]", "NAME")
@option("--message -m", "With --git: the commit message.", "TEXT")
@author_option
@flag(
    "--rebuild", "With --git and --branch: begin the branch again at REF; all its commits must be of the bot."
)
@stale_options(
    "With --git: plan again if the branch has moved.",
    "With --git: keep commits that others made on the branch, and merge with them.",
    default=None,
)
@approval_option
def apply(session: Session, **given: Any) -> Exit:  # noqa: ANN401 (click's)
    """With --git the result is a commit on a branch, made without a work tree.

    mdplan rejects a branch that is checked out in one.
    """
    wanted: dict[str, Any] = {name: given.pop(name) for name in ("branch", "message", "author", "on_stale")}
    wanted["rebuilds"] = given.pop("rebuild") or None
    names = {"rebuilds": "rebuild", "on_stale": wanted["on_stale"]}
    idle = [names.get(name, name) for name, value in wanted.items() if value is not None]
    if given["ref"] is None and idle:
        raise click.UsageError(f"`--{idle[0]}` needs `--git`.")
    loaded, options = loaded_manifest(session, given), run_options(session, given)
    report = _applied(session, loaded, options, given, wanted)
    code = exit_of(report)
    options.on_event("ended", {"exit": int(code)})
    plan_output.print_recovered(session, report.recovered)
    session.finish(report)
    if report.ok or report.partial:
        _print_done(session, report)
        if report.commit is not None:
            branch, commit = shown((report.branch or "").removeprefix(_BRANCHES)), report.commit[:_SHORT]
            moved = f"Commit {commit} on {branch}." if report.branch_moved else f"{branch} stays at {commit}."
            session.console.note(moved)
        _print_counts(session, report, "changed")
    return code


def _split_of(context: click.Context, parameter: click.Parameter, given: str | None) -> "Split | None":
    """Return the value of `--split`. Raises `BadParameter`."""
    if given is None:
        return None
    from mdplan.bot.pulls import Split

    split = Split.read(given)
    if isinstance(split, Split):
        return split
    raise click.BadParameter(f"{split.message}; {split.hint}.", context, parameter)


pull_request_options: Final = all_options(
    base_option,
    option("--branch", "Branch of the bot.  [default: mdplan/MANIFEST]", "NAME"),
    option(
        "--split",
        "A pull request for each part: codeowners, folder[:DEPTH], front-matter:KEY or files:NUMBER.",
        "BY",
        callback=_split_of,
    ),
    option("--title", "Title; else the description in the manifest.", "TEXT"),
    option("--label labels", "Label of it; repeatable.", "NAME", multiple=True),
    forge_option,
    option(
        "--commits",
        "forge: GitHub makes the commit and signs it.",
        type=click.Choice(["git", "forge"]),
        default="git",
    ),
    stale_options(merge="Keep commits that others made on the branch, and merge with them."),
)


@engine_command("bot pr", group=bot)
@_options
@pull_request_options
@remote_option
@author_option
@approval_option
def pr(session: Session, **given: Any) -> Exit:  # noqa: ANN401 (click's)
    """Each run rebuilds the bot's branch from the newest base and pushes it.

    It never overwrites other people's commits: it fails, or merges with --merge. GH_TOKEN is the token of
    GitHub.
    """
    if given["ref"] is not None:
        raise click.UsageError("`bot pr` reads the branch of `--base`; remove `--git`.")
    loaded, options = loaded_manifest(session, given), run_options(session, given)
    from mdplan.bot.pulls import run_pull_request, run_pull_requests

    wanted = replace(
        pull_options(given), remote=given["remote"], author=given["author"], forge=_forge(given["forge"])
    )
    engine = session.open_engine(require_approval=given["require_approval"])
    report = (
        run_pull_request(engine, loaded, options, wanted)
        if given["split"] is None
        else run_pull_requests(engine, loaded, options, wanted, given["split"])
    )
    code = exit_of(report)
    options.on_event("ended", {"exit": int(code)})
    session.finish(report)
    if given["split"] is not None:
        _print_parts(session, report)
    elif report.ok or report.partial:
        _print_done(session, report)
        _print_pushed(session, report, wanted)
        _print_counts(session, report, "changed")
    return code


@engine_command("bot merge", group=bot)
@click.argument("branch")
@base_option
@remote_option
@author_option
@forge_option
def merge(session: Session, *, branch: str, base: str, remote: str, author: str | None, forge: str) -> Exit:
    """Git merges with `mdplan merge` for Markdown and data files.

    If a person must decide, nothing is pushed. A comment on the pull request lists what was merged, or what
    needs a person. GH_TOKEN is the token of GitHub, which does not run merge drivers.
    """
    from mdplan.bot.pulls import PullBranch, merge_base_into

    wanted = PullBranch(branch=branch, base=base, remote=remote, author=author, forge=_forge(forge))
    merged = merge_base_into(session.open_engine(), wanted)
    report = merged.report
    code = session.finish(report)
    if not report.ok:
        return code
    if report.commit is None:
        session.console.note(f"Nothing to merge: {shown(branch)} has all of {shown(base)} already.")
        return Exit.DONE
    for file in merged.files:
        session.console.note(f"merged {shown(file)}")
    session.console.note(f"Pushed {report.commit[:_SHORT]} to {shown(branch)}.")
    if report.pull_request is not None:
        session.console.note(f"Pull request: {shown(report.pull_request)}")
    return Exit.DONE


def _proposed(
    session: Session, given: dict[str, Any], options: "RunOptions", sarif: Path | None, *, keeps: bool
) -> AbstractContextManager["Proposal"]:
    from mdplan.bot.bot import propose

    loaded, ref = loaded_manifest(session, given, sarif), given["ref"]
    if ref is None:
        return propose(session.open_engine(), loaded, options, keeps=keeps)
    from mdplan.bot.commits import propose_on_commit

    return propose_on_commit(session.open_engine(), loaded, options, ref)


def _applied(
    session: Session,
    loaded: "LoadedManifest",
    options: "RunOptions",
    given: dict[str, Any],
    wanted: dict[str, Any],
) -> "BotReport":
    from mdplan.bot.bot import apply_manifest

    engine, ref = session.open_engine(require_approval=given["require_approval"]), given["ref"]
    if ref is None:
        return apply_manifest(engine, loaded, options)
    from mdplan.bot.commits import GitCommit, apply_to_branch

    commit = GitCommit(**{name: value for name, value in wanted.items() if value is not None})
    return apply_to_branch(engine, loaded, options, ref, commit)


def run_options(session: Session, given: dict[str, Any]) -> "RunOptions":
    """Return how to plan, as the options say."""
    from mdplan.bot.bot import RunOptions
    from mdplan.bot.executors import default_jobs

    return RunOptions(
        jobs=given["jobs"] or default_jobs(),
        executor=given["executor"],
        all_or_nothing=given["all_or_nothing"],
        on_event=session.console.listener(given["progress"]),
    )


def _forge(name: str) -> "Callable[[str], GitHub] | None":
    """Return the factory of the forge `name` from `--forge`; None for branches only."""
    from mdplan.bot.forge import GitHub

    return GitHub.of_environment if name == "github" else None


def _print_planned_on_commit(
    session: Session, report: "BotReport", manifest: str, ref: str, document: Path | None
) -> None:
    """Say how much a plan changes, on which commit, and how to make a commit of it.

    `document` is the file that it went to.
    """
    console = session.console
    plan_output.print_warnings(session, report)
    at = f"{shown(ref)} ({(report.base_commit or '')[:_SHORT]})"
    if report.no_op or report.plan_id is None:
        console.note(f"Nothing to change: the files of {at} already have this content.")
        return
    plan_output.print_files(session, report)
    written = f" written to {shown(str(document))}" if document is not None else ""
    console.note(f"{plan_size(report)}. Plan {console.err.bold(report.plan_id)} for {at}{written}.")
    console.note(f"To commit: {session.command_line('bot', 'apply', manifest, '--git', ref)}")


def _print_done(session: Session, report: "BotReport") -> None:
    """Say what was changed, unless the branch has that already, or other people's commits alone."""
    if report.commit is None or (report.plan_id is not None and report.branch_moved):
        plan_output.print_applied(session, report)


def _print_pushed(session: Session, report: "BotReport", wanted: "PullOptions") -> None:
    """Say what `bot pr` pushed where, and what happens next."""
    note, branch, remote = session.console.note, shown(wanted.branch), shown(wanted.remote)
    link = f": {shown(report.pull_request)}" if report.pull_request is not None else ""
    if report.commit is None:
        if report.pull_request is not None:
            note(f"Closed pull request{link}")
        return
    commit = report.commit[:_SHORT]
    if report.pushed_to is not None:
        note(f"Pushed {commit} to {branch} on {remote}.")
    else:
        note(f"Nothing to push: {branch} on {remote} is at {commit}, which has all of it.")
    note(
        f"Pull request{link}" if link else f"Next: open a pull request of {branch} into {shown(wanted.base)}."
    )
    if link:
        note(f"Next: merge it. Until then, each run brings {branch} up to date with {shown(wanted.base)}.")


def _print_parts(session: Session, report: "BotReport") -> None:
    """Say what became of each part of a manifest that was split."""
    console = session.console
    for part in report.pull_requests:
        branch = shown(part.branch)
        link = f": {shown(part.pull_request)}" if part.pull_request is not None else ""
        if part.error is not None:
            console.note(f"{branch}: failed: {shown(part.error.message)}")
        elif part.commit is None:
            console.note(f"{branch}: nothing left to do, closed{link}")
        else:
            console.note(f"{branch}: {counted(part.files, 'file')}, commit {part.commit[:_SHORT]}{link}")
    if report.ok and not report.pull_requests:
        console.note("Nothing to change: the files already have this content.")


def _print_checked(session: Session, report: "BotReport") -> None:
    """Say if the files match the manifest, and which would change."""
    console = session.console
    plan_output.print_warnings(session, report)
    if report.no_op:
        console.note(f"{'The other' if report.partial else 'All'} files match the manifest.")
    else:
        console.note(
            file_list(report.files, console.err)
            or "\n".join(f"  {shown(file.file)}" for file in report.files if file.changed)
        )
        console.note(f"Would change {plan_size(report)}.")
    _print_counts(session, report)


def _print_counts(session: Session, report: "BotReport", changed: str = "to change") -> None:
    """Say how many files the manifest names, and what becomes of them."""
    counts = [
        (report.files_changed, changed),
        (report.files_hold + report.files_left_out, "unchanged"),
        (report.files_refused, "refused"),
    ]
    parts = ", ".join(f"{number} {what}" for number, what in counts if number)
    if parts:
        session.console.note(f"{counted(report.files_named, 'file')} matched: {parts}.")


# --- Values of options, for `mdplan fleet` too


def pull_options(given: Mapping[str, Any]) -> "PullOptions":
    """Return what the options say of a pull request; the branch is named after the manifest by default.

    Raises `UsageError` if `--commits` names a forge that is not used.
    """
    from mdplan.bot.pulls import PullOptions

    if given["commits"] == "forge" and given["forge"] == "none":
        raise click.UsageError("`--commits forge` needs a forge; remove `--forge none`.")
    return PullOptions(
        base=given["base"],
        branch=given["branch"] or f"mdplan/{Path(given['manifest']).stem}",
        title=given["title"],
        labels=given["labels"],
        signed_by_forge=given["commits"] == "forge",
        on_stale=given["on_stale"],
    )


def loaded_manifest(session: Session, given: dict[str, Any], sarif: Path | None = None) -> "LoadedManifest":
    """Load the manifest of a command with its values.

    Raises `StorageRefused` for a wrong one, whose problems go to the file `sarif`.
    """
    from mdplan.bot.manifest import InputFiles, ManifestInputs, load_manifest
    from mdplan.storage.filesystem import StorageRefused

    values = ManifestInputs(
        variables=given["variables"], environment=tuple(given["environment"]), data=given["data"]
    )
    documents = session.open_files()
    with documents.workspace as workspace:
        loaded = load_manifest(given["manifest"], values, InputFiles(workspace, documents.max_file_bytes))
    if isinstance(loaded, tuple):
        _write_sarif(loaded, given["manifest"], sarif)
        raise StorageRefused(loaded)
    return loaded


# --- Problems and changes of a manifest as a SARIF file


def _write_proposal_sarif(proposal: "Proposal", manifest: str, path: Path | None) -> Problems:
    """Write problems and changes of `proposal` to the file `path`, if given; returns why that failed."""
    report = proposal.report
    return _write_sarif((*report.diagnostics, *report.warnings), manifest, path, proposal.diff)


def _write_sarif(
    problems: Problems, manifest: str, path: Path | None, diff: Callable[[], Iterable[bytes]] = tuple
) -> Problems:
    """Write `problems`, and what `diff` gives as fixes, to the file `path`; returns why that failed."""
    if path is None:
        return ()
    from mdplan.review.sarif import fixes_of, sarif_log

    fixes = (fix for part in diff() for fix in fixes_of(part.decode("utf-8", "surrogateescape")))
    log = json.dumps(sarif_log(ShellWords().tell_all(problems), manifest, fixes))
    return plan_output.write_file("the SARIF log", [log.encode()], path, "--sarif")
