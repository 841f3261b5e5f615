"""A fleet in shards against a forge with GitHub's limits, on a clock that runs while all shards wait.

The shards are processes of `mdplan fleet open`, and are really killed. Hours take minutes here:

    python -m tests.bot.fleet_simulation FOLDER --repositories 2000 --shards 16 --kills 10 --lost 2
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import urllib.request
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml

from tests.bot.fake_forge import FakeForge
from tests.bot.repository import BRANCH, IDENTITY, MANIFEST, Repository

LABEL = "docs"
HOUR = 3600.0


@dataclass
class SimulatedClock:
    """Time that passes only while all shards sleep."""

    time: float = 1e9
    shards: set[str] = field(default_factory=set)
    wakes: dict[str, float] = field(default_factory=dict)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def begin(self, shard: str) -> None:
        """From now on, time waits for `shard`."""
        with self.changed:
            self.shards.add(shard)

    def end(self, shard: str) -> None:
        """`shard` has ended, or was killed."""
        with self.changed:
            self.shards.discard(shard)
            self.wakes.pop(shard, None)
            self._pass()

    def sleep(self, shard: str, seconds: float) -> None:
        """Return after `seconds`."""
        with self.changed:
            self.wakes[shard] = self.time + seconds
            self._pass()
            self.changed.wait_for(lambda: shard not in self.wakes)

    def _pass(self) -> None:
        if self.wakes and self.shards <= set(self.wakes):
            self.time = max(self.time, min(self.wakes.values()))
            for shard in [each for each, at in self.wakes.items() if at <= self.time]:
                del self.wakes[shard]
        self.changed.notify_all()


@dataclass
class LimitedForge:
    """A forge that refuses what is beyond the limits of GitHub, and kills who asks, if it is told to."""

    clock: SimulatedClock
    kills: set[int]
    forge: FakeForge = field(default_factory=FakeForge)
    processes: dict[str, "subprocess.Popen[bytes]"] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    times: list[tuple[float, bool]] = field(default_factory=list)
    killed: int = 0

    def answer(
        self, shard: str, method: str, path: str, given: dict[str, Any]
    ) -> tuple[int, Any, dict[str, str]]:
        """Status, body and headers; a request whose number is in `kills` ends the process that sent it."""
        with self.forge.lock:
            number = sum(self.counts.values())
            wait = self._wait(writes=method != "GET")
            # Kill who asks, before or after the request has its effect, or another shard at whatever it does.
            dies = shard if number in self.kills else None
            self.kills.discard(number)
            if dies and self.killed % 3 == 1:
                self._kill(shard)
                return 500, {}, {}
            if dies and self.killed % 3 == 2:
                dies = next(
                    each for each in reversed(self.processes) if each != shard or len(self.processes) == 1
                )
            if wait:
                self.counts["refused"] += 1
                message = {"message": "You have exceeded a secondary rate limit."}
                return 403, message, {"Retry-After": str(round(wait + 1))}
            self.times.append((self.clock.time, method != "GET"))
            words = path.partition("?")[0].split("/")[4:]
            self.counts[
                f"{method} {'/'.join(word for word in words if not word.isdecimal()) or 'repository'}"
            ] += 1
            status, body = self.forge.answer(method, path, given)
            if dies:
                self._kill(dies)
            return status, body, {}

    def most(self, seconds: float, *, writes: bool) -> int:
        """The most requests, or writes, in any `seconds`."""
        times = [at for at, wrote in self.times if wrote or not writes]
        first = most = 0
        for last, at in enumerate(times):
            while times[first] <= at - seconds:
                first += 1
            most = max(most, last - first + 1)
        return most

    def _wait(self, *, writes: bool) -> float:
        now = self.clock.time
        limits = [(HOUR, 5000, False), *([(60.0, 80, True), (HOUR, 500, True)] if writes else [])]
        waits = [0.0]
        for seconds, most, of_writes in limits:
            times = [
                at for at, wrote in self.times[-5000:] if at > now - seconds and (wrote or not of_writes)
            ]
            if len(times) >= most:
                waits.append(times[-most] + seconds - now)
        return max(waits)

    def _kill(self, shard: str) -> None:
        self.killed += 1
        self.processes[shard].send_signal(signal.SIGKILL)
        self.processes[shard].wait()


class Server(ThreadingHTTPServer):
    """Takes requests of all shards at once."""

    daemon_threads = True
    request_queue_size = 128


class Simulation:
    """Repositories in `folder`, made unless they are there, a forge, and shards that work on them."""

    def __init__(self, folder: Path, given: argparse.Namespace) -> None:
        self.folder, self.given = folder, given
        self.clock = SimulatedClock()
        self.changing = [number for number in range(given.repositories) if number % 5 != 1]
        draw = random.Random(given.seed)
        kills = set(draw.sample(range(given.repositories), given.kills))
        self.lost = draw.sample(range(1, given.shards + 1), given.lost)
        self.forge = LimitedForge(self.clock, kills)
        self._make()
        self.server = Server(("127.0.0.1", 0), self._handler())
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def run(self) -> None:
        """Run all shards, lose some, and run these again."""
        self._open_all(list(range(1, self.given.shards + 1)))
        for shard in self.lost:
            shutil.rmtree(self.folder / f"work-{shard}", ignore_errors=not self.forge.killed)
        self._open_all(self.lost)
        self.server.shutdown()
        self.server.server_close()

    def _open_all(self, shards: list[int]) -> None:
        """Run these shards at the same time, each again after it was killed, until all have ended well."""
        threads = [threading.Thread(target=self._open, args=(number,)) for number in shards]
        for number in shards:
            self.clock.begin(str(number))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def status(self) -> dict[str, Any]:
        """The joined states."""
        states = [str(self._state(number)) for number in range(1, self.given.shards + 1)]
        command = [sys.executable, "-m", "mdplan", "fleet", "status", *states, "--json"]
        report = json.loads(subprocess.run(command, check=False, capture_output=True).stdout)
        return {"ok": report["ok"], **Counter(each["state"] for each in report["repositories"])}

    def faults(self) -> list[str]:
        """Repositories with no pull request, several, or a wrong one."""
        pulls = self.forge.forge.pulls
        opened = Counter(pull["repository"] for pull in pulls)
        expected = Counter(f"acme/r{number}" for number in self.changing)
        wrong = [
            f"{name}: {opened[name]} pull requests"
            for name in sorted({*opened, *expected})
            if opened[name] != expected[name]
        ]
        return wrong + [
            f"{pull['repository']}: {pull['state']}, {pull['labels']}"
            for pull in pulls
            if (pull["state"], pull["labels"], pull["head"]) != ("open", [LABEL], BRANCH)
        ]

    def result(self) -> dict[str, Any]:
        """What was found, and what it cost."""
        return {
            **{
                name: getattr(self.given, name)
                for name in ("seed", "repositories", "pages", "shards", "per_hour")
            },
            "lost": self.lost,
            "killed": self.forge.killed,
            "faults": self.faults()[:20],
            "status": self.status(),
            "requests": dict(sorted(self.forge.counts.items())),
            "simulatedHours": round((self.clock.time - 1e9) / HOUR, 1),
            "cpuSeconds": round(sum(os.times()[2:4])),
            "mostWritesAnHour": self.forge.most(HOUR, writes=True),
            "mostWritesAMinute": self.forge.most(60, writes=True),
            "mostRequestsAnHour": self.forge.most(HOUR, writes=False),
        }

    def _make(self) -> None:
        templates = []
        for text in ("nightly", "stable"):
            people = Repository.make(self.folder / text)
            pages = range(self.given.pages)
            people.commit({f"docs/{page}.md": page_of(text if page % 6 == 0 else "", page) for page in pages})
            templates.append(people.bare(self.folder / f"{text}.git").path)
            shutil.rmtree(templates[-1] / "hooks")
        for number in range(self.given.repositories):
            shutil.copytree(templates[number not in self.changing], self.folder / f"r{number}.git")
        listed = [
            {
                "name": f"r{number}",
                "address": str(self.folder / f"r{number}.git"),
                "github": f"acme/r{number}",
            }
            for number in range(self.given.repositories)
        ]
        (self.folder / "repos.yml").write_text(yaml.safe_dump({"repositories": listed}))
        (self.folder / "bot.yml").write_text(MANIFEST)

    def _state(self, shard: int) -> Path:
        return self.folder / f"work-{shard}" / "state.jsonl"

    def _open(self, number: int) -> None:
        address = f"http://127.0.0.1:{self.server.server_address[1]}"
        command = [sys.executable, "-m", "tests.bot.fleet_simulation", "shard", "fleet", "open"]
        command += [
            str(self.folder / "bot.yml"),
            str(self.folder / "repos.yml"),
            "--label",
            LABEL,
            "--jobs",
            "1",
        ]
        command += [
            "--shard",
            f"{number}/{self.given.shards}",
            "--state",
            str(self._state(number)),
            "--quiet",
        ]
        command += ["--work", str(self.folder / f"work-{number}"), "--root", str(self.folder)]
        command += ["--per-hour", str(self.given.per_hour)] if self.given.per_hour else []
        variables = {**os.environ, **IDENTITY, "GITHUB_API_URL": address, "GH_TOKEN": str(number)}
        code = -signal.SIGKILL
        try:
            while code == -signal.SIGKILL:
                process = subprocess.Popen(command, env=variables, stdout=subprocess.DEVNULL)
                self.forge.processes[str(number)] = process
                code = process.wait()
        finally:
            self.clock.end(str(number))

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        clock, forge = self.clock, self.forge

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                shard = self.headers["Authorization"].removeprefix("Bearer ")
                given = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
                headers: Mapping[str, str] = {}
                if self.path == "/clock":
                    if given.get("seconds"):
                        clock.sleep(shard, given["seconds"])
                    status, body = 200, clock.time
                else:
                    status, body, headers = forge.answer(shard, self.command, self.path, given)
                data = json.dumps(body).encode()
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(data))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            do_POST = do_PATCH = do_PUT = do_GET  # noqa: N815 (names that the base class looks up)

            def log_message(self, *_: object) -> None:
                pass

            def handle(self) -> None:
                with suppress(OSError):
                    super().handle()

        return Handler


def page_of(text: str, number: int) -> bytes:
    """A page of 11 KB, if it is not the first one."""
    sections = "".join(
        f"\n## Part {part}\n\n{'Fill the kettle. ' * 60}\n" for part in range(11 if number else 0)
    )
    return f"# Page {number}\n\nThe {text} build.\n{sections}".encode()


def run_shard(words: list[str]) -> None:
    """Run the command `words` of mdplan on the simulated clock."""
    from mdplan.__main__ import main
    from mdplan.bot import fleet
    from mdplan.bot.forge import Governor

    def now(seconds: float = 0) -> float:
        headers = {"Authorization": f"Bearer {os.environ['GH_TOKEN']}"}
        data = json.dumps({"seconds": seconds}).encode()
        request = urllib.request.Request(f"{os.environ['GITHUB_API_URL']}/clock", data, headers)
        with urllib.request.urlopen(request) as answer:
            return float(answer.read())

    def sleep(seconds: float) -> None:
        now(seconds)

    simulated = partial(Governor, now=now, sleep=sleep)
    setattr(fleet, "Governor", simulated)  # noqa: B010 (mypy lets nobody else assign to a class)
    sys.argv = ["mdplan", *words]
    main()


def _given() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    for name, value in {
        "repositories": 2000,
        "shards": 16,
        "kills": 10,
        "lost": 2,
        "seed": 46,
        "pages": 1,
    }.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--per-hour", type=float)
    parser.add_argument("folder", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    if sys.argv[1:2] == ["shard"]:
        run_shard(sys.argv[2:])
    else:
        simulation = Simulation(_given().folder.absolute(), _given())
        simulation.run()
        sys.stdout.write(json.dumps(simulation.result(), indent=2) + "\n")
