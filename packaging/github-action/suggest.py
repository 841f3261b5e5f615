# A standalone program: the action runs it with the Python that has mdplan installed.
# ruff: noqa: INP001
"""The step of `action.yml` that writes the changes of a manifest as suggestions under a pull request.

It reads the fixes of `BOT_SARIF`, and `BOT_PULL`, the number of the pull request. GitHub accepts suggestions
only for lines in the diff of a pull request, so other fixes stay in the summary. Existing suggestions are not
repeated. If GitHub refuses one, that is a warning: the bot's verdict stays.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

MOST: Final = 30
_HUNK: Final = re.compile(r"@@ -\d+(?:,\d+)? \+(\d+)")
_BACKTICKS: Final = re.compile("`+")


def main() -> int:
    """Write a review with the suggestions that are new."""
    pull = f"repos/{os.environ['GITHUB_REPOSITORY']}/pulls/{int(os.environ['BOT_PULL'])}"
    log = json.loads(Path(os.environ["BOT_SARIF"]).read_text(encoding="utf-8"))
    try:
        shown = {
            each["filename"]: dict(right_lines(each.get("patch", ""))) for each in listed(f"{pull}/files")
        }
        wanted = [each for each in suggestions(log) if is_shown(each, shown)]
        known = {(each["path"], each.get("line"), each["body"]) for each in listed(f"{pull}/comments")}
        new = [each for each in wanted if (each["path"], each["line"], each["body"]) not in known]
        if new:
            comments = [{name: value for name, value in each.items() if name != "old"} for each in new[:MOST]]
            gh("--method", "POST", f"{pull}/reviews", given={"event": "COMMENT", "comments": comments})
    except (subprocess.CalledProcessError, ValueError, KeyError, TypeError):
        sys.stdout.write("::warning title=mdplan::the suggestions were not posted\n")
    return 0


def suggestions(log: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401 (any JSON)
    """Return the fixes of a SARIF log as review comments of GitHub, with the `old` text of their lines."""
    for result in log["runs"][0]["results"]:
        for fix in result.get("fixes", ()):
            (change,) = fix["artifactChanges"]
            (replacement,) = change["replacements"]
            region = result["locations"][0]["physicalLocation"]["region"]
            first, last = region["startLine"], region["endLine"]
            text = replacement["insertedContent"]["text"]
            path = unquote(change["artifactLocation"]["uri"])
            fence = "`" * max(3, 1 + max(map(len, _BACKTICKS.findall(text)), default=0))
            ended = text if text.endswith("\n") or not text else text + "\n"
            comment = {
                "path": path,
                "side": "RIGHT",
                "line": last,
                "body": f"{fence}suggestion\n{ended}{fence}",
                "old": lines_of(path, first, last),
            }
            yield comment if first == last else {**comment, "start_line": first, "start_side": "RIGHT"}


def lines_of(path: str, first: int, last: int) -> list[str]:
    """These lines of a file of the checkout, which mdplan has read; none of a file in another root."""
    try:
        text = (Path(os.environ["GITHUB_WORKSPACE"]) / path).read_bytes().decode("utf-8", "replace")
    except OSError:
        return []
    return [line.removesuffix("\r") for line in text.split("\n")[first - 1 : last]]


def is_shown(comment: dict[str, Any], shown: dict[str, dict[int, str]]) -> bool:
    """Return True if the diff of the pull request shows the lines of `comment` as in the checkout."""
    first = comment.get("start_line", comment["line"])
    lines = [shown.get(comment["path"], {}).get(number) for number in range(first, comment["line"] + 1)]
    return bool(lines == comment["old"])


def right_lines(patch: str) -> Iterator[tuple[int, str]]:
    """Return the lines of the new file that `patch` shows, by number."""
    number = 0
    for line in patch.split("\n"):
        if found := _HUNK.match(line):
            number = int(found[1])
        elif line[:1] in (" ", "+"):
            yield number, line[1:].removesuffix("\r")
            number += 1


def listed(path: str) -> list[Any]:
    """Return everything that GitHub lists at `path`."""
    found = json.loads(gh("--paginate", "--slurp", f"{path}?per_page=100") or "[]")
    return [each for page in found for each in page]


def gh(*arguments: str, given: object = None) -> str:
    """Return the answer of `gh api`. Raises `CalledProcessError`."""
    words = ["gh", "api", *arguments, *(["--input", "-"] if given is not None else [])]
    text = None if given is None else json.dumps(given)
    done = subprocess.run(words, input=text, check=True, capture_output=True, encoding="utf-8")  # noqa: S603
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
