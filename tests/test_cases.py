"""Golden cases: what a request makes of files, or why it is refused, to the byte.

`pytest tests/test_cases.py --update-cases` writes anew what is expected: look at every change of it.
"""

import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from mdplan.engine.engine import Engine
from mdplan.plan import edit_list_from_json
from mdplan.reports.base import to_wire
from mdplan.reports.plan import PlanReport
from mdplan.text.source import Source, sha256_hex
from tests.golden_case import Case, Json, Tree, find_cases, is_part_of, only_of, read_tree
from tests.patch_tools import git_apply, needs_git

ALL = find_cases()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a request came to: the wire form of its `report`, the files `after` it, and the exact `diff`."""

    report: dict[str, Json]
    after: Tree
    diff: bytes

    @property
    def problems(self) -> list[Json] | None:
        return None if self.report["ok"] else self.report["diagnostics"]


def outcome_of(case: Case, root: Path) -> Outcome:
    """Send the request of `case`, checking on the way what holds of every case."""
    case.lay_out(root)
    before, modes = read_tree(root), modes_of(root)
    engine = case.open_engine(root)
    with engine.workspace:
        batch = case.request("batch")
        outcome = applied(case, engine, root) if batch is None else planned(case, engine, root, batch)
    names = names_after(outcome.report, case.meanwhile_tree())
    left = modes_of(root)
    assert {names.get(name, name) for name in before} - {None} | set(names.values()) - {None} >= set(left)
    for name, mode in modes.items():
        assert left.get(names.get(name, name), mode) == mode, "the permissions of a file changed"
    return outcome


def names_after(report: dict[str, Json], meanwhile: Iterable[str]) -> dict[str, str | None]:
    """What becomes of names by a request: others for renamed files, None for deleted ones.

    A name that comes stands for itself.
    """
    names: dict[str, str | None] = {name: name for name in meanwhile}
    for file in report.get("files", []) if report["ok"] else []:
        is_gone = "resultSha256" not in file
        names[file["file"]] = None if is_gone else file.get("newFile", file["file"])
        backup = file["file"] + ".bak"
        names[backup] = backup
    return names


def planned(case: Case, engine: Engine, root: Path, batch: Json) -> Outcome:
    """Plan the batch, let others write in between, and apply the plan, twice."""
    before = read_tree(root)
    plan = engine.plan(batch)
    assert read_tree(root) == before, "planning wrote"
    if not plan.ok:
        return Outcome(report=to_wire(plan), after=before, diff=b"")
    diff = engine.diff_bytes(plan.plan_id)
    check_text_edits(engine, plan, before)
    case.disturb(root)
    before = read_tree(root)
    report = engine.apply(case.request("apply", plan.plan_id) or {"planId": plan.plan_id})
    after = read_tree(root)
    if not report.ok:
        assert after == before, "a refused plan wrote"
        return Outcome(report=to_wire(report), after=before, diff=b"")
    check_hashes(plan, after)
    check_second_time(engine, plan, root)
    return Outcome(report=to_wire(plan), after=after, diff=diff)


def applied(case: Case, engine: Engine, root: Path) -> Outcome:
    """Apply the request as it is."""
    before = read_tree(root)
    report = engine.apply(case.request("apply"))
    after = read_tree(root)
    assert report.ok or after == before, "a refused request wrote"
    return Outcome(report=to_wire(report), after=after, diff=(report.diff or "").encode())


def check_hashes(plan: PlanReport, after: Tree) -> None:
    """Every file is what the plan says that it will be, under the name that it says."""
    found = hashes_of(after)
    for file in plan.files:
        assert found.get(file.new_file or file.file) == file.result_sha256
        assert file.new_file is None or file.file not in found


def check_text_edits(engine: Engine, plan: PlanReport, before: Tree) -> None:
    """The plan's document names the new text alone; every other byte of the result is one of the base."""
    for file in json.loads(engine.export(plan.plan_id))["files"]:
        base = b"" if file["baseSha256"] is None else before[file["path"]]
        source = Source.decode(base, file["encoding"])
        edits = edit_list_from_json(file["textEdits"])
        result, at = [source.bom], 0
        for edit in edits:
            result += [encoded(source, source.text[at : edit.span.start]), encoded(source, edit.new_text)]
            at = edit.span.end
        result.append(encoded(source, source.text[at:]))
        whole = b"".join(result)
        if file["resultSha256"] is None:
            assert whole == source.bom, "a file that goes has no text left"
        else:
            assert sha256_hex(whole) == file["resultSha256"]


