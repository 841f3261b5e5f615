"""The review as an MCP App, in a small host: shown, answered, decided; and who may not decide."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mdplan.decisions import Remarks, Verdict
from mdplan.engine.engine import Engine
from mdplan.engine.reviews import ReviewService
from tests.browser.app_host.host import host
from tests.browser.review_server import EDITS, GUIDE

if TYPE_CHECKING:
    from playwright.sync_api import Browser

BATCH: dict[str, Any] = {"file": "guide.md", "edits": EDITS}
IN_CHAT = ("--require-approval", "--approve-in-chat")


def reviewing(root: Path) -> ReviewService:
    return ReviewService(Engine.open([root]))


def test_declined_edit_is_left_out_of_the_applied_plan(browser: "Browser", root: Path) -> None:
    with host(browser, root, *IN_CHAT) as shown:
        app = shown.show("md_validate", BATCH)
        app.wait_for_selector("text=Edit 2")
        assert "3 edits in guide.md" in app.text_content("h1")
        assert app.locator(".diff tr.new .t").all_text_contents()[0] == "1st"
        assert app.text_content("#sum") == "0 of 3 edits accepted, 3 open; 1 of 1 file viewed"

        app.get_by_role("button", name="Accept edit 1").click()
        app.get_by_role("button", name="Reject edit 2").click()
        app.get_by_role("button", name="Accept edit 3").click()
        app.locator('[data-edit="1"] .say summary').click()
        app.locator('[data-edit="1"] [data-comment]').fill("keep it")
        app.fill("#comment", "fine but for one")
        assert app.text_content("#sum") == "2 of 3 edits accepted, 1 rejected; 1 of 1 file viewed"
        app.get_by_role("button", name="Approve and apply").click()
        app.wait_for_selector("text=Applied: 1 file written.")
        said = shown.chat
        plan_id = next(arguments["planId"] for name, arguments in shown.called if name == "md_decide")

    assert (root / "guide.md").read_text() == GUIDE.replace("first", "1st").replace("third", "3rd")
    decision = reviewing(root).open(plan_id).decision
    assert (decision.channel, decision.rejected, decision.remarks.comment) == (
        "chat app",
        (1,),
        "fine but for one",
    )
    assert decision.remarks.edit_comments == {1: "keep it"}
    assert "without 1 edit" in said[0]


def test_decision_tool_rejects_calls_of_the_model(browser: "Browser", root: Path) -> None:
    with host(browser, root, *IN_CHAT) as shown:
        result = shown.call("md_validate", BATCH)
        facts = result["_meta"]["mdplan/review"]
        # Anything a model can read is free of nonces: text and data of results, the App, and tool
        # descriptions.
        readable = [
            json.dumps({name: result[name] for name in ("content", "structuredContent")}),
            shown.model.read("ui://mdplan/review").text,
            json.dumps(shown.model.tools()),
            json.dumps(shown.call("md_review", {"planId": facts["planId"]})),
            json.dumps(shown.call("md_review", {"planId": facts["planId"], "file": 0})),
        ]
        assert not any(facts["nonce"] in text for text in readable)

        decision = {"planId": facts["planId"], "version": facts["version"], "verb": "approve_and_apply"}
        guesses = ("", "0" * 64, facts["version"], facts["planId"], facts["nonce"][:-1])
        for guess in guesses:
            refused = shown.call("md_decide", {**decision, "nonce": guess})
            assert refused["isError"]
            assert refused["structuredContent"]["error"]["code"] == "APPROVAL_REQUIRED"
            assert "_meta" not in refused or "mdplan/review" not in refused["_meta"]
        applied = shown.call("md_apply", {"planId": facts["planId"]})

    assert applied["structuredContent"]["error"]["code"] == "APPROVAL_REQUIRED"
    assert (root / "guide.md").read_text() == GUIDE
    assert reviewing(root).open(facts["planId"]).decision is None


def test_changes_can_be_requested_without_permission_to_approve(browser: "Browser", root: Path) -> None:
    with host(browser, root, "--require-approval") as shown:
        app = shown.show("md_validate", BATCH)
        app.wait_for_selector("text=Edit 2")
        assert not app.get_by_role("button", name="Approve").first.is_visible()
        assert not app.get_by_role("button", name="Apply").is_visible()
        assert "Plans cannot be approved in this chat" in app.text_content("#elsewhere")
        app.locator('[data-edit="2"] .say summary').click()
        app.locator('[data-edit="2"] [data-comment]').fill("use a numeral")
        app.get_by_role("button", name="Request changes").click()
        app.wait_for_selector("#said:has-text('requested changes')")
        (said,) = shown.chat
        plan_id = reviewing(root).entries()[0].review.plan_id
        refused = shown.call("md_apply", {"planId": plan_id})

    assert "requested changes" in said
    assert "use a numeral" in refused["content"][0]["text"]
    assert (root / "guide.md").read_text() == GUIDE


def test_comments_on_lines_reach_the_agent_with_their_place(browser: "Browser", root: Path) -> None:
    with host(browser, root, "--require-approval") as shown:
        app = shown.show("md_validate", BATCH)
        app.get_by_role("button", name="Request changes").click()
        app.wait_for_selector("#said.bad:has-text('Say what to change')")
        app.get_by_role("button", name="Comment on line 3 before the plan").click()
        app.fill(".talk textarea", "who was first?")
        app.get_by_role("button", name="Comment on line 5", exact=True).focus()
        app.get_by_role("button", name="Comment on line 5", exact=True).press("ArrowDown")
        app.get_by_role("button", name="Comment on line 6", exact=True).press("Enter")
        app.get_by_label("Comment on line 6", exact=True).last.fill("not 2nd")
        app.get_by_role("button", name="Comment on line 7", exact=True).click(modifiers=["Shift"])
        assert app.get_by_label("Comment on lines 6 to 7").is_visible()
        app.get_by_role("button", name="Request changes").click()
        app.wait_for_selector("#said:has-text('requested changes')")
        plan_id = reviewing(root).entries()[0].review.plan_id
        refused = shown.call("md_apply", {"planId": plan_id})["content"][0]["text"]
        app = shown.show("md_validate", {"file": "guide.md", "edits": EDITS[:1]})
        app.locator(".revises summary").click()
        revises = app.text_content(".revises")

    assert "who was first?" in revises
    assert "-2nd  \n+second  \n" in revises
    first, second = reviewing(root).open(plan_id).decision.remarks.line_comments
    assert (first.file, first.side, first.start, first.end, first.quote) == (
        "guide.md",
        "before",
        3,
        3,
        "first",
    )
    assert (second.side, second.start, second.end, second.text) == ("after", 6, 7, "not 2nd")
    assert "who was first?" in refused
    assert "not 2nd" in refused


def test_plan_is_applied_where_no_approval_is_required(browser: "Browser", root: Path) -> None:
    with host(browser, root) as shown:
        app = shown.show("md_validate", BATCH)
        app.wait_for_selector("text=Edit 2")
        app.get_by_role("button", name="Reject edit 2").click()
        app.get_by_role("button", name="Apply", exact=True).click()
        assert "2 edits without an answer will be accepted." in app.text_content("#asked")
        app.locator("#asked [data-yes]").click()
        app.wait_for_selector("#said:has-text('applied')")

    assert (root / "guide.md").read_text() == GUIDE.replace("first", "1st").replace("third", "3rd")


def test_decision_made_elsewhere_is_never_overwritten(browser: "Browser", root: Path) -> None:
    with host(browser, root, *IN_CHAT) as shown:
        app = shown.show("md_validate", BATCH)
        app.wait_for_selector("text=Edit 2")
        plan_id = reviewing(root).entries()[0].review.plan_id
        reviewing(root).decide(plan_id, "ann", Verdict.REJECTED, Remarks(comment="no"))
        app.get_by_role("button", name="Approve", exact=True).click()
        app.locator("#asked [data-yes]").click()
        app.wait_for_selector("#said.bad:has-text('STALE_DECISION')")

    assert reviewing(root).open(plan_id).decision.decided_by == "ann"


def test_files_of_a_large_plan_load_when_opened(browser: "Browser", root: Path) -> None:
    files = []
    for number in range(30):
        (root / f"part-{number}.md").write_text("# Part\n\nold\n")
        edit = {"op": "replace_match", "pattern": "old", "replacement": f"new {number}"}
        files.append({"file": f"part-{number}.md", "edits": [edit]})
    with host(browser, root, *IN_CHAT) as shown:
        app = shown.show("md_validate", {"files": files})
        app.wait_for_selector("text=part-29.md")
        assert app.locator(".diff").count() == 0
        app.locator("summary", has_text="part-17.md").click()
        app.wait_for_selector("text=new 17")
        assert app.text_content("#sum") == "0 of 30 edits accepted, 30 open; 1 of 30 files viewed"
        app.get_by_role("button", name="Approve", exact=True).click()
        asked = app.text_content("#asked p")

    assert "30 edits without an answer will be accepted." in asked
    assert "29 files not viewed: part-0.md, part-1.md" in asked


def test_hostile_text_is_escaped_in_the_page(browser: "Browser", root: Path) -> None:
    (root / "guide.md").write_text("# A\n\nold\n")
    text = "<img src=x onerror='throw 1'></script><script>throw 2</script>"
    edit = {"op": "replace_match", "pattern": "old", "replacement": text}
    with host(browser, root, *IN_CHAT) as shown:
        app = shown.show("md_validate", {"file": "guide.md", "edits": [edit]})
        app.wait_for_selector(".diff")
        assert app.locator(".diff img, .diff script").count() == 0
        assert text in app.text_content(".diff tr.new .t")


@pytest.mark.parametrize(("theme", "width"), [("light", 900), ("dark", 400)])
def test_app_has_no_serious_accessibility_violation(
    browser: "Browser", root: Path, axe: str, theme: str, width: int, tmp_path: Path
) -> None:
    with host(browser, root, *IN_CHAT, width=width) as shown:
        app = shown.show("md_validate", BATCH, theme=theme)
        app.wait_for_selector("text=Edit 2")
        app.get_by_role("button", name="Accept edit 1").click()
        app.get_by_role("button", name="Reject edit 2").click()
        app.get_by_role("button", name="Comment on line 3 before the plan").click()
        app.evaluate(axe)
        found = app.evaluate("() => axe.run(document)")
        assert app.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        shown.page.screenshot(path=tmp_path / "app.png", full_page=True)

    bad = [each for each in found["violations"] if each["impact"] in ("serious", "critical")]
    assert bad == [], [(each["id"], [node["html"] for node in each["nodes"]]) for each in bad]
