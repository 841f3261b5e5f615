"""Running `mdplan` inside of the test's process, as a shell would run it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from mdplan.cli.program import build_program

GUIDE = "# Guide\n\nThe nightly build.\n\n## Install\n\nRun it.\n\n## Use\n\nUse it.\n"
BATCH = {
    "file": "guide.md",
    "edits": [
        {"op": "replace_match", "pattern": "nightly", "replacement": "stable"},
        {"op": "append_to_section", "headingPath": ["Install"], "markdown": "Restart."},
    ],
}
RESULT = "# Guide\n\nThe stable build.\n\n## Install\n\nRun it.\n\nRestart.\n\n## Use\n\nUse it.\n"
DIFF = """\
diff --git a/guide.md b/guide.md
--- a/guide.md
+++ b/guide.md
@@ -1,11 +1,13 @@
 # Guide
 
-The nightly build.
+The stable build.
 
 ## Install
 
 Run it.
 
+Restart.
+
 ## Use
 
 Use it.
"""  # noqa: W293 (a blank line of a diff begins with its blank)


@dataclass(frozen=True, slots=True)
class Run:
    """How a command ended: its exit code, its standard output, and its standard error as text."""

    code: int
    out: bytes
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one JSON object on standard output."""
        decoded = json.loads(self.out)
        assert isinstance(decoded, dict)
        return decoded


def mdplan(*arguments: str, stdin: object = b"", environment: dict[str, str | None] | None = None) -> Run:
    """Run `mdplan` with `arguments` in the current folder; a `stdin` that is no bytes is sent as JSON."""
    data = stdin if isinstance(stdin, bytes) else json.dumps(stdin).encode()
    result = CliRunner().invoke(build_program(), arguments, input=data, env=environment)
    if not isinstance(result.exception, SystemExit | None):
        raise result.exception
    return Run(result.exit_code, result.stdout_bytes, result.stderr)


def plan_id_of(batch: object = BATCH) -> str:
    """Plan `batch`; its plan ID."""
    return str(mdplan("plan", "--json", stdin=batch).json["planId"])


def write_batch(folder: Path, batch: object = BATCH, name: str = "batch.json") -> str:
    """Write `batch` into `folder`; its name."""
    (folder / name).write_text(json.dumps(batch), encoding="utf-8")
    return name
