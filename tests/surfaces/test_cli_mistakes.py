"""Common mistakes at the command line: the message names what was meant, or where to correct it."""

import shlex
from pathlib import Path

import pytest

from tests.surfaces.command_line import mdplan

FILES = {
    "tea.md": (
        "# Tea\n\n## Green\n\nUse the blue pot.\nWater at 90 degrees.\n\n### Tips\n\n- Warm it.\n\n"
        "## Black\n\nWater at 100 degrees.\n\n### Tips\n\n- [ ] Buy Milk.\n\n<summary>cocoa</summary>\n"
    ),
    "todo.md": "- [ ] Buy milk\n- [ ] Buy milk\n",
}
MISTAKES = {
    # Commands and options.
    "plna": "did you mean `mdplan plan`?",
    "mv tea.md chai.md": "did you mean `mdplan edit rename_file`?",
    "diff tea.md": "`mdplan plan BATCH` shows the diff of a batch",
    "redo": "did you mean `mdplan undo`?",
    "--root notes outline tea.md": "put it after the command, as in `mdplan outline --root FOLDER`",
    "help replce_match": "did you mean `replace_match`?",
    "completion powershell": "give `bash`, `fish` or `zsh`",
    "bot manifest.yaml": "write `mdplan bot plan manifest.yaml`",
    "read tea.md --heading Green": "did you mean `--section`?",
    "read tea.md --section": "write `--section SECTION`",
    "read tea.md Green": "did you mean `--section Green`?",
    "outline tea.md Green": "did you mean `--under Green`?",
    "doctor notes": "write `mdplan doctor`",
    "apply --plan abcd": "name the plan without an option: `mdplan apply PLAN`",
    "apply a.yaml b.yaml": "give one PLAN at a time",
    "apply tea.md --dry-run": "`mdplan plan BATCH` shows the diff of a batch",
    "search cocoa --exclude fences": "give `codeBlocks`, `inlineCode`,",
    "merge tea.md todo.md": "give BASE, OURS and THEIRS, or --install",
    "check tea.md": "`mdplan check --since HEAD tea.md`",
    "undo tea.md": "`mdplan history tea.md` lists the IDs",
    "show": "make one with `mdplan plan BATCH`",
    # Files, batches and lines.
    "plan tea.md": "`mdplan edit OP tea.md` or `mdplan replace OLD NEW tea.md`",
    "plan bacth.json": "name a JSON or YAML file",
    "append TEA.md Green x": "To create it: `mdplan edit create_file TEA.md`",
    "read ../other.md": "name its folder as the root: `--root ",
    "read tea.md --lines 9-5": "write `--lines 5-9`",
    "read tea.md --lines 5,7": "write `--lines 5-7`",
    "read tea.md --section Gren": "did you mean `mdplan read tea.md --section 'Tea / Green'`?",
    "search tea.md Water": "the text comes first: `mdplan search Water tea.md`",
    # Edits.
    "set tea.md draft false": "write `mdplan set tea.md draft=false`",
    "set tea.md title: New": "write `mdplan set tea.md title=New`",
    "set tea.md .title=Tea": "write `mdplan set tea.md title=Tea`",
    "replace blue tea.md": "write `mdplan replace blue NEW tea.md`",
    "replace tea.md blue red": "write `mdplan replace blue red tea.md`",
    "replace s/blue/red/ tea.md": "write `mdplan replace blue red tea.md`",
    "replace -i -g blue red tea.md": "not needed: `mdplan replace` changes every match",
    "replace pot can .": "name its files, as in '**/*.md'",
    "replace cocoa coffee tea.md": "skipped: 1 in html; add `--code` to match there",
    "replace MILK cream tea.md": "`--ignore-case` matches any case",
    "replace '(' x tea.md --regex": "no `--regex` finds plain text",
    "replace Water Milk tea.md --in Blak": "`mdplan replace Water Milk tea.md --in 'Tea / Black'`",
    "append tea.md Tips More.": "name one of them: `mdplan append tea.md 'Tea / Green / Tips' More.`",
    "append Green tea.md More.": "write `mdplan append tea.md Green More.`",
    "append tea.md Green @more.md": "for a text that begins with @ write `@@more.md`",
    "tick tea.md 'Buy Mlk.'": "did you mean `mdplan tick tea.md 'Buy Milk.'`?",
    "tick tea.md 'Warm it.'": "`mdplan replace 'Warm it.' '[ ] Warm it.' tea.md`",
    "tick todo.md 'Buy milk'": "`mdplan edit set_task todo.md --item 'Buy milk' --done --item-occurrence 1`",
    "edit tea.md": "write `mdplan edit OP tea.md`",
    "edit renam_heading tea.md": "did you mean `rename_heading`?",
    "edit rename_heading tea.md Green Verde": "edit rename_heading tea.md --section Green --new-title Verde`",
    "edit delete_section tea.md Green": "write `mdplan edit delete_section tea.md --section Green`",
    "edit set_task tea.md --item x": "write `mdplan edit set_task tea.md --item x --done`",
    "edit move_section tea.md --section Green --after Black": "`--to-heading-path HEADING --position after`",
}


@pytest.mark.parametrize("typed", MISTAKES)
def test_mistake_is_answered_with_what_was_meant(project: Path, typed: str) -> None:
    for name, text in FILES.items():
        (project / name).write_text(text, encoding="utf-8")
    run = mdplan(*shlex.split(typed))

    assert run.code in {2, 3}, run.err
    assert MISTAKES[typed] in run.err
    assert {name: (project / name).read_text(encoding="utf-8") for name in FILES} == FILES


BATCHES = {
    '[{"op": "x"}]': (
        "the batch is a list",
        'put the list into an object: {"file": "guide.md", "edits": […]}',
    ),
    '{"file": "tea.md",\n}': ("1 | {", "remove this comma"),
    "{'file': 'tea.md'}": ("it has single quotes", "JSON takes double quotes only"),
    '{"file": "tea\n.md"}': ("there is a line break inside a text", "write \\n for it"),
    '{\n  // a\n  "file": "tea.md"}': ("2 |   // a\n    |   ^", "JSON has no comments"),
    '{"file": "tea.md"\n "edits": []}': ("a comma is missing here", "put a comma between two fields"),
    '{"dryRun": True}': ("`True` is not a JSON word", "write `true`"),
    '{"file": "a.md"}\n{"file": "b.md"}': ("a second JSON value begins here", "send one batch"),
    "{file: tea.md, edits: [{op: x}]}": ("it has no double quotes at all", "the shell removes quotes"),
    "---\ntitle: Tea\n---\n# Tea\n": ("standard input is not a batch of edits", "`mdplan edit OP FILE`"),
    "edits:\n  - op: x\n   heading: A\n": ("3 |    heading: A", "indent the fields of one entry alike"),
    "edits:\n\t- op: x\n": ("a tab indents this line", "indent with spaces"),
    "edits:\n  - heading: How to: brew\n": ("this `:` cannot be here", "put the text in quotes"),
    "edits:\n  - text: *Hot* water.\n": ("`*` begins an alias here", "put the text in quotes"),
}


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("batch", BATCHES)
def test_slip_in_a_batch_is_answered_with_its_place_and_correction(batch: str) -> None:
    run = mdplan("plan", stdin=batch.encode())

    assert run.code == 2
    assert [part for part in BATCHES[batch] if part not in run.err] == [], run.err
