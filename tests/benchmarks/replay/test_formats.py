"""The formats of the replay do what they are described to do, and the judge tells right from wrong."""

import pytest

from tests.benchmarks.replay import diffs, formats
from tests.benchmarks.replay.judge import Drifted, judged
from tests.benchmarks.replay.kinds import kind_of
from tests.benchmarks.replay.tools import TOOLS, Tool
from tests.support.case_tables import CaseTables

CASE_TABLES = CaseTables(__file__)


OLD = "# A\n\none\ntwo\nthree\nfour\n\n## B\n\none\nmore words\n"
NEW = OLD.replace("two", "TWO").replace("more words", "other words\nand more")


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_each_tool_call_makes_its_change(tool: Tool) -> None:
    call = tool.write("a.md", OLD, NEW)

    assert call is not None
    assert tool.apply(call, "a.md", OLD, OLD) == NEW


def test_edit_file_takes_other_indentation_and_makes_all_line_ends_lf() -> None:
    call = formats.edit_file_write("a.md", "- a\n- b\n", "- a\n- c\n")

    assert formats.edit_file_apply(call, "a.md", "- a\r\n   - b\r\n", "") == "- a\n   - c\n"


@CASE_TABLES.parametrize("gone", "come", "text", "result")
def test_aider_blocks_tolerate_what_aider_tolerates(
    gone: str, come: str, text: str, result: str | None
) -> None:
    call = f"a.md\n```\n<<<<<<< SEARCH\n{gone}=======\n{come}>>>>>>> REPLACE\n```\n"

    assert formats.aider_apply(call, "a.md", text, "") == result


def test_hunks_of_a_patch_share_no_context() -> None:
    lines = [f"line {number}\n" for number in range(20)]
    new = "".join(line.upper() if number in (3, 8) else line for number, line in enumerate(lines))
    call = diffs.codex_write("a.md", "".join(lines), new)

    assert call.count("\n@@\n") == 1
    assert call.count(" line 5\n") == 1


def test_heading_selects_the_place_of_a_patch() -> None:
    section = "\none\ntwo\nthree\nfour\nfive\nsix\nseven\n"
    old = f"# A\n{section}\n# B\n{section}"
    new = f"# A\n{section}\n# B\n{section.replace('four', 'FOUR')}"
    call = diffs.codex_write("a.md", old, new)

    assert "@@ # B\n" in call
    assert diffs.codex_apply(call, "a.md", old, old) == new


def test_anchor_of_another_line_is_rejected() -> None:
    call = formats.hashline_write("a.md", OLD, NEW)

    assert formats.hashline_apply(call, "a.md", f"new\n{OLD}", OLD) is None


@CASE_TABLES.parametrize("result", "verdict")
def test_judge_rejects_a_change_at_another_place(result: str | None, verdict: str) -> None:
    old, new = "# A\n\none\ntwo\n\n## B\n\none\n", "# A\n\none\nTWO\n\n## B\n\none\n"
    drifted = Drifted(old.replace("# A\n", "# A\n\nnew\n", 1), new.replace("# A\n", "# A\n\nnew\n", 1), True)

    assert judged(result, drifted, old, new) == verdict


@CASE_TABLES.parametrize("old", "new", "kind")
def test_kind_depends_on_all_changed_lines(old: str, new: str, kind: str) -> None:
    assert kind_of(old, new) == kind
