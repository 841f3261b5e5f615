# A standalone program: the action runs it with the Python that has mdplan installed.
# ruff: noqa: INP001
"""The step of `action.yml` that runs `mdplan bot` and reports the result to GitHub.

It reads `BOT_COMMAND`, `BOT_MANIFEST` and `BOT_ARGS`, for merge also `BOT_BASE` and `BOT_HEAD`, and exits
with 0 even if mdplan fails: the exit code is an output, so that later steps still run. Text written by others
is hostile here: in the log it appears where workflow commands are ignored, in an annotation it is escaped, in
Markdown it is fenced.
"""

import hashlib
import itertools
import json
import os
import re
import secrets
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from mdplan.diagnostics import Code, Diagnostic, Exit, Severity
from mdplan.review.sarif import sarif_log
from mdplan.text.lines import Position

COMMANDS: Final = ("plan", "check", "apply", "merge")
# GitHub keeps this many annotations of each type per step, and drops the others.
MOST_ANNOTATIONS: Final = 10
# A comment has room for 65,536 characters; `mdplan show` leaves 1,536 of them.
_MOST_BESIDE_A_PLAN: Final = 500
_MOST_NAME: Final = 150
_MOST_ALONE: Final = 30_000
_BACKTICKS: Final = re.compile("`+")
_RUN_IN: Final = Path(__file__).with_name("run_in.py")


@dataclass(frozen=True, slots=True)
class Run:
    """The end of `mdplan bot`: exit code, report (None if it printed none), standard error."""

    code: int
    report: Mapping[str, Any] | None
    err: str

    @property
    def plan_id(self) -> str | None:
        """The plan that was made or applied."""
        return None if self.report is None else self.report.get("planId")

    @property
    def changes(self) -> bool:
        """True if files changed, or would change."""
        return self.report is not None and self.report.get("filesChanged", 0) > 0 and bool(self.plan_id)

    @property
    def problems(self) -> tuple[Diagnostic, ...]:
        """Errors, then warnings."""
        if self.report is None:
            return ()
        found = [_diagnostic(each) for each in (*self.report["diagnostics"], *self.report["warnings"])]
        return tuple(sorted(dict.fromkeys(found), key=lambda each: each.severity is not Severity.ERROR))


def main() -> int:
    """Run the bot as the environment says, and write log, annotations, outputs, summary, comment, SARIF."""
    command, manifest = os.environ["BOT_COMMAND"], os.environ["BOT_MANIFEST"]
    if command not in COMMANDS:
        sys.stdout.write(f"::error title=mdplan::command is one of {', '.join(COMMANDS)}\n")
        return Exit.INVALID
    try:
        words = shlex.split(os.environ["BOT_ARGS"])
    except ValueError as error:
        sys.stdout.write(f"::error title=mdplan::args cannot be read: {error}\n")
        return Exit.INVALID
    if command == "merge":
        return merge(words, os.environ.get("BOT_BASE", ""), os.environ.get("BOT_HEAD", ""))
    if not manifest:
        sys.stdout.write("::error title=mdplan::manifest is missing\n")
        return Exit.INVALID
    folder = Path(tempfile.mkdtemp(prefix="mdplan-", dir=os.environ.get("RUNNER_TEMP")))
    plan_file, sarif_file = folder / "plan.json", folder / "refusals.sarif"
    if command == "apply":
        run = run_bot(["apply", *words], manifest)
    else:
        # A check saves nothing that could be shown, so both make a plan. Files that cannot be planned do not
        # hide what would become of the others.
        written = ["--output", str(plan_file), "--sarif", str(sarif_file)]
        run = run_bot(["plan", *words, *written], manifest)
        if command == "check" and run.code == Exit.DONE and run.changes:
            run = replace(run, code=Exit.WOULD_CHANGE)
    log(run.err)
    sys.stdout.write("".join(f"{line}\n" for line in annotations(run)))
    sys.stdout.flush()

    text = summary(run, command, manifest, shown_plan(run, words))
    comment = folder / "comment.md"
    # The comment of a manifest is found again by this, and has no character that means something to jq.
    marker = f"<!-- mdplan-bot {hashlib.sha256(manifest.encode()).hexdigest()[:16]} -->"
    comment.write_text(f"{marker}\n{text}", encoding="utf-8")
    if not sarif_file.exists():
        sarif_file.write_text(json.dumps(sarif_log(run.problems, manifest)), encoding="utf-8")
    append("GITHUB_STEP_SUMMARY", text)
    outputs = {
        "changed": "true" if run.changes else "false",
        "plan-id": run.plan_id or "",
        "plan-file": str(plan_file) if plan_file.exists() else "",
        "exit-code": str(run.code),
        "sarif-file": str(sarif_file),
        "comment-file": str(comment),
        "comment-marker": marker,
    }
    append("GITHUB_OUTPUT", "".join(f"{name}={value}\n" for name, value in outputs.items()))
    return Exit.DONE


def merge(words: Sequence[str], base: str, head: str) -> int:
    """Merge the branch `base` into the branch `head` of the pull request, and report the result."""
    if not base or not head:
        sys.stdout.write("::error title=mdplan::merge works on a pull request only\n")
        return Exit.INVALID
    run = run_bot(["merge", *words, f"--base={base}"], head)
    log(run.err)
    sys.stdout.write("".join(f"{line}\n" for line in annotations(run)))
    commit = (run.report or {}).get("commit")
    blocks = ["## mdplan bot merge", fenced([f"{base} into {head}"], _MOST_NAME)]
    if run.problems:
        blocks += ["A person must decide:", fenced(map(_line, run.problems), _MOST_ALONE)]
    elif run.report is not None:
        blocks.append("The branch has all of the base." if commit is None else f"Pushed {commit}.")
    append("GITHUB_STEP_SUMMARY", "\n\n".join(blocks) + "\n")
    changed = "false" if commit is None else "true"
    append("GITHUB_OUTPUT", f"changed={changed}\nexit-code={run.code}\n")
    return Exit.DONE


