"""No package that we depend on is known to be vulnerable, as far as `pip-audit` can tell."""

import importlib.util
import json
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, requires

import pytest

_NAME = re.compile(r"[A-Za-z0-9._-]+")
_SECONDS = 100
COMMAND = [
    *(sys.executable, "-m", "pip_audit", "--progress-spinner", "off", "--format", "json"),
    *("--skip-editable", "--timeout", "10"),
]


def plain(name: str) -> str:
    """`name` as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def needed(name: str) -> set[str]:
    """The package `name` and all that it needs, extras left out."""
    found: set[str] = set()
    waiting = [plain(name)]
    while waiting:
        each = waiting.pop()
        if each in found:
            continue
        found.add(each)
        try:
            listed = requires(each) or []
        except PackageNotFoundError:
            continue
        names = (_NAME.match(requirement) for requirement in listed if "extra ==" not in requirement)
        waiting += [plain(name[0]) for name in names if name]
    return found


def test_audit_follows_transitive_dependencies() -> None:
    assert {"mdplan", "mcp", "pydantic", "pydantic-core", "markdown-it-py", "mdurl"} <= needed("mdplan")


@pytest.mark.slow
def test_no_dependency_has_a_known_vulnerability() -> None:
    if importlib.util.find_spec("pip_audit") is None:
        pytest.skip("pip-audit is not installed")
    try:
        run = subprocess.run(COMMAND, check=False, capture_output=True, encoding="utf-8", timeout=_SECONDS)
        packages = json.loads(run.stdout)["dependencies"]
    except subprocess.TimeoutExpired:
        pytest.skip(f"the service that pip-audit asks has not answered in {_SECONDS} s")
    except ValueError:
        pytest.skip(f"pip-audit cannot run here: {run.stderr.strip().splitlines()[-1:]}")
    ours = needed("mdplan")
    audited = [package for package in packages if "vulns" in package and plain(package["name"]) in ours]
    if not audited:
        pytest.skip(f"the service that pip-audit asks knows none of {len(ours)} packages")
    known = {package["name"]: [each["id"] for each in package["vulns"]] for package in audited}

    assert {name: vulnerabilities for name, vulnerabilities in known.items() if vulnerabilities} == {}
