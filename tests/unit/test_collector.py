"""The collector is paused for bulk work, and only that long; the memory of large texts is kept."""

import gc
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mdplan.engine.engine import Engine
from mdplan.gc_tuning import collector_paused
from mdplan.markdown.blocks import parser
from mdplan.markdown.outline.outline import Outline
from mdplan.text.source import Source


def test_the_collector_runs_again_behind_the_last_pause() -> None:
    with collector_paused():
        with collector_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_the_collector_runs_again_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError), collector_paused():
        print(1 // 0)  # noqa: T201
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with collector_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


TEXTS = ["# A\n\n- b\n\n|a|\n|-|\n|b|\n", "[a]: /u\n\n> c\nd\n\n1. e\n", "x\n===\n\n```\ny\n```\n"]


@pytest.mark.parametrize(
    "make",
    [lambda text: Outline(Source.from_text(text)).blocks, lambda text: parser.block_parser().parse(text)],
    ids=["outline", "parser"],
)
@pytest.mark.parametrize("text", TEXTS)
def test_what_documents_are_parsed_with_makes_no_cycles(make: Callable[[str], object], text: str) -> None:
    make(text)
    with collector_paused():
        gc.collect()
        for _ in range(20):
            make(text)
        assert gc.collect() == 0


def test_plans_make_few_cycles(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\nb\n" * 200)
    edit = {"op": "rename_heading", "heading": "A", "occurrence": 7, "newTitle": "B"}
    with Engine.open([tmp_path]).workspace as workspace:
        engine = Engine(workspace)
        batch = {"file": "a.md", "allowDuplicateHeadings": True, "edits": [edit]}
        assert engine.plan(batch).ok
        with collector_paused():
            gc.collect()
            engine.plan(batch)
            assert gc.collect() < 200


def new_pages(begins_with: str) -> int:
    """How many pages of memory are new for a large text that is decoded again and again."""
    program = f"""
from resource import RUSAGE_SELF, getrusage
from mdplan.gc_tuning import keep_large_blocks
{begins_with}
for _ in range(10):
    before = getrusage(RUSAGE_SELF).ru_minflt
    ("\\u2013".encode() + bytes(4_000_000)).decode()
    pages = getrusage(RUSAGE_SELF).ru_minflt - before
print(pages)
"""
    # Where thresholds are set, as Dask sets one for the processes that it starts, they stay as they are.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only glibc is told")
def test_memory_of_a_large_text_is_kept_for_the_next_one() -> None:
    by_default = new_pages("pass")
    if by_default < 1_000:
        pytest.skip("this C library keeps large blocks by itself")

    assert new_pages("keep_large_blocks()") < by_default / 10
