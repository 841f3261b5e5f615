"""Cached verdicts on unchanged files, so that the next run reads only changed files.

A verdict is valid for a file's stamp, the whole manifest, and the version of mdplan. The cache is in the
user's state directory, out of reach of repositories.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Final, TypeAlias

import msgspec

from mdplan import __version__
from mdplan.bot.job import PAGES, CandidateFile, FileOutcome, FileStatus, Job
from mdplan.storage.user_state import RootFolder

_KEPT_JOBS: Final = 8
_UNCHANGED: Final = frozenset({FileStatus.SKIPPED, FileStatus.SATISFIED})

# For the rules and the stamp of a file.
_Verdict: TypeAlias = tuple[tuple[int, ...], str, FileStatus]


@dataclass(kw_only=True)
class VerdictCache:
    """Cached verdicts for the files of a job by path, in the file `path`; None if nothing is cached.

    If the file is unusable, the run continues without it.
    """

    folder: RootFolder
    path: Path | None = None
    verdicts: dict[str, _Verdict] = field(default_factory=dict)
    stamps: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, job: Job) -> "VerdictCache":
        """Return the verdicts of earlier runs of `job`.

        There are none if it uses git history, other pages or links, which are not in the stamp of a file.
        """
        identity = job.tree.identity
        cache = cls(folder=RootFolder("\0".join(identity)))
        rules = job.loaded.manifest.files
        if not any(rule.links for rule in rules) and not job.history and not job.loaded.uses_anywhere(PAGES):
            values = dict(job.loaded.values.known)
            if not job.loaded.uses_anywhere("today"):
                del values["today"]
            facts = [__version__, identity, job.loaded.located.data, values]
            identity_json = json.dumps([*facts, repr(job.settings)], default=str)
            key = hashlib.sha256(identity_json.encode("utf-8", "surrogatepass")).hexdigest()
            cache.path = Path(cache.folder.path, f"bot-{key}.json")
            with suppress(OSError, ValueError):
                cache.folder.check()
                cache.verdicts = msgspec.json.decode(cache.path.read_bytes(), type=dict[str, _Verdict])
        return cache

    def known(
        self, candidates: Sequence[CandidateFile], stamps: Mapping[str, str]
    ) -> Iterator[FileOutcome | CandidateFile]:
        """Yield the cached outcome of each candidate with an unchanged stamp, or else the candidate."""
        self.stamps = stamps
        for candidate in candidates:
            *facts, verdict = self.verdicts.get(candidate.path, ((), None, FileStatus.SKIPPED))
            if facts == [candidate.rules, stamps.get(candidate.path, "")]:
                yield FileOutcome(path=candidate.path, verdict=verdict)
            else:
                yield candidate

    def remember(self, candidates: Sequence[CandidateFile], outcomes: Mapping[str, FileOutcome]) -> None:
        """Store the `outcomes` of unchanged `candidates`, and delete the others."""
        read = {each.path for each in candidates}
        verdicts = {path: verdict for path, verdict in self.verdicts.items() if path not in read}
        for each in candidates:
            if each.path in outcomes and each.path in self.stamps:
                verdicts[each.path] = each.rules, self.stamps[each.path], outcomes[each.path].verdict
        if self.path is None or verdicts == self.verdicts:
            return
        with suppress(OSError):
            self.folder.check(makes=True)
            with NamedTemporaryFile(dir=self.folder.path, delete=False) as file:
                file.write(msgspec.json.encode(verdicts))
            Path(file.name).replace(self.path)
            files = sorted(self.path.parent.glob("bot-*.json"), key=lambda path: path.stat().st_mtime)
            for old in files[:-_KEPT_JOBS]:
                old.unlink()


def is_kept(outcome: FileOutcome) -> bool:
    """Return True if `outcome` depends only on the file's bytes and has no problems."""
    return outcome.verdict in _UNCHANGED and not outcome.misses
