"""Golden cases: the exact result of a request, or the diagnostics that refuse it.

`pytest tests/test_cases.py --update-cases` writes the actual outcome into the cases: review every change.
"""

import difflib
import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from docs.codegen.cases import read_cases
from mdplan.engine.engine import Engine
from mdplan.plan import edit_list_from_json
from mdplan.reports.base import to_wire
from mdplan.reports.plan import PlanReport
from mdplan.text.source import Source, sha256_hex
from tests.conftest import REPOSITORY
from tests.docs.pages import blocks_of
from tests.support.expected_diff import expected_diff
from tests.support.golden_cases import (
    CASES,
    Case,
    Json,
    Tree,
    compact_json,
    find_cases,
    is_part_of,
    only_of,
    read_tree,
    without_defaults,
    written_file,
)
from tests.support.patches import git_apply, needs_git

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
    names = names_after(outcome.report, case.concurrent)
    left = modes_of(root)
    assert {names.get(name, name) for name in before} - {None} | set(names.values()) - {None} >= set(left)
    for name, mode in modes.items():
        assert left.get(names.get(name, name), mode) == mode, "the permissions of a file changed"
    return outcome


def names_after(report: dict[str, Json], meanwhile: Iterable[str]) -> dict[str, str | None]:
    """Return the new names after a request: changed for renamed files, None for deleted ones.

    A new file maps to itself.
    """
    names: dict[str, str | None] = {name: name for name in meanwhile}
    for file in report.get("files", []) if report["ok"] else []:
        is_removed = "resultSha256" not in file
        names[file["file"]] = None if is_removed else file.get("newFile", file["file"])
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
    case.write_concurrent(root)
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
    new_names = {file.new_file for file in plan.files}
    for file in plan.files:
        assert found.get(file.new_file or file.file) == file.result_sha256
        assert file.new_file is None or file.file not in found or file.file in new_names


def check_text_edits(engine: Engine, plan: PlanReport, before: Tree) -> None:
    """Check that the plan contains only new text, and that every other byte of the result comes from the
    base.
    """
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


@pytest.mark.requirement("text-6", "edit-1", "toolset-text-16")
@pytest.mark.parametrize("case", ALL, ids=str)
def test_case(case: Case, tmp_path: Path, *, update_cases: bool) -> None:
    if case.needs_mdformat:
        pytest.importorskip("mdformat_gfm", reason="mdformat is not installed: format_section is not tested")
    outcome = outcome_of(case, tmp_path)
    if update_cases:
        write_expected(case, outcome)
    else:
        check(case, outcome)


def check(case: Case, outcome: Outcome) -> None:
    """Fail with a diff of the expected and the actual outcome."""
    lines = [line for difference in differences(case, outcome) for line in difference]
    if lines:
        test = f"tests/test_cases.py::test_case[{case}]"
        place = f"{case.text.path.relative_to(REPOSITORY)}:{case.text.line + 1}"
        lines = [
            f"{place}: the outcome is not the expected one",
            *lines,
            f"to expect it: .venv/bin/python -m pytest -n 0 --update-cases '{test}'",
        ]
        pytest.fail("\n".join(lines), pytrace=False)


def differences(case: Case, outcome: Outcome) -> Iterator[list[str]]:
    """A unified diff for each file, and for the diagnostics, the report and the diff, where they differ."""
    expected, actual = case.after if case.is_accepted else {}, outcome.after
    if case.is_accepted and outcome.problems is None:
        for path in sorted({**expected, **actual}):
            yield text_diff(f"after {path}", *(shown_file(path, tree) for tree in (expected, actual)))
        if case.report is not None and not is_part_of(case.report, outcome.report):
            yield json_diff("report", case.report, only_of(case.report, outcome.report))
        yield text_diff("diff", shown_diff(diff_of(case)), shown_diff(outcome.diff))
    problems = None if outcome.problems is None else without_defaults(outcome.problems)
    if outcome.problems != case.diagnostics:
        expected_problems = None if case.diagnostics is None else without_defaults(case.diagnostics)
        yield json_diff("diagnostics", expected_problems, problems)


def text_diff(what: str, expected: str, actual: str) -> list[str]:
    both = (text.split("\n") for text in (expected, actual))
    return list(difflib.unified_diff(*both, f"expected {what}", f"actual {what}", lineterm=""))


