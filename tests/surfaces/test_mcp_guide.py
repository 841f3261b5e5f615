"""The way of working, as instructions, as a resource and as a prompt: a paragraph for each active toolset."""

import json
from pathlib import Path

import pytest

from mdplan.mcp.tool import INTRODUCTIONS
from mdplan.operations import OPERATIONS
from tests.surfaces.tool_case import served

MOST_TOKENS = 1_000
CHARACTERS_PER_TOKEN = 4
# What the paragraph of a toolset has to say.
ADVICE = {
    "md": ["Look first", "sectionId", "baseSha256", "planId", "preview", "not by line numbers"],
    "text": ["TextReplace for text within lines", "lines last of all", "expectedHash", "no line number"],
    "files": ["grep_content", "read_to_next_pattern", "in one call", "after an edit search again"],
    "editor": ["Read first", "Prefer patch_text_file_contents", "in one call", "read again after an edit"],
}


@pytest.mark.requirement("toolset-text-26")
@pytest.mark.parametrize("toolset", INTRODUCTIONS)
def test_toolset_paragraph_names_its_tools(tmp_path: Path, toolset: str) -> None:
    with served(tmp_path, toolset) as calls:
        instructions = calls.client.instructions
        tools = [tool["name"] for tool in calls.tools()]

    assert [advice for advice in ADVICE[toolset] if advice not in instructions] == []
    assert any(tool in instructions for tool in tools)
    assert "\n" not in instructions


@pytest.mark.requirement("toolsets-5")
def test_each_active_toolset_has_its_paragraph_everywhere(tmp_path: Path) -> None:
    with served(tmp_path, *INTRODUCTIONS) as calls:
        paragraphs = calls.client.instructions.split("\n\n")
        prompt, guide = calls.prompt("way-of-working"), calls.read("mdplan://guide").text

    assert len(paragraphs) == len(INTRODUCTIONS)
    assert [part for part in paragraphs if part not in prompt or part not in guide] == []
    assert len("".join(paragraphs)) / CHARACTERS_PER_TOKEN <= MOST_TOKENS


@pytest.mark.requirement("toolsets-5")
def test_prompt_contains_the_instructions(tmp_path: Path) -> None:
    with served(tmp_path, "text") as calls:
        assert calls.prompts() == ["way-of-working"]
        prompt = calls.prompt("way-of-working")

    for advice in (
        "Look before you edit",
        "by its section",
        "Guard each edit",
        "in one call",
        "In doubt preview",
    ):
        assert advice in prompt
    assert "md_apply" not in prompt, "a server says nothing of tools that it does not have"


def test_guide_lists_operations_only_for_toolsets_that_have_them(tmp_path: Path) -> None:
    with served(tmp_path, "md") as calls:
        guide = calls.read("mdplan://guide").text
        assert json.loads(calls.read("mdplan://schema/batch").text)["properties"]["edits"]["items"]["oneOf"]
    with served(tmp_path, "files") as calls:
        other = calls.read("mdplan://guide").text

    assert [op for op in OPERATIONS if f"### {op}\n" not in guide] == []
    assert "### " not in other
