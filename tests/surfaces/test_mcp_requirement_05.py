"""The happy path and every example of requirement 05, sent by the SDK's own client.

Old names fold or are refused as DESIGN section 15 says.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from mdplan.engine.engine import Engine
from mdplan.mcp.server import build_server
from mdplan.settings import Settings
from mdplan.storage.transaction.commit import Durability
from tests.surfaces.mcp_calls import GENERATIONS, Calls, Result, calls_to, process

README = """\
# Getting Started

Welcome to v1.0.0.

## Installation

Get v1.0.0 and unpack it. See [v1.0.0](https://example.org/v1.0.0) or run `v1.0.0`.

| Version | State  |
|---------|--------|
| v1.0.0  | stable |

```sh
install v1.0.0
```

### macOS

Use foo, then foo, then foo.

## Old Title

More of it [above](#installation).
"""
NAME = "README.md"
FILES = {NAME: README}


@pytest.fixture(params=GENERATIONS)
def calls(request: pytest.FixtureRequest, root: Path) -> Iterator[Calls]:
    engine = Engine.open([root], settings=Settings(durability=Durability.PROCESS))
    with calls_to(build_server(engine), request.param) as connected:
        yield connected


def stat(calls: Calls) -> dict[str, Any]:
    found = calls.call("md_stat", {"file": NAME})
    return done(found)


def apply(calls: Calls, *edits: dict[str, Any], **fields: object) -> Result:
    """One batch on the file as it is."""
    base = stat(calls)["baseSha256"]
    return calls.call("md_apply", {"file": NAME, "baseSha256": base, "edits": list(edits), **fields})


def preview(calls: Calls, *edits: dict[str, Any], **fields: object) -> Result:
    return apply(calls, *edits, dryRun=True, **fields)


def section_id(calls: Calls, title: str) -> str:
    found = [each for each in stat(calls)["sections"] if each["canonicalHeadingPath"][-1:] == [title]]
    return str(found[0]["sectionId"])


def code_of(result: Result) -> str:
    """Code of a refusal, which stands first in its text."""
    assert result.is_error
    return result.text.split()[0].rstrip(":")


def done(result: Result) -> dict[str, Any]:
    """Structured data of a call that was no refusal."""
    assert not result.is_error, result.text
    assert result.data is not None
    return result.data


# The happy path.


def walk_the_happy_path(calls: Calls, root: Path) -> None:
    structure = stat(calls)
    install = next(
        section
        for section in structure["sections"]
        if section["canonicalHeadingPath"] == ["getting started", "installation"]
    )
    planned = calls.call(
        "md_apply",
        {
            "file": NAME,
            "baseSha256": structure["baseSha256"],
            "dryRun": True,
            "edits": [
                {
                    "op": "replace_match",
                    "sectionId": install["sectionId"],
                    "pattern": "v1.0.0",
                    "matchType": "literal",
                    "expectedMatchCount": {"min": 1, "max": 3},
                    "nodeExclusions": {"codeBlocks": "exclude"},
                    "replacement": "v2.0.0",
                }
            ],
        },
    )
    done(planned)
    assert planned.data["matchesFound"] == 3
    assert (root / NAME).read_text() == README

    applied = calls.call("md_apply", {**planned.data, "dryRun": False})

    done(applied)
    assert applied.data["applied"]
    assert applied.data["planId"] == planned.data["planId"]
    assert (root / NAME).read_text() == README.replace("Get v1.0.0", "Get v2.0.0").replace(
        "[v1.0.0]", "[v2.0.0]"
    ).replace("| v1.0.0  |", "| v2.0.0  |")


def test_stat_plan_and_apply_succeed(calls: Calls, root: Path) -> None:
    walk_the_happy_path(calls, root)


@pytest.mark.parametrize("mode", GENERATIONS)
def test_stat_plan_and_apply_succeed_over_stdio(root: Path, mode: str) -> None:
    server: AbstractContextManager[Calls] = calls_to(process("--root", str(root)), mode)
    with server as calls:
        walk_the_happy_path(calls, root)


def test_preview_reports_zero_matches_before_any_write(calls: Calls, root: Path) -> None:
    planned = preview(
        calls,
        {
            "op": "replace_match",
            "pattern": "v9",
            "replacement": "v10",
            "expectedMatchCount": {"min": 0, "max": 3},
        },
    )

    done(planned)
    assert (planned.data["matchesFound"], planned.data["noOp"]) == (0, True)


# Section 2: match reports, counts, previews.


def test_match_report_counts_lists_and_reports_omissions(calls: Calls) -> None:
    planned = preview(
        calls,
        {"op": "replace_match", "pattern": "v1.0.0", "replacement": "v2.0.0", "matchSelection": "all"},
        verbosity="full",
    )

    done(planned)
    assert (planned.data["matchesFound"], planned.data["matchesReplaced"]) == (4, 4)
    assert planned.data["excludedMatches"] == {"codeBlocks": 1, "inlineCode": 1, "linkDestinations": 1}
    matches = planned.data["matches"]
    assert matches == planned.data["editResults"][0]["matches"]
    assert len(matches) == 4
    assert matches[0] == {
        "line": 3,
        "col": 12,
        "text": "v1.0.0",
        "range": {"start": {"line": 3, "col": 12}, "end": {"line": 3, "col": 18}},
    }


@pytest.mark.parametrize(
    ("count", "found"),
    [(3, True), ({"min": 2, "max": 5}, True), (2, False), ({"min": 4}, False), ({"max": 2}, False)],
)
def test_expected_match_count_is_a_number_or_a_range(calls: Calls, count: object, found: bool) -> None:
    edit = {"op": "replace_match", "pattern": "foo", "replacement": "bar", "expectedMatchCount": count}
    planned = preview(calls, edit)

    if found:
        done(planned)
        assert planned.data["matchesReplaced"] == 3
    else:
        assert code_of(planned) == "MATCH_COUNT_MISMATCH"


def test_preview_match_lists_without_replacing(calls: Calls, root: Path) -> None:
    edit = {"op": "preview_match", "pattern": "foo", "scope": {"headingPath": ["Installation", "macOS"]}}
    listed = apply(calls, edit)

    done(listed)
    assert (listed.data["matchesFound"], listed.data["matchesReplaced"]) == (3, 0)
    assert listed.data["noOp"]
    assert (root / NAME).read_text() == README


# Section 3: addressing.


def test_stat_gives_paths_canonical_paths_ids_levels_and_lines(calls: Calls) -> None:
    section = next(each for each in stat(calls)["sections"] if each["headingPath"][-1:] == ["macOS"])

    assert section["headingPath"] == ["Getting Started", "Installation", "macOS"]
    assert section["canonicalHeadingPath"] == ["getting started", "installation", "macos"]
    assert section["sectionId"].startswith("sha256-")
    assert (section["level"], section["startLine"], section["endLine"]) == (3, 17, 20)


def test_section_is_replaced_by_its_id(calls: Calls, root: Path) -> None:
    applied = apply(
        calls,
        {"op": "replace_section", "sectionId": section_id(calls, "macos"), "markdown": "Drag it over.\n"},
    )

    done(applied)
    assert (root / NAME).read_text() == README.replace("Use foo, then foo, then foo.", "Drag it over.")


def test_ambiguous_and_missing_headings_have_codes_of_their_own(calls: Calls, root: Path) -> None:
    (root / NAME).write_text(README + "\n## Other\n\n### macOS\n")
    edit = {"op": "append_to_section", "markdown": "Text."}

    assert code_of(apply(calls, {**edit, "headingPath": ["macOS"]})) == "AMBIGUOUS_HEADING"
    assert code_of(apply(calls, {**edit, "headingPath": ["Windows"]})) == "SECTION_NOT_FOUND"


# Section 4: operations.


UPSERT = {
    "op": "upsert_section",
    "headingPath": ["Installation"],
    "markdown": "## Installation\n\nContent...\n",
    "createIfMissing": True,
    "mode": "replace",
    "parentPath": ["Getting Started"],
    "keepSubsections": False,
}


def test_upsert_replaces_a_section_with_its_subsections(calls: Calls, root: Path) -> None:
    applied = apply(calls, UPSERT)

    done(applied)
    before, _, rest = README.partition("## Installation")
    after = rest[rest.index("## Old Title") :]
    assert (root / NAME).read_text() == f"{before}## Installation\n\nContent...\n\n{after}"


def test_upsert_makes_a_section_that_is_missing(calls: Calls, root: Path) -> None:
    (root / NAME).write_text("# Getting Started\n\nHello.\n")
    applied = apply(calls, UPSERT)

    done(applied)
    assert (root / NAME).read_text() == "# Getting Started\n\nHello.\n\n## Installation\n\nContent...\n"


@pytest.mark.parametrize("mode", ["append", "prepend"])
def test_upsert_adds_to_a_section(calls: Calls, root: Path, mode: str) -> None:
    applied = apply(
        calls, {"op": "upsert_section", "headingPath": ["Old Title"], "markdown": "New.", "mode": mode}
    )

    done(applied)
    old = "More of it [above](#installation).\n"
    new = f"{old}\nNew.\n" if mode == "append" else f"New.\n\n{old}"
    assert (root / NAME).read_text() == README.replace(old, new)


@pytest.mark.parametrize("reference", [{}, {"updateReferences": False}])
def test_rename_heading_changes_only_the_title(calls: Calls, root: Path, reference: dict[str, bool]) -> None:
    edit = {"op": "rename_heading", "headingPath": ["Old Title"], "newTitle": "New Title"}
    applied = apply(calls, edit | reference)

    done(applied)
    assert (root / NAME).read_text() == README.replace("## Old Title", "## New Title")


# Section 5: guards.


def place(line: int, col: int) -> dict[str, int]:
    return {"line": line, "col": col}


def test_range_needs_its_expected_text(calls: Calls, root: Path) -> None:
    edit = {
        "op": "replace_range",
        "range": {"start": place(3, 12), "end": place(3, 18)},
        "replacement": "v2.0.0",
    }

    assert code_of(apply(calls, edit)) == "INVALID_ARGUMENT"
    assert code_of(apply(calls, {**edit, "expectedText": "v3.0.0"})) == "TEXT_MISMATCH"
    assert not apply(calls, {**edit, "expectedText": "v1.0.0"}).is_error
    assert (root / NAME).read_text() == README.replace("Welcome to v1", "Welcome to v2")
    assert not apply(calls, {**edit, "replacement": "v3.0.0", "allowInsecureRange": True}).is_error
    assert (root / NAME).read_text() == README.replace("Welcome to v1", "Welcome to v3")


@pytest.mark.parametrize(
    ("exclusions", "found"),
    [
        (
            {
                "codeBlocks": "exclude",
                "inlineCode": "exclude",
                "linkDestinations": "exclude",
                "images": "exclude",
                "tables": "exclude",
            },
            3,
        ),
        ({"codeBlocks": "exclude"}, 4),
        ({"codeBlocks": "include", "inlineCode": "include", "linkDestinations": "include"}, 7),
    ],
)
def test_excluded_node_kinds_are_not_matched(calls: Calls, exclusions: dict[str, str], found: int) -> None:
    planned = preview(calls, {"op": "preview_match", "pattern": "v1.0.0", "nodeExclusions": exclusions})

    done(planned)
    assert planned.data["matchesFound"] == found


OVERLAPPING = [
    {"op": "replace_match", "pattern": "then foo, then", "replacement": "then bar, then"},
    {"op": "replace_match", "pattern": "bar", "replacement": "baz"},
]


def test_overlapping_edits_conflict_unless_sequential(calls: Calls, root: Path) -> None:
    one, two = (
        {"op": "replace_match", "pattern": pattern, "replacement": "x"} for pattern in ("Use foo", "Use foo,")
    )

    assert code_of(apply(calls, one, two)) == "CONFLICTING_EDITS"
    applied = apply(calls, *OVERLAPPING, allowOverlappingEdits=True)
    done(applied)
    assert "Use foo, then baz, then foo." in (root / NAME).read_text()


@pytest.mark.parametrize(
    ("selection", "line"),
    [
        ("all", "Use bar, then bar, then bar."),
        ({"index": 1}, "Use bar, then foo, then foo."),
        ({"range": {"start": 1, "end": 3}}, "Use bar, then bar, then bar."),
        ({"range": {"start": 2, "end": 3}}, "Use foo, then bar, then bar."),
        (2, "Use foo, then bar, then foo."),
        ("2-3", "Use foo, then bar, then bar."),
    ],
)
def test_selection_replaces_the_chosen_matches(
    calls: Calls, root: Path, selection: object, line: str
) -> None:
    edit = {"op": "replace_match", "pattern": "foo", "replacement": "bar", "matchSelection": selection}
    applied = apply(calls, edit)

    done(applied)
    assert (root / NAME).read_text() == README.replace("Use foo, then foo, then foo.", line)


# Section 6: codes and results.


@pytest.mark.parametrize(
    ("edit", "code"),
    [
        ({"op": "append_to_section", "headingPath": ["a\nb"], "markdown": "x"}, "INVALID_HEADING_PATH"),
        ({"op": "replace_match", "pattern": "(", "matchType": "regex", "replacement": ""}, "INVALID_REGEX"),
    ],
)
def test_refusals_have_the_documented_codes(calls: Calls, edit: dict[str, str], code: str) -> None:
    assert code_of(apply(calls, edit)) == code


def test_each_edit_has_its_result(calls: Calls) -> None:
    applied = apply(
        calls,
        {"op": "replace_match", "pattern": "foo", "replacement": "bar", "matchSelection": "all"},
        {"op": "replace_section", "sectionId": section_id(calls, "old title"), "markdown": "All of it."},
        verbosity="full",
    )

    done(applied)
    assert applied.data["editsApplied"] == 2
    first, second = applied.data["editResults"]
    assert (first["editIndex"], first["op"], first["noOp"]) == (0, "replace_match", False)
    assert (first["matchesFound"], first["matchesReplaced"], first["warnings"]) == (3, 3, [])
    assert len(first["ranges"]) == 3
    assert (second["editIndex"], second["op"], second["noOp"]) == (1, "replace_section", False)
    assert second["sectionId"] == section_id(calls, "old title")


# Section 7: plan, then apply exactly that plan.


def test_plan_is_applied_by_its_id(calls: Calls, root: Path) -> None:
    edit = {"op": "replace_match", "pattern": "Use foo", "replacement": "Use bar"}
    planned = preview(calls, edit).data
    assert planned is not None
    assert planned["planId"].startswith("sha256-")
    assert "+Use bar, then foo, then foo." in planned["diff"]
    base = stat(calls)["baseSha256"]

    applied = calls.call("md_apply", {"planId": planned["planId"], "baseSha256": base})

    done(applied)
    assert applied.data["applied"]
    assert "diff" not in applied.data  # It was shown with the preview.
    assert (root / NAME).read_text() == README.replace("Use foo", "Use bar")
    again = calls.call("md_apply", {"planId": planned["planId"], "baseSha256": base})
    done(again)
    assert again.data["alreadyApplied"]


def test_plan_with_another_base_hash_is_refused(calls: Calls, root: Path) -> None:
    planned = preview(calls, {"op": "replace_match", "pattern": "Use foo", "replacement": "Use bar"}).data
    assert planned is not None

    refused = calls.call("md_apply", {"planId": planned["planId"], "baseSha256": "0" * 64})

    assert code_of(refused) == "STALE_BASE"
    assert (root / NAME).read_text() == README


# Old names.


@pytest.mark.parametrize(
    "old",
    [
        {"literal": True},
        {"expectedMatches": 3},
        {"literal": True, "expectedMatches": {"min": 1, "max": 3}},
        {"literal": False, "flags": ["m"], "matchSelection": "all"},
        {"match_type": "literal", "expected_match_count": 3},
    ],
)
def test_old_field_names_are_accepted(calls: Calls, old: dict[str, object]) -> None:
    counted = old if any("atch" in name and "type" not in name for name in old) else {"expectedMatches": 3}
    edit = {"op": "replace_match", "pattern": "foo", "replacement": "bar", **counted, **old}
    planned = preview(calls, edit)

    done(planned)
    assert planned.data["matchesReplaced"] == 3


def test_occurrence_of_a_match_is_refused_with_its_successor(calls: Calls) -> None:
    refused = apply(calls, {"op": "replace_match", "pattern": "foo", "replacement": "bar", "occurrence": 2})

    assert code_of(refused) == "INVALID_ARGUMENT"
    assert '`"matchSelection": "2"`' in refused.text


@pytest.mark.parametrize(
    "both",
    [
        {"literal": True, "matchType": "regex"},
        {"expectedMatches": 2, "expectedMatchCount": 3},
        {"flags": "i", "caseSensitive": True},
    ],
)
def test_old_and_new_names_that_disagree_are_refused(calls: Calls, both: dict[str, object]) -> None:
    edit = {"op": "replace_match", "pattern": "foo", "replacement": "bar", **both}

    assert code_of(apply(calls, edit)) == "INVALID_ARGUMENT"
