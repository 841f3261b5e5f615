"""Programs and libraries that apply unified diffs, as independent judges.

A tree is a dict of paths and bytes; missing files have no entry.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from dulwich.patch import apply_patch_hunks, parse_unified_diff
from unidiff.patch import PatchSet

from mdplan.text.diff import file_diff, find_hunks
from mdplan.text.source import ByteEdit

Tree = dict[str, bytes]
Tool = Callable[[Tree, bytes], Tree]
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
needs_patch = pytest.mark.skipif(shutil.which("patch") is None, reason="GNU patch is not installed")


def lf_lines(data: bytes) -> list[bytes]:
    """Return lines as diffs count them: ending only at LF."""
    return re.findall(rb"[^\n]*\n|[^\n]+", data)


def git_apply(tree: Tree, diff: bytes) -> Tree:
    """Apply `diff` to `tree` with `git apply`, after `git apply --check`."""
    return _run_in(tree, diff, ["git", "apply", "--check"], ["git", "apply"])


def gnu_patch(tree: Tree, diff: bytes) -> Tree:
    """Apply `diff` to `tree` with `patch -p1`, failing on offsets."""
    return _run_in(tree, diff, ["patch", "-p1"])


def dulwich_apply(tree: Tree, diff: bytes) -> Tree:
    """Apply `diff` to `tree` with dulwich."""
    result = dict(tree)
    for patch in parse_unified_diff(diff):
        old = result.pop(patch.old_path[2:].decode()) if patch.old_path else b""
        lines = apply_patch_hunks(patch, lf_lines(old))
        assert lines is not None, patch
        if patch.new_path:
            result[patch.new_path[2:].decode()] = b"".join(lines)
    return result


def unidiff_print(diff: bytes) -> bytes:
    """Return `diff` as parsed and printed by unidiff."""
    return str(PatchSet(diff.decode("utf-8"))).encode("utf-8")


def without_tabs(diff: bytes) -> bytes:
    """Return `diff` without the TAB after names with spaces, which unidiff does not print."""
    return re.sub(
        rb"(?m)^(diff --git .*\n(?:.* mode .*\n)?--- .*?)\t?\n(\+\+\+ .*?)\t?\n", rb"\1\n\2\n", diff
    )


def _run_in(tree: Tree, diff: bytes, *commands: list[str]) -> Tree:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, data in tree.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        environment = {
            "PATH": os.environ["PATH"],
            "LC_ALL": "C",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CEILING_DIRECTORIES": str(root.resolve().parent),  # Ignore a surrounding repository.
        }
        for command in commands:
            done = subprocess.run(
                command, cwd=root, input=diff, capture_output=True, env=environment, check=False
            )
            assert done.returncode == 0, (command, done.stdout, done.stderr)
            assert b"Hunk" not in done.stdout, done.stdout
        return {
            path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()
        }


# --- Diffs of one file, for tests of reading and writing diffs


def unified_diff(path: str, base: bytes, edits: Sequence[ByteEdit], *, context: int = 3) -> bytes:
    """Return the diff of the file `path` from `base` to the result of sorted, disjoint `edits`.

    `path` is relative, with forward slashes. Edits without effect give no bytes. git and GNU patch refuse
    hunks without context, so `context` is at least 1.
    """
    return file_diff(path, path, find_hunks(base, edits, context=context))


def creation_diff(path: str, data: bytes) -> bytes:
    """Return the diff that creates the file `path`."""
    return file_diff(None, path, find_hunks(b"", [ByteEdit(0, 0, data)]))


def deletion_diff(path: str, base: bytes) -> bytes:
    """Return the diff that deletes the file `path` with content `base`. GNU patch refuses an empty file."""
    return file_diff(path, None, find_hunks(base, [ByteEdit(0, len(base), b"")]))
