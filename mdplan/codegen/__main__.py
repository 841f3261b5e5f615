"""`python -m mdplan.codegen [--check]`: write what is generated, or say what of it is stale.

With `--check` nothing is written, and the exit code is 1 when a file is missing, stale or left over.
"""

import sys
from collections.abc import Sequence

from mdplan.codegen.generated import problems, write
from mdplan.diagnostics import Exit


def main(arguments: Sequence[str]) -> int:
    """Write, or check; the exit code."""
    if list(arguments) not in ([], ["--check"]):
        print("usage: python -m mdplan.codegen [--check]", file=sys.stderr)
        return Exit.INVALID
    if not arguments:
        for name in write():
            print(f"wrote {name}")
        return Exit.DONE
    found = problems()
    for problem in found:
        print(f"{problem}: run `make schemas`", file=sys.stderr)
    return Exit.WOULD_CHANGE if found else Exit.DONE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
