"""A bot that commits again and again: `racing_bot.py REPOSITORY NAME COUNT`, a line of JSON for each plan.

Each plan appends one line to a page that all bots write, and makes one page of its own. It begins when a line
comes in, so that several begin together.
"""

import json
import sys
from pathlib import Path

from mdplan.bot.git_verbs import GitCommit
from tests.bot.repository import Repository

MANIFEST = """\
files:
  - file: shared.md
    edits: [{{op: append_to_file, markdown: "{line}"}}]
  - file: {line}.md
    edits: [{{op: create_file, markdown: "# {line}"}}]
"""


def main(path: str, name: str, count: int) -> None:
    """Apply `count` manifests."""
    repository = Repository(Path(path))
    tell("ready")
    sys.stdin.readline()
    for number in range(count):
        line = f"{name}-{number}"
        manifest = Path(path).parent / f"{line}.yml"
        manifest.write_text(MANIFEST.format(line=line), encoding="utf-8")
        report = repository.applied(manifest, "main", GitCommit(rebases=True, message=line))
        tell(json.dumps([line, report.applied, report.plan_id, report.commit, report.rebased]))


def tell(line: str) -> None:
    """Print `line` at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