def run_bot(words: Sequence[str], manifest: str) -> Run:
    """Run `mdplan bot` with `words` and `manifest`."""
    done = mdplan("bot", *words, "--json", "--", manifest)
    try:
        report = json.loads(done.stdout)
    except ValueError:
        report = None
    return Run(done.returncode, report, done.stderr.decode("utf-8", "replace"))


def mdplan(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run the mdplan of this interpreter on the checkout, which the variable GITHUB_WORKSPACE names."""
    # Isolated (`-I`), and started outside of the checkout: no module of the checkout is ever imported.
    command = [sys.executable, "-I", str(_RUN_IN), os.environ["GITHUB_WORKSPACE"], *arguments]
    return subprocess.run(command, check=False, capture_output=True)  # noqa: S603 (the user's own command)


def log(text: str) -> None:
    """Print `text` of others: no workflow command in it is obeyed."""
    if text:
        token = secrets.token_hex(16)
        sys.stdout.write(f"::stop-commands::{token}\n{text.rstrip()}\n::{token}::\n")


def annotations(run: Run) -> list[str]:
    """Return problems as workflow commands: as many of each type as GitHub keeps, the last one a count."""
    if run.report is None:
        return [f"::error title=mdplan::mdplan ended with exit code {run.code}: see the log"]
    lines: list[str] = []
    for severity in Severity:
        found = [each for each in run.problems if each.severity is severity]
        shown = found if len(found) <= MOST_ANNOTATIONS else found[: MOST_ANNOTATIONS - 1]
        lines += [_annotation(each) for each in shown]
        if len(found) > len(shown):
            lines.append(f"::{severity} title=mdplan::and {len(found) - len(shown)} more: see the summary")
    return lines


def summary(run: Run, command: str, manifest: str, plan: str | None) -> str:
    """Return the result of the run as Markdown; `plan` is its plan as mdplan shows it."""
    blocks = [f"## mdplan bot {command}", fenced([manifest], _MOST_NAME)]
    if run.report is None:
        blocks += [f"It ended with exit code {run.code}.", fenced(run.err.split("\n"), _MOST_ALONE)]
    elif not run.changes and not run.problems:
        blocks.append("All files match the manifest.")
    if run.problems:
        errors = sum(each.severity is Severity.ERROR for each in run.problems)
        blocks.append(f"**Errors: {errors}, warnings: {len(run.problems) - errors}**")
        room = _MOST_ALONE if plan is None else _MOST_BESIDE_A_PLAN
        blocks.append(fenced(map(_line, run.problems), room))
    if plan is not None:
        blocks.append(plan)
    elif run.changes and run.report is not None:
        files = [each["file"] for each in run.report["files"] if each["changed"]]
        blocks += [f"Files: {len(files)}", fenced(files, _MOST_ALONE)]
    return "\n\n".join(blocks).rstrip("\n") + "\n"


def shown_plan(run: Run, words: Sequence[str]) -> str | None:
    """Return the plan of `run` as Markdown; None without one, or if it is on a commit and so not stored."""
    if not run.changes or run.plan_id is None:
        return None
    done = mdplan("show", run.plan_id, "--format", "markdown", "--quiet", *roots(words))
    return done.stdout.decode("utf-8") if done.returncode == Exit.DONE else None


def roots(words: Sequence[str]) -> list[str]:
    """Return the `words` that name roots: the plan is stored in the first of them."""
    found = [word for word in words if word.startswith("--root=")]
    for word, following in itertools.pairwise(words):
        if word == "--root":
            found += [word, following]
    return found


def fenced(lines: Iterable[str], room: int) -> str:
    """Return foreign `lines` in a fence, as many as fit into `room` characters."""
    listed = [" ".join(line.split())[:room] for line in lines if line.strip()]
    shown: list[str] = []
    for line in listed:
        room -= len(line)
        if room < 0:
            break
        shown.append(line)
    if len(shown) < len(listed):
        shown.append(f"… and {len(listed) - len(shown)} more")
    fence = "`" * max(3, 1 + max((len(run) for line in shown for run in _BACKTICKS.findall(line)), default=0))
    return "\n".join([fence + "text", *shown, fence])


def append(variable: str, text: str) -> None:
    """Add `text` to the file that `variable` of the environment names."""
    with Path(os.environ[variable]).open("a", encoding="utf-8", newline="\n") as file:
        file.write(text)


def _diagnostic(wire: Mapping[str, Any]) -> Diagnostic:
    place = wire.get("place")
    return Diagnostic(
        code=Code(wire["code"]),
        message=wire["message"],
        hint=wire.get("hint", ""),
        severity=Severity(wire["severity"]),
        file=wire.get("file"),
        place=None if place is None else Position(place["line"], place["col"]),
        edit_index=wire.get("editIndex"),
    )


def _annotation(problem: Diagnostic) -> str:
    properties = {"title": f"mdplan: {problem.code}"}
    if problem.file is not None:
        properties["file"] = problem.file
    if problem.file is not None and problem.place is not None:
        properties |= {"line": str(problem.place.line), "col": str(problem.place.col)}
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    text = problem.message if not problem.hint else f"{problem.message}\n{problem.hint}"
    return f"::{problem.severity} {listed}::{_data(text)}"


def _line(problem: Diagnostic) -> str:
    place = problem.file or ""
    if problem.place is not None:
        place += f":{problem.place.line}:{problem.place.col}"
    return f"{problem.severity} {problem.code} {place} {problem.message}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


if __name__ == "__main__":
    sys.exit(main())
