"""Shared by all tests: the corpus if present, a separate state folder per test, and Hypothesis profiles."""

import gc
import itertools
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A shell starts background processes with SIGINT ignored, and children inherit that; tests could not
# interrupt theirs.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

REPOSITORY = Path(__file__).parent.parent

# The machine may be busy, so no example has a time limit, and slow examples are no failure.
_PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("default", parent=_PATIENT, max_examples=20)
settings.register_profile("ci", parent=_PATIENT, max_examples=20, derandomize=True, print_blob=True)
settings.register_profile("full", parent=_PATIENT, max_examples=1000, print_blob=True)

FULL = os.environ.get("MDPLAN_FULL") == "1"
settings.load_profile("full" if FULL else "ci" if os.environ.get("CI") else "default")


def pytest_collection_finish() -> None:
    """Keep the collector from visiting twelve thousand tests each time: a third of a second."""
    gc.collect()
    gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-cases", action="store_true", help="write anew what the golden cases expect, to be looked at"
    )


@pytest.fixture
def update_cases(request: pytest.FixtureRequest) -> bool:
    """Return True if golden cases are to be written instead of compared."""
    return bool(request.config.getoption("--update-cases"))


@pytest.fixture
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder with the `FILES` of the test module: their content by their names."""
    folder = tmp_path / "root"
    folder.mkdir()
    for name, content in request.module.FILES.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


@pytest.fixture(scope="session")
def corpus() -> Path:
    """Folder of real documents, which are not ours to commit."""
    folder = Path(os.environ.get("MDPLAN_CORPUS") or REPOSITORY.parent / "shared" / "corpus")
    if not folder.is_dir():
        pytest.skip("no corpus: MDPLAN_CORPUS names no folder, and ../shared/corpus is none either")
    return folder


@pytest.fixture(scope="session")
def _states(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    parent = tmp_path_factory.mktemp("state")
    return (parent / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def state_dir(_states: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder for plans and history that only this test sees; it does not exist yet."""
    folder = next(_states)
    monkeypatch.setenv("MDPLAN_STATE_DIR", str(folder))
    return folder
