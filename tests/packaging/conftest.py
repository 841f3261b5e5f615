"""The wheel and the source archive of this checkout, and an environment with nothing but the wheel in it."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from filelock import FileLock

from tests.conftest import REPOSITORY

SECONDS = 300
# Variables that would lead back to this checkout, or to packages beside it.
_LEADS_BACK = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}


@dataclass(frozen=True, slots=True)
class Distributions:
    """What is uploaded for a release."""

    wheel: Path
    archive: Path


@dataclass(frozen=True, slots=True)
class Installed:
    """A separate environment, and the variables of its processes."""

    folder: Path
    environment: dict[str, str]

    @property
    def program(self) -> Path:
        return self.folder / "bin" / "mdplan"

    def run(self, *command: str | Path, cwd: Path, stdin: str = "") -> "subprocess.CompletedProcess[str]":
        """What a command of the environment's `bin` prints."""
        program, *arguments = command
        return subprocess.run(
            [self.folder / "bin" / program, *arguments],
            cwd=cwd,
            env=self.environment,
            input=stdin,
            capture_output=True,
            check=False,
            encoding="utf-8",
            timeout=SECONDS,
        )


def build(source: Path, target: str, folder: Path) -> Path:
    """Build the `target` (wheel or sdist) of the project in `source` into `folder`, with installed tools."""
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(folder)]
    done = subprocess.run(
        command, cwd=source, capture_output=True, check=False, encoding="utf-8", timeout=SECONDS
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = folder.iterdir()
    return built


def pip_install(python: Path, *what: str | Path) -> None:
    """Install with the local pip configuration; if that fails, skip the test with the reason. CI fails
    instead.
    """
    # The pip of the tests does it for the other Python, and does not compile: both are for speed.
    command = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-compile", *what]
    done = subprocess.run(
        command,
        cwd="/",
        env=clean_environment(),
        capture_output=True,
        check=False,
        encoding="utf-8",
        timeout=SECONDS,
    )
    if done.returncode:
        said = f"pip cannot install here: {done.stderr.strip()[-300:]}"
        assert not os.environ.get("CI"), said
        pytest.skip(said)


def clean_environment() -> dict[str, str]:
    """Return the variables of this process without those that lead back here."""
    return {name: text for name, text in os.environ.items() if name not in _LEADS_BACK}


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Callable[[Path], None]], Path]:
    """Return a function that gives a folder which only one of all test processes fills."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def fill(name: str, make: Callable[[Path], None]) -> Path:
        folder, failed = shared / name, shared / f"{name}.failed"
        with FileLock(shared / f"{name}.lock"):
            if failed.exists():
                pytest.skip(f"{name}: another process could not make it: {failed.read_text()}")
            if not folder.exists():
                folder.mkdir()
                failed.write_text("it did not end")
                make(folder)
                failed.unlink()
        return folder

    return fill


@pytest.fixture(scope="session")
def distributions(once: Callable[[str, Callable[[Path], None]], Path]) -> Distributions:
    def make(folder: Path) -> None:
        for target in ("wheel", "sdist"):
            build(REPOSITORY, target, folder / target)

    folder = once("distributions", make)
    (wheel,), (archive,) = (folder / "wheel").iterdir(), (folder / "sdist").iterdir()
    return Distributions(wheel, archive)


@pytest.fixture(scope="session")
def installed(distributions: Distributions, once: Callable[[str, Callable[[Path], None]], Path]) -> Installed:
    """The wheel in an environment that was empty; its dependencies come as pip finds them."""

    def make(folder: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, timeout=SECONDS)
        pip_install(folder / "bin" / "python", distributions.wheel)

    folder = once("installed", make)
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return Installed(folder, {**clean_environment(), "PATH": path, "MDPLAN_STATE_DIR": str(folder / "state")})
