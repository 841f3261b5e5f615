"""What `mdplan check --since` reports of changes that people committed, to be read: which of it is noise?

Run it for the numbers: `python -m tests.corpus.checked_commits [FOLDER] [COMMITS]`.
"""

import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mdplan.checks.change_check import check_since
from mdplan.diagnostics import Problems
from mdplan.documents.outlined_files import OutlinedFiles
from mdplan.engine.engine import Engine
from mdplan.settings import Settings
from tests.corpus.replayed_commits import BUNDLES


@dataclass(frozen=True)
class CheckedCommit:
    """One commit, and what `check` reports of its change."""

    commit: str
    documents: int
    warnings: Problems


def checked_commits(bundle: Path, most: int, folder: Path) -> Iterator[CheckedCommit]:
    """The newest `most` commits of `bundle` that are no merges, each compared with the one before it."""
    repository = folder / bundle.stem
    _git(folder, "clone", "--quiet", str(bundle.resolve()), str(repository))
    log = _git(repository, "log", "--no-merges", f"--max-count={most}", "--format=%H", "HEAD")
    for commit in log.split():
        _git(repository, "checkout", "--quiet", "--force", commit)
        settings = Settings()
        with Engine.open([repository], settings=settings).workspace as workspace:
            report = check_since(OutlinedFiles.of(workspace, settings), settings, f"{commit}~1", [])
        yield CheckedCommit(commit[:10], report.checked, report.warnings)


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


def main(folder: Path, most: int) -> None:
    """Print each report, and how many commits have one."""
    with tempfile.TemporaryDirectory() as temporary:
        for bundle in sorted(folder.glob("*.bundle")):
            commits = list(checked_commits(bundle, most, Path(temporary)))
            reported = [each for each in commits if each.warnings]
            codes = Counter(problem.code for each in reported for problem in each.warnings)
            sys.stdout.write(f"{bundle.stem}: {len(reported)} of {len(commits)} commits, {dict(codes)}\n")
            for each in reported:
                for problem in each.warnings:
                    sys.stdout.write(f"  {each.commit} {problem.file} {problem.code}: {problem.message}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else BUNDLES, int(sys.argv[2]) if len(sys.argv) > 2 else 300)
