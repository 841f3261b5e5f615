"""The cost of a run of `mdplan` in a separate process."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

# A process inherits the peak of its parent, so a small process stands between it and the tests.
_MEASURE = """\
import json, resource, subprocess, sys
data = sys.stdin.buffer.read()
run = subprocess.run([sys.executable, "-m", "mdplan", *sys.argv[1:]], input=data, capture_output=True)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([run.returncode, usage.ru_utime + usage.ru_stime, usage.ru_maxrss]))
"""


@dataclass(frozen=True)
class Cost:
    """The exit code, the seconds of the processor, and the peak of the memory in bytes."""

    code: int
    seconds: float
    memory: int


def cost_of(folder: Path, *arguments: str, stdin: bytes = b"") -> Cost:
    """The cost of `mdplan` with `arguments`, run in `folder`."""
    run = subprocess.run(
        [sys.executable, "-c", _MEASURE, *arguments], cwd=folder, input=stdin, capture_output=True, check=True
    )
    code, seconds, memory = json.loads(run.stdout)
    return Cost(code, seconds, memory * (1 if sys.platform == "darwin" else 1024))
