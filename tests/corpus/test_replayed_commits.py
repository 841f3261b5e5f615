"""Changes that people committed are hardly ever refused, and made as they were."""

from pathlib import Path

import pytest

from tests.corpus.replayed_commits import BUNDLES, Outcome, changes_of, line_edits, replay, section_edits

MOST_REFUSED = 0.005


def described(outcome: Outcome) -> list[str]:
    return [f"{change.name}: {problems[0]}" for change, problems in outcome.refused]


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("edits_of", [line_edits, section_edits])
@pytest.mark.parametrize("name", ["awesome", "proposals", "reference"])
def test_few_committed_changes_are_rejected(name: str, edits_of: object, tmp_path: Path) -> None:
    bundle = BUNDLES / f"{name}.bundle"
    if not bundle.exists():
        pytest.skip("no ../shared/replay")
    outcome = replay(
        changes_of(bundle, 1000, tmp_path), line_edits if edits_of is line_edits else section_edits
    )

    assert outcome.changes > 500
    assert outcome.wrong == []
    assert len(outcome.refused) < MOST_REFUSED * outcome.changes, described(outcome)


def test_recent_commits_replay_to_the_same_bytes(tmp_path: Path) -> None:
    bundle = BUNDLES / "awesome.bundle"
    if not bundle.exists():
        pytest.skip("no ../shared/replay")
    outcome = replay(changes_of(bundle, 40, tmp_path))

    assert outcome.changes > 20
    assert (outcome.wrong, described(outcome)) == ([], [])
