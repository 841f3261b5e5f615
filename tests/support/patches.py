"""Programs and libraries that apply unified diffs: independent judges of ours.

A tree is a dict of paths and bytes; a file that is not there has no entry.
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
    """Lines as diffs count them: with their LF, and nothing but LF ends one."""
    return re.findall(rb"[^\n]*\n|[^\n]+", data)


def git_apply(tree: Tree, diff: bytes) -> Tree:
    """What `git apply` makes of `tree`, after `git apply --check` agreed."""
    return _run_in(tree, diff, ["git", "apply", "--check"], ["git", "apply"])


def gnu_patch(tree: Tree, diff: bytes) -> Tree:
    """What `patch -p1` makes of `tree`; lines that it must search for are a failure."""
    return _run_in(tree, diff, ["patch", "-p1"])


def dulwich_apply(tree: Tree, diff: bytes) -> Tree:
    """What dulwich makes of `tree`."""
    result = dict(tree)
    for patch in parse_unified_diff(diff):
        old = result.pop(patch.old_path[2:].decode()) if patch.old_path else b""
        lines = apply_patch_hunks(patch, lf_lines(old))
        assert lines is not None, patch
        if patch.new_path:
            result[patch.new_path[2:].decode()] = b"".join(lines)
    return result


def unidiff_print(diff: bytes) -> bytes:
    """`diff` as unidiff parses it and prints it again."""
    return str(PatchSet(diff.decode("utf-8"))).encode("utf-8")


def without_tabs(diff: bytes) -> bytes:
    """`diff` without the TAB behind names with blanks, which unidiff does not print again."""
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
            "GIT_CEILING_DIRECTORIES": str(root.resolve().parent),  # A repository around it would count.
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


# --- Diffs of one file, for tests of what reads and writes diffs.


def unified_diff(path: str, base: bytes, edits: Sequence[ByteEdit], *, context: int = 3) -> bytes:
    """Diff of the file `path` from `base` to the result of sorted, disjoint `edits`.

    `path` is relative, with forward slashes. Edits that change nothing give no bytes at all. git and
    GNU patch refuse hunks without context, so `context` is 1 or more.
    """
    return file_diff(path, path, find_hunks(base, edits, context=context))


def creation_diff(path: str, data: bytes) -> bytes:
    """Diff that makes the file `path` out of nothing."""
    return file_diff(None, path, find_hunks(b"", [ByteEdit(0, 0, data)]))


def deletion_diff(path: str, base: bytes) -> bytes:
    """Diff that removes the file `path`, which holds `base`. GNU patch declines where that is empty."""
    return file_diff(path, None, find_hunks(base, [ByteEdit(0, len(base), b"")]))
