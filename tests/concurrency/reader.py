"""A process that reads files in a loop and knows nothing of locks, until a file appears that tells it to end.

`python -m tests.concurrency.reader FOLDER STOP NAME …` prints the digests of all that it saw of each file.
"""

import hashlib
import json
import sys
from pathlib import Path


def main(folder: Path, stop: Path, names: list[str]) -> None:
    seen: dict[str, set[str]] = {name: set() for name in names}
    is_last = False
    while not is_last:
        is_last = stop.exists()
        for name in names:
            try:
                found = hashlib.sha256((folder / name).read_bytes()).hexdigest()
            except FileNotFoundError:
                found = "missing"
            seen[name].add(found)
    sys.stdout.write(json.dumps({name: sorted(digests) for name, digests in seen.items()}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
