"""The interface of a forge, such as GitHub."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class PullRequest:
    """An open pull request: its number and the address of its page."""

    number: int
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PullText:
    """Title and description of a pull request; `labels` are added to its existing ones."""

    title: str
    body: str
    labels: Sequence[str] = ()


class Forge(Protocol):
    """A host of repositories. Each method raises `StorageRefused` (IO_ERROR) when the forge refuses."""

    @property
    def committer(self) -> bytes:
        """Who is the committer of the commits that the forge makes, as commits name it."""

    def commit(self, branch: str, base: str, message: str, files: Mapping[str, bytes | None]) -> str:
        """Make a commit with `message` on `branch`, which is at the commit `base`; its ID.

        `files` are those that it writes; None removes one. The forge signs it.
        """

    def find(self, branch: str) -> PullRequest | None:
        """The open pull request of the branch `branch`; None where there is none."""

    def open(self, branch: str, base: str, text: PullText) -> PullRequest:
        """Ask for a merge of `branch` into `base`."""

    def update(self, pull: PullRequest, text: PullText) -> None:
        """Give `pull` this text."""

    def comment(self, pull: PullRequest, marker: str, text: str) -> None:
        """Write the comment on `pull` that begins with the line `marker`, or write it again."""

    def merge(self, pull: PullRequest, commit: str) -> None:
        """Merge `pull`, if its branch is still at `commit`."""

    def close(self, pull: PullRequest, comment: str) -> None:
        """Close `pull` with a last comment."""
