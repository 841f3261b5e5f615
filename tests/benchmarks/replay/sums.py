"""Add up the rows of a run: results.json has all that the page shows."""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tests.benchmarks.replay.changes import run
from tests.benchmarks.replay.run import REPOSITORY
from tests.benchmarks.replay.tools import TOOLS

HERE = REPOSITORY / "tests" / "benchmarks" / "replay"
ROWS = REPOSITORY / "build" / "replay"
RESULTS = HERE / "results.json"
CHANGES = HERE / "changes.txt"
MARK = " (changed)"
OWN = "mdplan"
Row = Mapping[str, Any]
Sums = dict[str, Any]


def rows_of(what: str) -> list[Row]:
    """The rows of `what`, in the order of their names; of several of one name the last."""
    found = {}
    for path in sorted(ROWS.glob(f"{what}-*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            found[row["change"]] = row
    return [found[name] for name in sorted(found)]


def write_results() -> Sums:
    """Write results.json and the list of changes; tools that no row has keep their sums on the same list."""
    rows = [row for row in rows_of("changes") if "tools" in row]
    names = "".join(row["change"] + "\n" for row in rows)
    commits = [row for row in rows_of("commits") if len(row) > len(("change", "files"))]
    found = sums_of(rows, commits, rows_of("variants"))
    if CHANGES.exists() and CHANGES.read_text(encoding="utf-8") == names:
        found = merged(json.loads(RESULTS.read_text(encoding="utf-8")), found)
    elif missing := [tool.name for tool in TOOLS if tool.name not in rows[0]["tools"]]:
        sys.exit(f"results.json is of other changes, and these tools have not run: {', '.join(missing)}")
    RESULTS.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    CHANGES.write_text(names, encoding="utf-8")
    return found


def sums_of(rows: Sequence[Row], commits: Sequence[Row], variants: Sequence[Row]) -> Sums:
    """The sums of all changes and of each part of them; of whole commits and other bytes, where these ran."""
    parts = {"all": list(rows)}
    for title, part_of in (("hunks", by_hunks), ("kind", lambda row: row["kind"]), ("size", by_size)):
        for row in rows:
            parts.setdefault(f"{title}: {part_of(row)}", []).append(row)
    found = {
        "versions": dict(_versions()),
        "repositories": dict(Counter(row["change"].split()[0] for row in rows)),
        "parts": {
            name: {"changes": len(inside), "tools": dict(_per_tool(inside, _sums_of_tool))}
            for name, inside in parts.items()
        },
        "inexact": [row["change"] for row in rows if not row["tools"].get(OWN, {}).get("exact", True)],
    }
    return found | ({"commits": _commits(commits)} if commits else {}) | _variants(variants)


def _versions() -> Iterator[tuple[str, str]]:
    """The programs that ran: the last commit of mdplan, and the versions of the others."""
    yield (
        OWN,
        run("git", "-C", str(REPOSITORY), "log", "-1", "--format=%h of %as", "--", OWN).decode().strip(),
    )
    for program in ("git", "patch"):
        yield program, run(program, "--version").decode().splitlines()[0].split()[-1]


def by_hunks(row: Row) -> str:
    hunks = row["hunks"]
    return "1" if hunks == 1 else "2-3" if hunks <= 3 else "4-10" if hunks <= 10 else "more than 10"


def by_size(row: Row) -> str:
    limits = ((5_000, "to 5 kB"), (20_000, "to 20 kB"), (100_000, "to 100 kB"))
    return next((name for most, name in limits if row["size"] <= most), "more than 100 kB")


def _per_tool(rows: Sequence[Row], sums: Callable[[Sequence[Row], str], Sums]) -> Iterator[tuple[str, Sums]]:
    for tool in rows[0]["tools"]:
        yield tool, sums(rows, tool)


def _sums_of_tool(rows: Sequence[Row], tool: str) -> Sums:
    """What `tool` makes of `rows`: tokens in both encodings, and how often its calls end how."""
    results = [row["tools"][tool] for row in rows]
    drift = Counter(each for result in results for each in result["drift"] if each)
    found: Sums = {
        "exact": sum(result["exact"] for result in results),
        "tokens": [sum(result["tokens"][index] for result in results) for index in (0, 1)],
        "read": [sum(result["read"][index] for result in results) for index in (0, 1)],
        "drift": {kind: count for kind, count in drift.items() if MARK not in kind},
        "driftWhereThePlaceChanged": {
            kind.removesuffix(MARK): count for kind, count in drift.items() if MARK in kind
        },
        "branch": dict(Counter(result["branch"] for result in results if "branch" in result)),
    }
    if any("alarm" in result for result in results):
        found["alarms"] = sum(result.get("alarm", False) for result in results)
    return found


def _commits(rows: Sequence[Row]) -> Sums:
    tools = [name for name in rows[0] if name not in ("change", "files")] if rows else []
    return {
        "commits": len(rows),
        "tools": {
            tool: {
                "exact": sum(row[tool]["exact"] for row in rows),
                **Counter(row[tool]["afterwards"] for row in rows),
            }
            for tool in tools
        },
    }


def _variants(rows: Sequence[Row]) -> Sums:
    if not rows:
        return {}
    found: dict[str, list[Mapping[str, bool]]] = {}
    for row in rows:
        for name, tools in row["variants"].items():
            found.setdefault(name, []).append(tools)
    sums = {
        name: {
            "changes": len(made),
            "tools": {tool: {"exact": sum(each[tool] for each in made)} for tool in made[0]},
        }
        for name, made in found.items()
    }
    return {"variants": sums}


def merged(before: Sums, after: Sums) -> Sums:
    """`after`, with the tools and the tracks of `before` that it does not have."""
    found = dict(before)
    for name, value in after.items():
        known = before.get(name)
        if name == "tools":
            found[name] = {**(known or {}), **value}
        else:
            found[name] = merged(known, value) if isinstance(value, dict) and known else value
    return found