def json_diff(what: str, expected: Json, actual: Json) -> list[str]:
    return text_diff(what, *("" if value is None else compact_json(value) for value in (expected, actual)))


def shown_file(path: str, tree: Tree) -> str:
    return written_file("after", path, tree[path]).markdown if path in tree else ""


def shown_diff(diff: bytes) -> str:
    return written_file("diff", ".diff", diff).text


def diff_of(case: Case) -> bytes:
    """Return the expected diff: that of the case, or the shortest one."""
    return shortest_diff(case.before, case.after) if case.diff is None else case.diff


def shortest_diff(before: Tree, after: Tree) -> bytes:
    """The shortest diff of two trees without backups, which no diff shows."""
    trees = (
        {name: data for name, data in tree.items() if not name.endswith(".bak")} for tree in (before, after)
    )
    return expected_diff(*trees)


def write_expected(case: Case, outcome: Outcome) -> None:
    """Expect the actual outcome; a report keeps the members that it has."""
    if outcome.problems is not None:
        case.write_refused(outcome.problems)
        return
    diff = shortest_diff(case.before, outcome.after)
    report = None if case.report is None else only_of(case.report, outcome.report)
    case.write_accepted(outcome.after, report, None if diff == outcome.diff else outcome.diff)


def in_folder(folder: str, diff: bytes) -> bytes:
    """`diff` of the same files in `folder`."""
    lines, in_header = [], False
    for line in diff.split(b"\n"):
        in_header = line.startswith(b"diff --git ") or (in_header and not line.startswith(b"@@ "))
        lines.append(_NAMES.sub(rb"\1" + folder.encode() + rb"/", line) if in_header else line)
    return b"\n".join(lines)


# The prefix of names in the headers of a diff; a name that contains ` b/` is quoted.
_NAMES = re.compile(
    rb'((?:^diff --git |^--- )"?a/|(?:^\+\+\+ |(?<=[^"]) (?=b/)|" )"?b/|^rename (?:from|to) "?)'
)


@needs_git
def test_git_applies_the_diffs_of_all_cases() -> None:
    """One call for all: each case that is planned is a folder of one tree."""
    # Backups belong to a commit, not to the request.
    batches = {case: case.request("batch") for case in ALL if case.is_accepted}
    planned_cases = [case for case, batch in batches.items() if batch and not batch.get("backup")]
    trees = {case: (case.before, case.after) for case in planned_cases}
    diff = b"".join(in_folder(str(case), diff_of(case)) for case in trees)
    result = git_apply(
        {f"{case}/{name}": data for case in trees for name, data in trees[case][0].items()}, diff
    )
    expected = {f"{case}/{name}": data for case in trees for name, data in trees[case][1].items()}
    wrong = [name for name in expected if result.get(name) != expected[name]]

    assert len(trees) > 1
    assert wrong == []
    assert result.keys() == expected.keys()


def test_testing_page_example_is_a_golden_case(tmp_path: Path) -> None:
    (block,) = [
        block for block in blocks_of(REPOSITORY / "docs/contributing/testing.md") if block.info == ("md",)
    ]
    path = tmp_path / "cases.md"
    path.write_text(block.text, encoding="utf-8")
    (text,) = read_cases(path)
    case = Case("operations/set_task", text)

    assert list(differences(case, outcome_of(case, tmp_path / "root"))) == [[], []]


def test_failing_case_shows_a_diff_and_the_command_that_updates_it(tmp_path: Path) -> None:
    path = CASES / "operations" / "set_task.md"
    (text,) = (each for each in read_cases(path) if each.slug == "reference-example")
    blocks = tuple(
        replace(block, text=block.text.replace("[x]", "[X]")) if block.role == "after" else block
        for block in text.blocks
    )
    case = Case("operations/set_task", replace(text, blocks=blocks))
    outcome = outcome_of(case, tmp_path)

    with pytest.raises(pytest.fail.Exception) as failure:
        check(case, outcome)
    lines = str(failure.value).split("\n")
    assert lines[0].startswith("tests/cases/operations/set_task.md:")
    assert any(line.startswith("-- [X]") for line in lines)
    assert any(line.startswith("+- [x]") for line in lines)
    assert lines[-1].endswith(
        "--update-cases 'tests/test_cases.py::test_case[operations/set_task/reference-example]'"
    )
