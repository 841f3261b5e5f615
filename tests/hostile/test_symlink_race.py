"""Case 26: a folder that becomes a link to outside, and back, while it is read and written through.

A check of the resolved path before an open fails here thousands of times; the same race is run against such a
check, so that it is certain that there was one.
"""

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mdplan.diagnostics import Code
from tests.conftest import FULL, REPOSITORY
from tests.hostile.tally import Record
from tests.hostile.trial import Place, everything, problems_of, read_verb, search_verb, stat_verb

TRIES = 10_000 if FULL else 1_000
MOST_TRIES = 20_000
MOST_OF_THE_CHECK = 200_000
INSIDE = b"# Inside\n\ninside\n"
OUTSIDE = b"# Outside\n\nsecret\n"
# What a path that is there only sometimes, or a commit whose folder goes away, may be answered with.
EXPECTED = {
    "OK",
    Code.SYMLINK_REFUSED,
    Code.FILE_NOT_FOUND,
    Code.STALE_BASE,
    Code.IO_ERROR,
    Code.CONFLICT_LATE_WRITE,
    Code.RECOVERY_CONFLICT,
    Code.RECOVERY_REQUIRED,
    Code.COMMIT_IN_DOUBT,
}


@contextmanager
def flipping(place: Place) -> Iterator[Path]:
    """`sub` in the root flips; gives the folder outside that it sometimes leads to."""
    outside = place.folder / "outside"
    for folder, data in ((place.root / "real", INSIDE), (outside, OUTSIDE)):
        folder.mkdir()
        (folder / "a.md").write_bytes(data)
    (place.root / "link").symlink_to("../outside")
    command = [sys.executable, "-m", "tests.hostile.flipper", place.root]
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == b"flipping\n"
        try:
            yield outside
        finally:
            program.kill()


def read(place: Place, _: int) -> object:
    return read_verb(place.engine, "sub/a.md")


def stat(place: Place, _: int) -> object:
    return stat_verb(place.engine, "sub/a.md")


def search(place: Place, _: int) -> object:
    return search_verb(place.engine, "sub/a.md")


def listing(place: Place, _: int) -> object:
    return search_verb(place.engine, ".")


def plan(place: Place, number: int) -> object:
    return place.engine.plan(_batch(number))


def write(place: Place, number: int) -> object:
    return place.engine.write(_batch(number))


def create(place: Place, number: int) -> object:
    return place.engine.write(
        {"file": f"sub/new{number}.md", "edits": [{"op": "create_file", "markdown": "Owned."}]}
    )


def _batch(number: int) -> dict[str, object]:
    edit = {"op": "replace_lines", "lines": {"start": 1, "end": 1}, "markdown": f"# Owned {number}"}
    return {"file": "sub/a.md", "edits": [edit]}


Act = Callable[[Place, int], object]


@pytest.mark.hostile_case(26)
@pytest.mark.requirement("hostile-2")
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("act", "tries"),
    [
        (read, TRIES),
        (stat, TRIES),
        (search, TRIES),
        (listing, TRIES // 5),
        (plan, TRIES),
        (write, TRIES // 5),
        (create, TRIES // 5),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_folder_that_flips_to_a_link_never_leads_outside(
    place: Place, record: Record, act: Act, tries: int
) -> None:
    codes: Counter[str] = Counter()
    escaped = 0
    started = time.perf_counter()
    with flipping(place) as outside:
        before = everything(outside)
        for number in range(MOST_TRIES):
            # What takes long seldom finds the folder there all the time.
            if number >= tries and (codes["OK"] or act is listing):
                break
            found = act(place, number)
            problems = problems_of(found)
            codes[problems[0].code if problems else "OK"] += 1
            escaped += "secret" in repr(found).replace("secret.md", "").replace("pattern='secret'", "")
        escaped += everything(outside) != before
    name = f"26 folder that flips: {act.__name__}"
    seconds = (time.perf_counter() - started) / codes.total()
    record(name, "escaped" if escaped else "refused", seconds, codes.total())
    assert not escaped
    assert set(codes) <= EXPECTED, codes
    if act is not listing:
        assert codes["OK"], codes
        assert codes[Code.SYMLINK_REFUSED], codes


def test_race_beats_a_check_of_the_resolved_path(place: Place) -> None:
    """What is refused above is a real way out."""
    with flipping(place):
        for _ in range(MOST_OF_THE_CHECK):
            path = place.root / "sub" / "a.md"
            try:
                if Path(os.path.realpath(path)).is_relative_to(place.root) and path.read_bytes() == OUTSIDE:
                    return
            except OSError:
                continue
    pytest.fail("the folder did not flip between a check and an open")
