"""A program that makes `sub` in a folder a real folder and a link to outside, by turns, until it is killed.

Started as `python -m tests.hostile.flipper FOLDER`; it says a line when it has begun.
"""

import sys
from pathlib import Path


def flip(folder: Path) -> None:
    """Give the name `sub` to `real` and `link` in turn.

    Moves away a folder `sub` that another program creates in between.
    """
    sub, taken = folder / "sub", 0
    while True:
        for name in ("real", "link"):
            try:
                (folder / name).rename(sub)
            except OSError:
                taken += 1
                sub.rename(folder / f"taken{taken}")
            else:
                sub.rename(folder / name)


if __name__ == "__main__":
    sys.stdout.write("flipping\n")
    sys.stdout.flush()
    flip(Path(sys.argv[1]))
