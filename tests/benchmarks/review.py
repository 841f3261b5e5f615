"""Measure the review page: a large plan against a plan of one file, in time and bytes.

One running server does all the work for both: verify, read files, make diffs, render, send.
"""

import http.client
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from measure import ROUNDS, Measure, Part, Timed, against, wall

from mdplan.engine.engine import Engine

FILES = 1000
LINES = 20
MOST_TIMES = 20
MOST_BYTES = 500_000


def review_parts() -> Iterator[Part]:
    """What `run.py` prints of the page."""
    yield Part(
        f"The review page of {FILES:,} files and {FILES * LINES:,} changed lines",
        f"the clock, {ROUNDS} rounds of requests to one server, which has shown its list of plans",
        tuple(measures()),
    )


def measures() -> Iterator[Measure]:
    with tempfile.TemporaryDirectory() as folder, plans_kept_in(folder):
        root = Path(folder) / "root"
        root.mkdir()
        engine = Engine.open([root])
        large = planned(engine, root, FILES)
        small = planned(engine, root, 1)
        with page_server(root) as server:
            n_bytes = len(server.get(f"{server.base}plan/{large}"))
            # People open it from the list.
            server.get(server.base)
            costs = against("small", {"large": showing(server, large), "small": showing(server, small)})
    yield Measure(what="first page, against a plan of one file", ratio=costs["large"], bar=MOST_TIMES)
    yield Measure(what="first page, bytes against 500 kB", ratio=n_bytes / MOST_BYTES, bar=1)


class PageServer:
    """A running `mdplan review`, and a visit of it."""

    def __init__(self, link: str) -> None:
        address, _, path = link.removeprefix("http://").partition("/")
        self._connection = http.client.HTTPConnection(address)
        self._headers: dict[str, str] = {}
        self.base = f"/{path.partition('open?')[0]}"
        self.get("/" + path)

    def get(self, path: str) -> bytes:
        """The body of the answer."""
        self._connection.request("GET", path, headers=self._headers)
        answer = self._connection.getresponse()
        body = answer.read()
        assert answer.status == 200, body
        cookie = answer.headers.get("Set-Cookie")
        if cookie is not None:
            self._headers["Cookie"] = cookie.partition(";")[0]
        return body


def showing(server: PageServer, plan_id: str) -> Timed:
    """Time of the first page of a plan."""
    return wall(lambda: server.get(f"{server.base}plan/{plan_id}"))


@contextmanager
def page_server(root: Path) -> Iterator[PageServer]:
    command = [sys.executable, "-m", "mdplan", "review", "--no-browser", "--root", str(root)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        yield PageServer(process.stdout.readline().strip())
    finally:
        process.kill()
        process.communicate()


def planned(engine: Engine, root: Path, n_files: int) -> str:
    """ID of a plan that changes half of LINES lines in each of `n_files` new files: as many go as come."""
    files = []
    for number in range(n_files):
        name = f"{n_files}-{number}.md"
        lines = "".join(f"- {word} item of the list\n" for word in ("old", "same") for _ in range(LINES // 2))
        (root / name).write_text(f"# File {number}\n\n{lines}")
        edit = {"op": "replace_match", "pattern": "- old", "replacement": "- new", "matchSelection": "all"}
        files.append({"file": name, "edits": [edit]})
    report = engine.plan({"files": files})
    assert report.plan_id is not None, report.diagnostics
    return report.plan_id


@contextmanager
def plans_kept_in(folder: str) -> Iterator[None]:
    """Within the block, plans are kept in `folder`."""
    before = os.environ.get("MDPLAN_STATE_DIR")
    os.environ["MDPLAN_STATE_DIR"] = str(Path(folder) / "state")
    try:
        yield
    finally:
        if before is None:
            del os.environ["MDPLAN_STATE_DIR"]
        else:
            os.environ["MDPLAN_STATE_DIR"] = before


if __name__ == "__main__":
    for part in review_parts():
        print(
            part.title,
            *(f"  {each.what}: {each.ratio:.2f}, at most {each.bar}" for each in part.measures),
            sep="\n",
        )
