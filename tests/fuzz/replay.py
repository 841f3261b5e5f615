"""Give files to a target, as fuzzing did: ``python -m tests.fuzz.replay TARGET FILE…``; needs no atheris."""

import os
import sys
import tempfile
from pathlib import Path

from tests.fuzz.targets import TARGETS


def main() -> None:
    """Raises what the first file that fails makes the target raise."""
    name, *files = sys.argv[1:]
    with tempfile.TemporaryDirectory() as state:
        os.environ["MDPLAN_STATE_DIR"] = state
        for file in files:
            TARGETS[name].check(Path(file).read_bytes())
            print(f"{file}: holds")


if __name__ == "__main__":
    main()
