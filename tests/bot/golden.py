"""Golden folders of the bot: a manifest, the files before, and the files after or what is wrong."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mdplan.bot.bot import How
from mdplan.bot.bot_report import BotReport
from mdplan.bot.manifest.inputs import Given, load_manifest
from mdplan.bot.manifest.loading import LoadedManifest
from mdplan.bot.verbs import apply_manifest, proposed
from mdplan.engine.engine import Engine
from mdplan.reports.base import refusal, to_wire
from mdplan.settings import Settings
from mdplan.storage.durability import Durability
from tests.golden_case import Tree, read_tree

CASES = Path(__file__).parent / "cases"
HERE = How(jobs=1)


@dataclass(frozen=True)
class BotCase:
    """One golden folder."""

    folder: Path

    @property
    def manifest(self) -> str:
        """Path of the manifest."""
        (found,) = self.folder.glob("bot.*")
        return str(found)

    @property
    def after(self) -> Tree | None:
        """The files after; None where the manifest is refused."""
        return read_tree(self.folder / "after") if (self.folder / "after").exists() else None

    def lay_out(self, root: Path) -> None:
        """Copy the files before into `root`."""
        shutil.copytree(self.folder / "before", root, dirs_exist_ok=True)

    def expected_problems(self) -> list[dict[str, Any]]:
        """What is wrong."""
        decoded = json.loads((self.folder / "diagnostics.json").read_bytes())
        assert isinstance(decoded, list)
        return decoded


def open_engine(root: Path) -> Engine:
    """An engine that syncs nothing."""
    return Engine.open([root], settings=Settings(durability=Durability.PROCESS))


def load(manifest: str, given: Given | None = None) -> LoadedManifest:
    """A manifest without problems."""
    loaded = load_manifest(manifest, given or Given())
    assert isinstance(loaded, LoadedManifest), loaded
    return loaded


def applied(engine: Engine, manifest: str, how: How = HERE) -> BotReport:
    """The report on `bot apply`, whatever it says."""
    loaded = load_manifest(manifest, Given())
    return (
        apply_manifest(engine, loaded, how)
        if isinstance(loaded, LoadedManifest)
        else refusal(BotReport, loaded)
    )


def planned(engine: Engine, manifest: str, how: How = HERE, *, keeps: bool = True) -> tuple[BotReport, bytes]:
    """The report on `bot plan`, and the diff."""
    with proposed(engine, load(manifest), how, keeps=keeps) as proposal:
        return proposal.report, b"".join(proposal.diff())


def problems_of(report: BotReport, folder: Path) -> list[dict[str, Any]]:
    """Its diagnostics on the wire, with the paths of a golden folder made relative."""
    text = json.dumps(to_wire(report.diagnostics))
    decoded = json.loads(text.replace(f"{folder}/", ""))
    assert isinstance(decoded, list)
    return decoded
