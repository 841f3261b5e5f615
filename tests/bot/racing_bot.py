"""A bot that commits repeatedly: `racing_bot.py REPOSITORY NAME COUNT` prints a line of JSON for each plan.

Each plan appends a line to a shared page and creates another page. The bot announces each plan, and commits
it when it reads a line: so several plans have the same base commit.
"""

import json
import sys
from pathlib import Path

from mdplan.bot.bot import RunOptions
from mdplan.bot.commits import GitCommit, apply_to_branch
from tests.bot.golden import load
from tests.bot.repository import Repository

MANIFEST = """\
files:
  - file: shared.md
    when: {{not: {{matches: "^{line}$"}}}}
    edits: [{{op: append_to_file, markdown: "{line}"}}]
  - file: {line}.md
    edits: [{{op: create_file, markdown: "# {line}"}}]
"""


def main(path: str, name: str, count: int) -> None:
    """Apply `count` manifests."""
    engine = Repository(Path(path)).engine()
    for number in range(count):
        line = f"{name}-{number}"
        manifest = Path(path).parent / f"{line}.yml"
        manifest.write_text(MANIFEST.format(line=line), encoding="utf-8")
        waited: list[str] = []

        def wait(event: str, _facts: object, waited: list[str] = waited) -> None:
            if event == "committing" and not waited:
                tell("planned")
                waited.append(sys.stdin.readline())

        wanted = GitCommit(on_stale="rebase", message=line)
        report = apply_to_branch(
            engine, load(str(manifest)), RunOptions(jobs=1, on_event=wait), "main", wanted
        )
        if report.error is not None:
            # Nobody reads on after this line, and so the test fails with it.
            tell(str(report.error))
        tell(json.dumps([line, report.applied, report.plan_id, report.commit, bool(report.rebased)]))


def tell(line: str) -> None:
    """Print `line` at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
