"""Fuzz one target with atheris in a separate process, because libFuzzer ends its process.

``python -m tests.fuzz.fuzz_one TARGET CRASHES [option of libFuzzer | folder of inputs]…`` continues after a
crash. The folder CRASHES keeps the shortest input for each place of failure.
"""

import importlib
import pkgutil
import sys
from pathlib import Path
from random import Random

import atheris

import mdplan
from tests.fuzz.crashes import Crashes
from tests.fuzz.target import Target

# No target reaches them, and they are slow to import.
_LEFT_OUT = ("mdplan.__main__", "mdplan.bot", "mdplan.cli", "mdplan.mcp", "mdplan.web")
# libFuzzer makes the other changes, because it knows the comparisons in the code.
_SHARE_OF_OURS = 0.7


def main() -> None:
    """Never returns."""
    name, crashes, *arguments = sys.argv[1:]
    target, found = _instrumented(name), Crashes(Path(crashes))

    def run(data: bytes) -> None:
        try:
            target.check(data)
        except Exception as error:  # noqa: BLE001 (whatever it is, it is a find)
            found.add(data, error)

    def mutated(data: bytes, most: int, seed: int) -> bytes:
        dice = Random(seed)
        if dice.random() < _SHARE_OF_OURS:
            changed = target.mutated(bytes(data), dice)
            if len(changed) <= most:
                return changed
        return atheris.Mutate(data, most)

    atheris.Setup([sys.argv[0], *arguments], run, custom_mutator=mutated)
    atheris.Fuzz()


def _instrumented(name: str) -> Target:
    """The target, with all of mdplan that it can reach counted; what it imports lazily would not be."""
    with atheris.instrument_imports(include=["mdplan"], enable_loader_override=False):
        for module in pkgutil.walk_packages(mdplan.__path__, "mdplan."):
            if not module.name.startswith(_LEFT_OUT):
                importlib.import_module(module.name)
        from tests.fuzz.targets import TARGETS
    return TARGETS[name]


if __name__ == "__main__":
    main()
