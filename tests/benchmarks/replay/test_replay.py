"""A slice of the replay: what mdplan makes of 300 real changes, its cost and its safety, is as it was.

`python -m tests.benchmarks.replay.test_replay` writes the expectations anew.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.benchmarks.replay.changes import Repository
from tests.benchmarks.replay.run import BUNDLES, row_of
from tests.benchmarks.replay.tools import TOOLS

EXPECTED = Path(__file__).with_name("expected.json")
OF_EACH = 100


def rows_of(folder: Path) -> dict[str, Any]:
    rows = {}
    for bundle in sorted(BUNDLES.glob("*.bundle")):
        with Repository(bundle, folder) as repository:
            for change in repository.changes(OF_EACH):
                # One later version is enough for a gate.
                row = row_of(replace(change, later=change.later[:1]), repository, TOOLS[:1])
                if row is not None:
                    rows[change.name] = row["tools"]["mdplan"]
    return rows


# Half a minute alone; a busy machine takes much longer.
@pytest.mark.timeout(900)
# bpe_openai loads its tables by a function of importlib.resources that is deprecated.
@pytest.mark.filterwarnings("ignore:open_binary is deprecated:DeprecationWarning")
def test_slice_of_real_changes_has_the_same_results(tmp_path: Path) -> None:
    if not any(BUNDLES.glob("*.bundle")):
        pytest.skip("no ../shared/replay")
    expected = json.loads(EXPECTED.read_text(encoding="utf-8"))
    rows = rows_of(tmp_path)
    changed = {
        name: (expected.get(name), rows.get(name))
        for name in {*expected, *rows}
        if expected.get(name) != rows.get(name)
    }

    assert changed == {}


def main() -> None:
    with TemporaryDirectory() as folder:
        lines = [f"{json.dumps(name)}: {json.dumps(row)}" for name, row in rows_of(Path(folder)).items()]
    EXPECTED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
