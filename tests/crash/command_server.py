"""Import mdplan once and run each command in a forked process, which tests can kill.

Each input line is a request, each output line says how it ended. A child runs a command as `python -m mdplan`
does; starting Python for each of thousands of kills would take an hour.
"""

import importlib
import json
import os
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from mdplan.cli.program import build_program
from mdplan.storage.filesystem import FileSystem, Step

# Exit code of a child that could not start.
BROKEN = 99


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            run(request, Path(request["work"]))
        _, status = os.waitpid(child, 0)
        log = Path(request["work"], "log")
        steps, modules = json.loads(log.read_text()) if log.exists() else ([], [])
        for module in modules:
            # Imported only to save the children time; a broken module fails there, with a message.
            with suppress(Exception):
                importlib.import_module(module)
        killed = os.WIFSIGNALED(status)
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
        sys.stdout.write(json.dumps({"killed": killed, "code": code, "steps": steps}) + "\n")
        sys.stdout.flush()


def run(request: dict[str, Any], work: Path) -> NoReturn:
    """Be the command."""
    steps: list[Step] = []
    code, known = BROKEN, set(sys.modules)
    try:
        os.chdir(request["folder"])
        os.environ.update(request["environment"])
        for number, name in enumerate(("in", "out", "err")):
            os.dup2(os.open(work / name, os.O_RDWR | os.O_CREAT, 0o600), number)
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
        if request["waits"]:
            # For a watching process; calls until here do not count. From now on,
            # even opening the file it waits on may be made to fail.
            go = os.open(work / "go", os.O_RDONLY)
            (work / "pid").write_text(str(os.getpid()))
            os.read(go, 1)
        count_steps(steps, dict(request["signals"]))
        build_program().main(request["arguments"], prog_name="mdplan")
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else BROKEN
    except BaseException:  # noqa: BLE001 - The child must not return into the loop of its parent.
        traceback.print_exc()
    finally:
        # Whoever watches may let anything fail, this too.
        with suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        if not request["waits"]:
            modules = [name for name in sys.modules if name not in known]
            (work / "log").write_text(json.dumps([steps, modules]))
        os._exit(code)


def count_steps(steps: list[Step], signals: dict[int, int]) -> None:
    """Write down the disk operations of this process, of any disk; get `signals` before the n-th (from 1)."""
    before = FileSystem.before

    def counted(disk: FileSystem, step: Step) -> None:
        steps.append(step)
        if len(steps) in signals:
            os.kill(os.getpid(), signals[len(steps)])
        before(disk, step)

    FileSystem.before = counted  # type: ignore[assignment,method-assign]


if __name__ == "__main__":
    main()
