"""Text that a command is given: as an option, from a file, from standard input, or from an editor."""

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import click

from mdplan.cli.usage.misuse import Misuse

STANDARD_INPUT: Final = "-"
_EDITORS: Final = ("MDPLAN_EDITOR", "VISUAL", "EDITOR")


def read_content(value: str) -> str:
    """The text that `value` stands for: ``-`` is standard input, ``@FILE`` a file, ``@@…`` a text with ``@``.

    The first hunk of a diff begins with ``@@ -`` and stands for itself. Raises a usage error where the text
    cannot be read.
    """
    if value == STANDARD_INPUT:
        # A standard input that was closed at the start is None.
        return _decoded(sys.stdin.buffer.read(), "standard input") if sys.stdin is not None else ""
    if value.startswith("@@ -"):
        return value
    if value.startswith("@@"):
        return value[1:]
    if not value.startswith("@"):
        return value
    try:
        return _decoded(Path(value[1:]).read_bytes(), f"`{value[1:]}`")
    except OSError as error:
        hint = f"@ stands for a file; for a text that begins with @ write `@{value}`"
        raise Misuse(f"`{value[1:]}` cannot be read: {error.strerror}", hint) from None


def edit_text(text: str, suffix: str, environment: Mapping[str, str] = os.environ) -> str | None:
    """`text` as the user's editor leaves it in a temporary file; None where it is unchanged or empty.

    Raises a usage error where there is no editor, or it fails.
    """
    import subprocess
    import tempfile

    editor = next((environment[name] for name in _EDITORS if environment.get(name)), "vi")
    with tempfile.TemporaryDirectory(prefix="mdplan-") as folder:
        path = Path(folder) / f"content{suffix}"
        path.write_text(text, encoding="utf-8", newline="")
        try:
            done = subprocess.run([*shlex.split(editor), str(path)], check=False)  # noqa: S603 (the user's editor)
        except OSError as error:
            message = (
                f"the editor `{editor}` cannot be started: {error.strerror}. Set $EDITOR, or give the text."
            )
            raise click.UsageError(message) from None
        if done.returncode:
            raise click.UsageError(f"the editor `{editor}` failed with exit code {done.returncode}.")
        edited = _decoded(path.read_bytes(), "the edited text")
    return edited if edited.strip() and edited != text else None


def _decoded(data: bytes, where: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise click.UsageError(f"{where} is not UTF-8 text.") from None
