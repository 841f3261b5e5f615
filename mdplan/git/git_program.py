"""The `git` program, for what its configuration decides: signing commits, and writing the log of a branch."""

import os
import subprocess
from collections.abc import Mapping
from typing import Final

from dulwich.repo import Repo

from mdplan.diagnostics import Code
from mdplan.git.repository import repository_error
from mdplan.storage.fs.file_name import visible

# Variables that would point git at another repository or index.
_OTHER_REPOSITORY: Final = frozenset(
    {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_INDEX_FILE",
        "GIT_NAMESPACE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_WORK_TREE",
    }
)
# No hook runs, and what is written survives a power cut.
_SETTINGS: Final = ("-c", f"core.hooksPath={os.devnull}", "-c", "core.fsync=objects,reference")


def run_git(
    repository: Repo,
    *arguments: str | bytes,
    variables: Mapping[bytes, bytes],
    settings: Mapping[str, str],
    stdin: bytes = b"",
) -> "subprocess.CompletedProcess[bytes]":
    """Run git in `repository` with these environment `variables` and configuration `settings`.

    Its messages are in English. Raises `StorageRefused` (IO_ERROR) where git is not installed.
    """
    kept = {name: value for name, value in os.environ.items() if name not in _OTHER_REPOSITORY}
    environment = {os.fsencode(name): os.fsencode(value) for name, value in kept.items()}
    environment |= {b"GIT_DIR": os.fsencode(repository.controldir()), b"LC_ALL": b"C", **variables}
    configured = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    command = ["git", *_SETTINGS, *configured, *arguments]
    try:
        return subprocess.run(command, input=stdin, capture_output=True, check=False, env=environment)  # noqa: S603 (no shell; a fixed program)
    except FileNotFoundError as error:
        raise repository_error(
            Code.IO_ERROR, "git is not installed", "install git: it writes the commit"
        ) from error


def error_text(done: "subprocess.CompletedProcess[bytes]") -> str:
    """What git said when it failed, on one line."""
    return visible(" ".join((done.stderr or done.stdout).decode("utf-8", "replace").split()))
