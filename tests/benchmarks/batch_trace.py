"""How many files and functions of mdplan a batch passes through, from the tool `md_apply` to the disk.

`python tests/benchmarks/batch_trace.py` prints the counts, the steps between files, and the functions that do
little more than call one function of another file.
"""

import hashlib
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from mdplan.engine.engine import Engine
from mdplan.mcp.toolsets.md import md_tools

PACKAGE = Path(__file__).parents[2] / "mdplan"
TEXT = "# Guide\n\nThe nightly build.\n\n## Install\n\nRun it.\n\n## Use\n\nUse it.\n"
EDITS = [
    {"op": "replace_match", "pattern": "nightly", "replacement": "stable"},
    {"op": "append_to_section", "headingPath": ["Guide", "Install"], "markdown": "Restart."},
]
BARS = {"files": 80, "functions": 500, "hops": 600}


@dataclass
class Trace:
    """The functions of mdplan that were called, and from which of its files to which."""

    functions: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    hops: Counter[tuple[str, str]] = field(default_factory=Counter)

    def counts(self) -> dict[str, int]:
        files = {file for file, _, _ in self.functions}
        return {
            "files": len(files),
            "functions": len(self.functions),
            "calls": self.functions.total(),
            "hops": self.hops.total(),
        }


def trace(run: Callable[[], object]) -> Trace:
    found = Trace()
    root = str(PACKAGE)

    def own(frame: FrameType | None) -> FrameType | None:
        """The nearest frame of mdplan: a comprehension or a library may lie between."""
        while frame is not None and not frame.f_code.co_filename.startswith(root):
            frame = frame.f_back
        return frame

    def hear(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        # A class body or a comprehension is no function; a generator is called once, not at each value.
        if event != "call" or not code.co_filename.startswith(root):
            return
        if code.co_name.startswith("<") or frame.f_lasti > 2:
            return
        found.functions[code.co_filename, code.co_qualname, code.co_firstlineno] += 1
        caller = own(frame.f_back)
        if caller is not None and caller.f_code.co_filename != code.co_filename:
            found.hops[caller.f_code.co_filename, code.co_filename] += 1

    sys.setprofile(hear)
    try:
        run()
    finally:
        sys.setprofile(None)
    return found


def batch_trace() -> Trace:
    """A batch of two edits in one file, when a first one has loaded all modules."""
    with tempfile.TemporaryDirectory() as folder, Engine.open([folder]) as engine:
        tools = {tool.name: tool for tool in md_tools(engine, False)}
        guard = hashlib.sha256(TEXT.encode()).hexdigest()

        def apply(name: str) -> None:
            result = tools["md_apply"].call({"file": name, "baseSha256": guard, "edits": EDITS})
            assert not result.is_refusal, result.text

        for name in ("first.md", "second.md"):
            (Path(folder) / name).write_text(TEXT)
        apply("first.md")
        return trace(lambda: apply("second.md"))


def main() -> None:
    found = batch_trace()
    for name, count in found.counts().items():
        print(f"{name}: {count:,}" + (f" (at most {BARS[name]})" if name in BARS else ""))
    entered: Counter[str] = Counter()
    for (_, target), count in found.hops.items():
        entered[target] += count
    print("\nfiles by how often they are entered")
    for target, count in entered.most_common(40):
        functions = sum(file == target for file, _, _ in found.functions)
        print(f"{count:5} {functions:4} functions  {Path(target).relative_to(PACKAGE)}")


if __name__ == "__main__":
    main()
