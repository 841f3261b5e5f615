"""Manifests that a stranger wrote end in a diagnostic: no traceback, no long run, no change of a file."""

import json
import os
from pathlib import Path

import pytest

from mdplan.bot.manifest import InputFiles, ManifestInputs, load_manifest
from mdplan.diagnostics import Code
from tests.hostile.trial import PATIENCE, timed
from tests.support.case_tables import CaseTables
from tests.surfaces.command_line import Run, mdplan

CASE_TABLES = CaseTables(__file__)


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
    assert run.code in {1, 2, 3}
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


# --- S3: a manifest, and the data that it names, never lead to a file outside of the manifest's root.

SECRET = "sesame-4711"
MANIFEST = CASE_TABLES.value("MANIFEST")


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with a guide, beside a file with a secret."""
    (tmp_path / "secret.json").write_text(json.dumps({"key": SECRET}), encoding="utf-8")
    checkout = tmp_path / "checkout"
    (checkout / "bot").mkdir(parents=True)
    (checkout / ".git").mkdir()
    (checkout / "guide.md").write_text("# Guide\n\nnightly\n", encoding="utf-8")
    (checkout / "data.json").write_text('{"key": "stable"}', encoding="utf-8")
    monkeypatch.chdir(checkout)
    return checkout


def planned(data: str, *options: str) -> Run:
    """`mdplan bot plan` of a manifest with the data file `data`."""
    Path("bot/bot.yml").write_text(MANIFEST.format(path=json.dumps(data)), encoding="utf-8")
    run, seconds = timed(lambda: mdplan("bot", "plan", "bot/bot.yml", *options))
    assert seconds < PATIENCE
    return run


def refused(run: Run) -> None:
    assert (run.code, run.out) == (2, b"")
    assert run.err.startswith("error: INVALID_ARGUMENT")
    assert SECRET not in run.err


def test_data_files_below_the_manifest_root_are_read(checkout: Path) -> None:
    run = planned("../data.json")

    assert (run.code, b"+stable" in run.out) == (0, True)


@CASE_TABLES.parametrize("path")
def test_data_of_a_manifest_never_come_from_outside_its_root(checkout: Path, path: str) -> None:
    refused(planned(path.format(outside=checkout.parent, inside=checkout)))


@pytest.mark.parametrize("roots", [(), ("--root", ".."), ("--root", "bot")], ids=["none", "above", "below"])
@pytest.mark.parametrize("link", ["file", "folder"])
def test_data_of_a_manifest_never_come_through_a_link(
    checkout: Path, link: str, roots: tuple[str, ...]
) -> None:
    target = "../../secret.json" if link == "file" else "../.."
    (checkout / "bot" / "link").symlink_to(target)

    refused(planned("link" if link == "file" else "link/secret.json", *roots))


def test_data_of_a_manifest_are_never_a_fifo_or_a_device(checkout: Path) -> None:
    os.mkfifo(checkout / "bot" / "fifo")

    refused(planned("fifo"))
    refused(planned(".."))


def test_data_of_a_manifest_are_never_larger_than_a_document(checkout: Path) -> None:
    with (checkout / "bot" / "huge.json").open("wb") as file:
        file.truncate(1 << 40)

    refused(planned("huge.json"))


def test_data_of_a_manifest_never_come_from_a_denied_file(checkout: Path) -> None:
    refused(planned("../data.json", "--deny", "data.json"))
    assert planned("../data.json", "--deny", "data.json").err == (
        planned("../gone.json", "--deny", "gone.json").err.replace("gone", "data")
    )


@pytest.mark.parametrize("kind", ["link", "folder of a link", "fifo"])
def test_manifest_itself_is_never_a_link_or_a_fifo(checkout: Path, kind: str) -> None:
    (checkout.parent / "outside").mkdir()
    (checkout.parent / "outside" / "bot.yml").write_text(f"{SECRET}: 1\n", encoding="utf-8")
    if kind == "fifo":
        os.mkfifo(checkout / "m.yml")
    elif kind == "link":
        (checkout / "m.yml").symlink_to("../outside/bot.yml")
    else:
        (checkout / "m").symlink_to("../outside")

    for roots in ((), ("--root", "bot")):
        refused(mdplan("bot", "plan", "m/bot.yml" if kind.startswith("folder") else "m.yml", *roots))


@pytest.mark.parametrize("path", ["link.json", "fifo", "/dev/zero"])
def test_data_of_an_option_are_never_a_link_of_the_checkout_or_endless(checkout: Path, path: str) -> None:
    (checkout / "link.json").symlink_to("../secret.json")
    os.mkfifo(checkout / "fifo")

    refused(planned("../data.json", "--data", f"stolen={path}"))


def test_data_file_of_an_option_may_be_anywhere(checkout: Path) -> None:
    run = planned("../data.json", "--data", "stolen=../secret.json")

    assert (run.code, f"+{SECRET}".encode() in run.out) == (0, True)


def test_manifest_outside_every_root_reads_data_of_its_own_folder(checkout: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "values.json").write_text('{"key": "mine"}', encoding="utf-8")
    for data, is_read in (("values.json", True), ("../secret.json", False)):
        (elsewhere / "bot.yml").write_text(MANIFEST.format(path=data), encoding="utf-8")
        loaded = load_manifest(str(elsewhere / "bot.yml"), ManifestInputs(), InputFiles())
        assert (not isinstance(loaded, tuple)) is is_read
        if isinstance(loaded, tuple):
            assert [problem.code for problem in loaded] == [Code.INVALID_ARGUMENT]
