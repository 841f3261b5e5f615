"""Golden cases of the bot, in `tests/cases/bot.md`."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docs.codegen.cases import read_cases
from mdplan.bot.bot import BotReport, RunOptions, apply_manifest, propose
from mdplan.bot.manifest import LoadedManifest, ManifestInputs, load_manifest
from mdplan.engine.engine import Engine
from mdplan.reports.base import refusal, to_wire
from mdplan.settings import Settings
from mdplan.storage.filesystem import Durability
from tests.support.golden_cases import CASES as GOLDEN_CASES
from tests.support.golden_cases import Case, Tree

HERE = RunOptions(jobs=1)
WHOLE = RunOptions(jobs=1, all_or_nothing=True)


@dataclass(frozen=True)
class BotCase:
    """A manifest, files before, and the files after or the diagnostics that refuse it."""

    case: Case

    def __str__(self) -> str:
        return self.case.text.slug

    @property
    def after(self) -> Tree | None:
        """The files after the run; None if the manifest is refused."""
        return self.case.after if self.case.is_accepted else None

    def write_manifest(self, folder: Path) -> str:
        """Write the manifest and its data files into the new `folder`; the path of the manifest."""
        folder.mkdir()
        paths = []
        for block in self.case.text.find("manifest"):
            paths.append(folder / self.case.text.path_of(block))
            paths[-1].parent.mkdir(exist_ok=True)
            paths[-1].write_bytes(block.data)
        return str(paths[0])

    def lay_out(self, root: Path) -> None:
        """Write the files before into `root`."""
        root.mkdir(exist_ok=True)
        self.case.lay_out(root)

    def expected_problems(self) -> list[dict[str, Any]]:
        """The diagnostics of a refused manifest."""
        assert self.case.diagnostics is not None
        return self.case.diagnostics


CASES = [BotCase(Case("bot", text)) for text in read_cases(GOLDEN_CASES / "bot.md")]


def open_engine(root: Path) -> Engine:
    """An engine that syncs nothing."""
    return Engine.open([root], settings=Settings(durability=Durability.PROCESS))


def load(manifest: str, given: ManifestInputs | None = None) -> LoadedManifest:
    """A manifest without problems."""
    loaded = load_manifest(manifest, given or ManifestInputs())
    assert isinstance(loaded, LoadedManifest), loaded
    return loaded


def applied(engine: Engine, manifest: str, how: RunOptions = HERE) -> BotReport:
    """Return the report of `bot apply`, including refusals."""
    loaded = load_manifest(manifest, ManifestInputs())
    return (
        apply_manifest(engine, loaded, how)
        if isinstance(loaded, LoadedManifest)
        else refusal(BotReport, loaded)
    )


def planned(
    engine: Engine, manifest: str, how: RunOptions = HERE, *, keeps: bool = True
) -> tuple[BotReport, bytes]:
    """The report on `bot plan`, and the diff."""
    with propose(engine, load(manifest), how, keeps=keeps) as proposal:
        return proposal.report, b"".join(proposal.diff())


def problems_of(report: BotReport, folder: Path) -> list[dict[str, Any]]:
    """Its diagnostics on the wire, with paths relative to the `folder` of the manifest."""
    text = json.dumps(to_wire(report.diagnostics))
    decoded = json.loads(text.replace(f"{folder}/", ""))
    assert isinstance(decoded, list)
    return decoded