def encoded(source: Source, text: str) -> bytes:
    return text.encode(source.encoding, "surrogateescape" if source.encoding == "utf-8" else "strict")


def check_second_time(engine: Engine, plan: PlanReport, root: Path) -> None:
    """A plan that is applied again writes nothing and says so."""
    after = read_tree(root)
    again = engine.apply({"planId": plan.plan_id})
    assert again.ok, again.error
    assert read_tree(root) == after
    assert bool(again.already_applied) is not plan.no_op


def hashes_of(tree: Tree) -> dict[str, str]:
    return {name: sha256_hex(data) for name, data in tree.items()}


def modes_of(root: Path) -> dict[str, int]:
    return {name: os.lstat(root / name).st_mode for name in read_tree(root)}


@pytest.mark.parametrize("case", ALL, ids=str)
def test_case(case: Case, tmp_path: Path, *, update_cases: bool) -> None:
    if case.needs_mdformat:
        pytest.importorskip("mdformat_gfm", reason="mdformat is not installed: format_section is not tested")
    outcome = outcome_of(case, tmp_path)
    if update_cases or not case.has_expectation:
        assert update_cases or not os.environ.get("CI"), "expected files are missing"
        write_expected(case, outcome)
    if outcome.problems is None:
        check_accepted(case, outcome)
    else:
        check_refused(case, outcome)


def check_accepted(case: Case, outcome: Outcome) -> None:
    assert case.expected("diagnostics.json") is None, "it is accepted, and a refusal is expected"
    assert outcome.after == case.after_tree()
    assert outcome.diff == (case.folder / "plan.diff").read_bytes()
    expected = case.expected("report.json")
    assert expected is None or is_part_of(expected, outcome.report), only_of(expected, outcome.report)


def check_refused(case: Case, outcome: Outcome) -> None:
    assert outcome.problems == case.expected("diagnostics.json")


def write_expected(case: Case, outcome: Outcome) -> None:
    """Make the outcome what is expected; `report.json` keeps to the questions that it asks."""
    if outcome.problems is not None:
        case.remove(case.after.name, "plan.diff", "report.json")
        case.write_json("diagnostics.json", outcome.problems)
        return
    case.remove("diagnostics.json")
    case.write_after(outcome.after)
    (case.folder / "plan.diff").write_bytes(outcome.diff)
    questions = case.expected("report.json")
    if questions is not None:
        case.write_json("report.json", only_of(questions, outcome.report))


def in_folder(folder: str, diff: bytes) -> bytes:
    """`diff` of the same files in `folder`."""
    lines, in_header = [], False
    for line in diff.split(b"\n"):
        in_header = line.startswith(b"diff --git ") or (in_header and not line.startswith(b"@@ "))
        lines.append(_NAMES.sub(rb"\1" + folder.encode() + rb"/", line) if in_header else line)
    return b"\n".join(lines)


# What stands before the names in the headers of a diff; a name with ` b/` in it is in quotes.
_NAMES = re.compile(
    rb'((?:^diff --git |^--- )"?a/|(?:^\+\+\+ |(?<=[^"]) (?=b/)|" )"?b/|^rename (?:from|to) "?)'
)


@needs_git
def test_git_applies_the_diffs_of_all_cases() -> None:
    """One call for all: each case that is planned is a folder of one tree."""
    # Backups are part of a commit, and not of what was asked for.
    batches = {case: case.request("batch") for case in ALL if case.is_accepted}
    planned_cases = [case for case, batch in batches.items() if batch and not batch.get("backup")]
    trees = {case: (case.before_tree(), case.after_tree()) for case in planned_cases}
    diff = b"".join(in_folder(str(case), (case.folder / "plan.diff").read_bytes()) for case in trees)
    result = git_apply(
        {f"{case}/{name}": data for case in trees for name, data in trees[case][0].items()}, diff
    )
    expected = {f"{case}/{name}": data for case in trees for name, data in trees[case][1].items()}
    wrong = [name for name in expected if result.get(name) != expected[name]]

    assert len(trees) > 1
    assert wrong == []
    assert result.keys() == expected.keys()
