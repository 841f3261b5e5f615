"""The report of the bot."""

from dataclasses import dataclass

from mdplan.diagnostics import Diagnostic
from mdplan.reports.plan import ApplyReport


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestPart:
    """One part of a manifest that was split: so many `files` on a `branch` with its pull request.

    `commit` and `pull_request` are None for a part with nothing left to do, and `error` says why another
    failed.
    """

    name: str
    branch: str
    files: int
    commit: str | None = None
    pull_request: str | None = None
    error: Diagnostic | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BotReport(ApplyReport):
    """The report of `bot plan`, `bot apply` and `bot check`.

    The manifest names `files_named` files: `files_left_out` meet no condition, `files_hold` already match,
    `files_changed` are in the plan, and `files_refused` cannot be planned. With refused files there is no
    plan, unless the bot keeps going. Files that change only because of their links are in `files` and not
    counted here. The report contains neither the diff nor the edits.

    With `--git`, `base_commit` is the commit that was planned on; `commit` is the one that was made, and
    `branch` the full name of the branch that it went to. There is no receipt then: git keeps the history.
    `pull_request` is the address of the pull request that `bot pr` opened, updated or closed; of a manifest
    that was split, `pull_requests` has one for each part.
    """

    files_named: int = 0
    files_left_out: int = 0
    files_hold: int = 0
    files_changed: int = 0
    files_refused: int = 0
    base_commit: str | None = None
    commit: str | None = None
    branch: str | None = None
    pull_request: str | None = None
    pull_requests: tuple[PullRequestPart, ...] = ()
