"""Every code block of README and docs is checked by something; an unchecked block fails."""

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from mdplan.requests.batch import Batch, read_batch
from tests.conftest import REPOSITORY
from tests.docs.client_settings import faults, is_settings
from tests.docs.pages import DOCS, Block, blocks_of, name_of, pages
from tests.docs.test_pages import SHOWN
from tests.docs.typed_commands import faults_of_script

# Blocks that only a test of their page can check: page, info, test.
BY_THEIR_TEST = {
    ("README.md", "console"): "tests/surfaces/test_cli_help.py",
    ("README.md", "json batches/stable.json"): "tests/surfaces/test_cli_help.py",
    ("docs/how-to/keep-links-right.md", "toml mdplan.toml"): "tests/properties/test_links.py",
    ("docs/how-to/check-a-change.md", "yaml .pre-commit-config.yaml"): "tests/surfaces/test_cli_check.py",
    ("docs/contributing/testing.md", "md"): "tests/test_cases.py",
    ("docs/explanation/architecture.md", "text"): "tests/docs/test_site.py",
    ("docs/explanation/security-model.md", "sh"): "tests/docs/test_security_model.py",
    ("docs/how-to/review-plans.md", "text"): "tests/surfaces/test_review_page.py",
    ("docs/how-to/serve-over-http.md", "text start"): "tests/docs/test_serve_over_http.py",
    ("docs/how-to/serve-over-http.md", "nginx"): "tests/docs/test_serve_over_http.py",
    ("docs/how-to/serve-over-http.md", "text Caddyfile"): "tests/docs/test_serve_over_http.py",
    ("docs/how-to/run-the-bot-in-ci.md", "yaml .github/workflows/docs.yml"): "tests/docs/test_run_in_ci.py",
    (
        "docs/how-to/run-the-bot-in-ci.md",
        "yaml .github/workflows/docs-comment.yml",
    ): "tests/docs/test_run_in_ci.py",
    (
        "docs/how-to/run-the-bot-in-ci.md",
        "yaml .github/workflows/nightly.yml",
    ): "tests/docs/test_run_in_ci.py",
    (
        "docs/how-to/run-the-bot-in-ci.md",
        "yaml .github/workflows/docs-apply.yml",
    ): "tests/docs/test_run_in_ci.py",
    ("docs/how-to/run-a-fleet.md", "yaml repos.yml"): "tests/bot/test_fleet.py",
    ("docs/how-to/run-a-fleet.md", "yaml .github/workflows/fleet.yml"): "tests/bot/test_fleet.py",
    ("docs/how-to/run-a-fleet.md", "yaml .gitlab-ci.yml"): "tests/bot/test_fleet.py",
    ("docs/how-to/use-from-python.md", "python corpus.py"): "tests/unit/test_document.py",
    ("docs/how-to/run-the-bot-in-ci.md", "yaml azure-pipelines.yml"): "tests/docs/test_run_in_ci.py",
    ("docs/how-to/run-the-bot-in-ci.md", "groovy Jenkinsfile"): "tests/docs/test_run_in_ci.py",
    ("docs/how-to/run-the-bot-in-ci.md", "yaml .pre-commit-config.yaml"): "tests/docs/test_run_in_ci.py",
    ("docs/how-to/run-the-bot-in-ci.md", "yaml .gitlab-ci.yml"): "tests/docs/test_run_in_ci.py",
    ("docs/how-to/run-the-bot-in-ci.md", "sh check-docs.sh"): "tests/docs/test_run_in_ci.py",
}
# Pages with a single test for all blocks, which fails for an unknown block.
BY_ONE_TEST = {
    "docs/contributing/first-use.md": "tests/first_use/test_first_use.py",
    "docs/explanation/semantics.md": "tests/docs/test_pages.py",
    "docs/tutorial/first-plan.md": "tests/docs/recording.py",
}
# A commit message, which people write.
BY_NOTHING = {("docs/contributing/index.md", "text")}
# Pages that are made from the code: what they show is what golden cases expect, which are run.
GENERATED = DOCS / "reference"


@pytest.mark.requirement("docs-3")
@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_each_block_is_checked(page: Path) -> None:
    blocks = blocks_of(page)
    problems = [
        f"line {block.line}, {' '.join(block.info) or 'no info'}: {problem}"
        for block in blocks
        for problem in _problems(page, block, [other for other in blocks if other is not block])
    ]

    assert problems == []


def _problems(page: Path, block: Block, others: list[Block]) -> Iterator[str]:
    """Return the faults of `block`, or that nothing checks it."""
    name, info = name_of(page), " ".join(block.info)
    if name in BY_ONE_TEST or (name, info) in {*BY_THEIR_TEST, *BY_NOTHING}:
        return
    if GENERATED in page.parents:
        yield from _problems_of_generated(page, block)
        return
    match block.info:
        case [_, file] if is_settings(file):
            yield from faults(file, block.text)
        case ["sh"]:
            yield from faults_of_script(block.text)
        case ["console" | "python"] | ["console", "refused"] | ["json", _, "refused"] if page in SHOWN:
            pass
        case ["json", tool] if page in SHOWN and tool.startswith("md_"):
            pass
        case ["text"] if page in SHOWN and ("json", "md_stat") in {other.info for other in others}:
            pass
        case [_, file] if page in SHOWN and _is_used(file, others):
            pass
        case ["python"] if DOCS / "contributing" in page.parents:
            ast.parse(block.text)
        case _:
            yield "nothing checks it"


def _is_used(file: str, others: list[Block]) -> bool:
    """Return True if a command, a program or another file of the page uses `file`."""
    return any(file in other.text for other in others)


def _problems_of_generated(page: Path, block: Block) -> Iterator[str]:
    """Check that the example of an operation is accepted; everything else is generated."""
    data = json.loads(block.text) if block.info == ("json",) and page.parent.name == "operations" else {}
    if "op" in data:
        data = {"file": "guide.md", "edits": [data]}
    if "edits" in data or "files" in data:
        batch = read_batch(data)
        if not isinstance(batch, Batch):
            yield f"it is no batch: {batch}"


def test_named_tests_exist_and_name_their_page() -> None:
    for page, test in {**{page: test for (page, _), test in BY_THEIR_TEST.items()}, **BY_ONE_TEST}.items():
        text = (REPOSITORY / test).read_text(encoding="utf-8")
        assert Path(page).name in text, f"{test} does not look at {page}"


def test_blocks_checked_by_a_test_are_on_its_page() -> None:
    shown = {(name_of(page), " ".join(block.info)) for page in pages() for block in blocks_of(page)}

    assert sorted(set(BY_THEIR_TEST) - shown) == []
