"""Questions of agents: which documents have such front matter, and where a block, a table or a task is."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.mcp_calls import Calls, calls_to, process
from tests.surfaces.tool_case import lay_out, served

DOCUMENTS = {
    "draft.md": "---\nstatus: Draft\nowner: {name: Ann}\naliases: [one, two]\n---\n# Kettle\n\nBoil Water.\n",
    "final.md": "---\nstatus: Final\naliases: [one]\nyear: 2026\nempty: []\n---\n# Pot\n\nboil water.\n",
    "scalar.md": "---\nstatus: draft\naliases: one\nyear: '2026'\n---\n# Cup\n\nwater\n",
    "plain.md": "# Plain\n\nstatus: Draft\n",
    "guide.md": """\
# Guide

```sh
zero
```

## Use

```sh
one
```

```js
two
```

```sh
three
```

| Name | Age |
|---|---|
| Ann | 30 |

| City | Size |
|---|---|
| Rome | big |

- [ ] Morning
  - [ ] Boil
- [ ] Evening
  - [ ] Boil

1. first
2. second
""",
}


@pytest.fixture
def calls(tmp_path: Path) -> Iterator[Calls]:
    lay_out(tmp_path, {name: text.encode() for name, text in DOCUMENTS.items()})
    with served(tmp_path, "md") as connected:
        yield connected


def names_of(calls: Calls, **request: object) -> list[str]:
    found = calls.call("md_search", {"filesOnly": True, **request})
    assert not found.is_error, found.text
    data: dict[str, Any] = found.data
    rows = data["listing"].split("\n") if "listing" in data else [each["file"] for each in data["files"]]
    return [row.split()[0] for row in rows if row]


@pytest.mark.parametrize(
    ("question", "files"),
    [
        ({"where": {"status": "Draft"}}, ["draft.md"]),
        ({"where": {"status": "draft"}}, ["scalar.md"]),
        ({"where": {"status": ["Draft", "draft"]}}, ["draft.md", "scalar.md"]),
        ({"where": {"owner.name": "Ann"}}, ["draft.md"]),
        ({"where": {"aliases": "one"}}, ["draft.md", "final.md", "scalar.md"]),
        ({"where": {"aliases": ["one"]}}, ["final.md", "scalar.md"]),
        ({"where": {"year": 2026}}, ["final.md"]),
        ({"where": {"year": "2026"}}, ["scalar.md"]),
        ({"has": ["year"]}, ["final.md", "scalar.md"]),
        ({"has": ["year", "empty"]}, ["final.md"]),
        ({"has": ["owner.name"]}, ["draft.md"]),
        ({"min": {"aliases": 2}}, ["draft.md"]),
        ({"min": {"aliases": 1}}, ["draft.md", "final.md", "scalar.md"]),
        ({"min": {"empty": 1}}, []),
        ({"where": {"aliases": "one"}, "min": {"aliases": 2}, "has": ["status"]}, ["draft.md"]),
        ({"pattern": "water", "where": {"aliases": "one"}}, ["final.md", "scalar.md"]),
        ({"pattern": "WATER", "caseSensitive": False}, ["draft.md", "final.md", "scalar.md"]),
        ({"pattern": "^status", "matchType": "regex"}, ["draft.md", "final.md", "plain.md", "scalar.md"]),
    ],
    ids=str,
)
def test_question_names_the_documents(calls: Calls, question: dict[str, object], files: list[str]) -> None:
    assert names_of(calls, **question) == files


def test_answer_gives_the_values_that_were_asked_about(calls: Calls) -> None:
    found = calls.call("md_search", {"where": {"status": "Draft"}, "min": {"aliases": 2}}).data

    assert found["files"] == [
        {"file": "draft.md", "frontMatter": {"status": "Draft", "aliases": ["one", "two"]}}
    ]


def test_min_of_a_scalar_is_a_warning(calls: Calls) -> None:
    answer = calls.call("md_search", {"min": {"aliases": 2}, "where": {"status": "draft"}})
    found = answer.data

    assert "\nwarning: INVALID_ARGUMENT: `min` counts" in answer.text
    assert [warning["message"] for warning in found["warnings"]] == [
        "`min` counts items of lists, and `aliases` is not a list in `scalar.md`"
    ]


@pytest.mark.parametrize("question", [{}, {"min": {"aliases": "many"}}, {"where": "draft"}, {"has": 3}])
def test_question_of_another_form_is_refused(calls: Calls, question: dict[str, object]) -> None:
    refused = calls.call("md_search", question)

    assert refused.is_error
    assert refused.data["error"]["code"] == "INVALID_ARGUMENT"


def test_search_is_case_sensitive_as_described(calls: Calls) -> None:
    (search,) = (tool for tool in calls.tools() if tool["name"] == "md_search")

    assert calls.call("md_search", {"pattern": "BOIL WATER"}).data["totalMatches"] == 0
    assert "case-sensitive by default" in search["description"]
    assert "caseSensitive" in search["inputSchema"]["properties"]


def test_match_in_front_matter_has_no_section(calls: Calls) -> None:
    found = calls.call("md_search", {"pattern": "Final", "file": "final.md"})

    assert found.data["files"][0]["hits"].split("\n")[0].strip().startswith("2:9")


@pytest.mark.parametrize(
    ("place", "content"),
    [
        ({"heading": "Use", "codeBlock": {"language": "sh", "index": 0}}, "one"),
        ({"heading": "Use", "codeBlock": {"language": "sh", "index": 1}}, "three"),
        ({"heading": "Use", "codeBlock": {"index": 1}}, "two"),
        ({"codeBlock": {"language": "sh", "index": 0}}, "zero"),
        ({"heading": "Use", "codeBlock": {"language": "js"}}, "two"),
        ({"heading": "Use", "table": {"header": "City"}}, "Rome"),
        ({"heading": "Use", "table": {"header": ["City", "Size"]}}, "Rome"),
        ({"heading": "Use", "table": {"header": "City | Size"}}, "Rome"),
        ({"heading": "Use", "table": {"index": 0}}, "Ann"),
        ({"heading": "Use", "list": {"index": 1}}, "second"),
    ],
    ids=str,
)
def test_block_is_read_by_its_position(calls: Calls, place: dict[str, object], content: str) -> None:
    read = calls.call("md_read", {"file": "guide.md", **place})

    assert not read.is_error, read.text
    assert content in read.data["results"][0]["content"]


def test_files_whose_values_were_shown_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "draft.md").write_text("---\nstatus: Draft\n---\n")
    edit = {"op": "set_value", "key": "status", "value": "Final"}
    with calls_to(process("--root", str(tmp_path)), "legacy") as calls:
        assert names_of(calls, where={"status": "Draft"}) == ["draft.md"]
        done = calls.call("md_apply", {"files": ["draft.md"], "edits": [edit]})

    assert not done.is_error, done.text


@pytest.mark.parametrize(
    ("question", "hint"),
    [
        ({"where": {"status": "DRAFT"}}, 'there are "Draft", "Final", "draft"; case matters'),
        ({"where": {"year": 1999}}, 'there are 2026, "2026"; case matters'),
        ({"where": {"status": "Draft"}}, None),
    ],
    ids=str,
)
def test_question_without_an_answer_names_the_values_that_are_there(
    calls: Calls, question: dict[str, object], hint: str | None
) -> None:
    found = calls.call("md_search", {"filesOnly": True, **question})

    assert [each["hint"] for each in found.data.get("warnings", [])] == ([] if hint is None else [hint])
