"""Manifests that a stranger wrote end in a diagnostic: no traceback, no long run, no change of a file."""

from pathlib import Path

import pytest

from tests.hostile.trial import PATIENCE, timed
from tests.surfaces.command_line import mdplan

EDIT = "{op: append_to_file, markdown: Owned.}"
RULE = f"files: [{{file: guide.md, edits: [{EDIT}]}}]\n"


def of_file(file: str) -> str:
    return f"files: [{{file: {file!r}, edits: [{EDIT}]}}]\n"


def of_glob(glob: str, edit: str = EDIT) -> str:
    return f"files: [{{glob: {glob!r}, edits: [{edit}]}}]\n"


def of_edit(edit: str) -> str:
    return f"files: [{{file: guide.md, edits: [{edit}]}}]\n"


ALIASES = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 30))
MANIFESTS = {
    "aliases that grow": ALIASES + RULE,
    "alias of itself": "files: &a [*a]\n",
    "merge key": "base: &b {x: 1}\nvars: {<<: *b}\n" + RULE,
    "deep list": "[" * 5000 + "]" * 5000,
    "deep map": "{a: " * 2000 + "1" + "}" * 2000,
    "repeated key": RULE + RULE,
    "two documents": RULE + "---\n" + RULE,
    "no UTF-8": b"\xff\xfe\x00files",
    "null bytes": b"files:\x00 []\n",
    "empty": "",
    "text": "just text\n",
    "list": "[]\n",
    "files that are a number": "files: 7\n",
    "unknown field": "command: id\n" + RULE,
    "unknown operation": of_edit("{op: run_command, command: id}"),
    "huge number": f"maxFiles: {'9' * 5000}\n" + RULE,
    "infinite number": "maxFiles: .inf\n" + RULE,
    "path above": of_file("../outside.md"),
    "absolute path": of_file("/tmp/outside.md"),
    "state folder": of_file(".mdplan/journal/1.md"),
    "git folder": of_file(".git/config"),
    "glob above": of_glob("../*.md"),
    "glob that is slow": of_glob("**/*a*a*a*a*a*b/**/**/x"),
    "pattern that is slow": of_edit("{op: replace_match, pattern: '(a|a)*$', regex: true, replacement: x}"),
    "placeholder of the environment": of_edit("{op: append_to_file, markdown: '{{env.HOME}}'}"),
    "placeholder of nothing": of_edit("{op: append_to_file, markdown: '{{vars.x.__class__}}'}"),
    "rename outside": of_edit("{op: rename_file, newFile: ../outside.md}"),
    "name with an escape": of_file("a\x1b[31m.md"),
}


@pytest.mark.parametrize("name", MANIFESTS)
@pytest.mark.parametrize("command", ["plan", "apply"])
def test_hostile_manifest_never_writes_or_ends_in_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, name: str
) -> None:
    checkout = tmp_path / "checkout"
    (checkout / ".git").mkdir(parents=True)
    guide = "# Guide\n\n" + "a" * 40 + "!\n"
    (checkout / "guide.md").write_text(guide, encoding="utf-8")
    manifest = MANIFESTS[name]
    data = manifest if isinstance(manifest, bytes) else manifest.encode()
    (checkout / "bot.yml").write_bytes(data)
    monkeypatch.chdir(checkout)
    run, seconds = timed(lambda: mdplan("bot", command, "bot.yml"))

    assert seconds < PATIENCE
    assert run.code in {2, 3}
    assert run.err.startswith("error: ")
    assert "\x1b" not in run.err
    assert (checkout / "guide.md").read_text(encoding="utf-8") == guide
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkout"]
    assert sorted(path.name for path in checkout.iterdir()) == [".git", "bot.yml", "guide.md"]


def test_tag_of_a_manifest_never_makes_an_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tags mean nothing: the value below one is read as without it."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "guide.md").write_text("# Guide\n", encoding="utf-8")
    tagged = "vars: {x: !!python/object/apply:os.mkdir [owned]}\n" + RULE
    (tmp_path / "bot.yml").write_text(tagged, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    mdplan("bot", "plan", "bot.yml")

    assert not (tmp_path / "owned").exists()
