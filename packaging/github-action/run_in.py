# A standalone program.
# ruff: noqa: INP001
"""Run mdplan in another folder: `python -I run_in.py FOLDER ARGUMENT…`.

Python has started by the time it enters the folder, so no file of the folder takes part in that.
"""

import os
import sys

from mdplan.__main__ import main

if __name__ == "__main__":
    os.chdir(sys.argv.pop(1))
    main()
