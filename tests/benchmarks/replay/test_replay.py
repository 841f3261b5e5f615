"""A slice of the replay: what mdplan makes of 300 real changes, its cost and its safety, is as it was.

`python -m tests.benchmarks.replay.test_replay` writes the expectations anew.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.benchmarks.replay.changes import Change, Repository
from tests.benchmarks.replay.report import README, Part, with_summary
from tests.benchmarks.replay.run import BUNDLES, row_of
from tests.benchmarks.replay.sums import RESULTS
from tests.benchmarks.replay.tools import TOOLS

EXPECTED = Path(__file__).with_name("expected.json")
# Per repository: the number of changes in files up to this many bytes, and in larger ones.
SMALL = 10_000
OF_SMALL = 97
OF_LARGE = 3
ACCEPT = (
    "To accept these: python -m tests.benchmarks.replay.test_replay, and look at the diff of expected.json"
)


def changed_columns(expected: Mapping[str, Any], rows: Mapping[str, Any]) -> list[str]:
    """A line for each column of a row that is not as expected."""
    found = []
    for name in sorted({*expected, *rows}):
        before, after = expected.get(name), rows.get(name)
        if before is None or after is None:
            found.append(f"{name}: was {_shown(before)}, is {_shown(after)}")
            continue
        columns = (column for column in {**before, **after} if before.get(column) != after.get(column))
        found += [
            f"{name}: {column} was {_shown(before.get(column))}, is {_shown(after.get(column))}"
            for column in columns
        ]
    return found


def _shown(value: object) -> str:
    return "absent" if value is None else json.dumps(value)


def slice_of(repository: Repository) -> list[Change]:
    """The first changes of small files and of large ones: work grows with size, kinds of changes do not."""
    parts: dict[bool, list[Change]] = {True: [], False: []}
    for change in repository.changes(sys.maxsize):
        small, large = parts[True], parts[False]
        if len(small) >= OF_SMALL and len(large) >= OF_LARGE:
            break
        part = parts[len(repository.blob(change.old)) <= SMALL]
        part.append(change)
    return small[:OF_SMALL] + large[:OF_LARGE]


def rows_of(folder: Path) -> dict[str, Any]:
    """What became of every change of the slice."""
    rows = {}
    for bundle in sorted(BUNDLES.glob("*.bundle")):
        with Repository(bundle, folder) as repository:
            for change in slice_of(repository):
                # One later version is enough for a gate.
                row = row_of(replace(change, later=change.later[:1]), repository, TOOLS[:1])
                if row is not None:
                    rows[change.name] = row["tools"]["mdplan"]
    return rows


# Takes twenty seconds on an idle machine, and much longer on a busy one.
@pytest.mark.timeout(900)
# bpe_openai loads its tables by a function of importlib.resources that is deprecated.
@pytest.mark.filterwarnings("ignore:open_binary is deprecated:DeprecationWarning")
def test_slice_of_real_changes_has_the_same_results(tmp_path: Path) -> None:
    if not any(BUNDLES.glob("*.bundle")):
        pytest.skip("no ../shared/replay")
    expected = json.loads(EXPECTED.read_text(encoding="utf-8"))
    changed = changed_columns(expected, rows_of(tmp_path))

    assert not changed, "\n".join((f"{len(changed)} columns changed:", *changed, ACCEPT))


def test_each_changed_column_is_a_line_with_its_row() -> None:
    row = {"exact": True, "tokens": [9, 9], "read": [40, 41], "drift": ["right"], "alarm": False}
    before = {"a": row, "b": row, "c": row}
    after = {"a": row | {"exact": False, "read": [50, 41]}, "b": row | {"drift": ["wrong"]}, "d": row}

    assert changed_columns(before, after) == [
        "a: exact was true, is false",
        "a: read was [40, 41], is [50, 41]",
        'b: drift was ["right"], is ["wrong"]',
        f"c: was {json.dumps(row)}, is absent",
        f"d: was absent, is {json.dumps(row)}",
    ]


def test_readme_shows_the_results_of_the_last_run() -> None:
    whole = Part(json.loads(RESULTS.read_text(encoding="utf-8"))["parts"]["all"])
    readme = README.read_text(encoding="utf-8")

    assert with_summary(readme, whole) == readme


def main() -> None:
    with TemporaryDirectory() as folder:
        lines = [f"{json.dumps(name)}: {json.dumps(row)}" for name, row in rows_of(Path(folder)).items()]
    EXPECTED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
