"""Trees of many files, made for tests and benchmarks."""

import hashlib
from pathlib import Path

WORDS = ["Every", "page", "has", "a", "few", "words,", "a", "link,", "a", "list", "and", "some", "code."]
MANIFEST = """\
vars: {note: "This page is kept by a bot."}
files:
  - glob: docs/**/*.md
    when: {not: {hasText: "{{vars.note}}"}}
    edits:
      - {op: prepend_to_section, headingPath: [], markdown: "{{vars.note}} It is {{path}}."}
"""


def page(number: int) -> str:
    """Return a unique page of about 3 KB."""
    digest = hashlib.sha256(str(number).encode()).hexdigest()
    start = int(digest[:4], 16) % len(WORDS)
    text = " ".join((WORDS[start:] + WORDS[:start]) * 3)
    sections = "".join(
        f"## Part {part} of {digest[part]}\n\n{text}\n\n- one\n- [two](page-{number + part:05}.md)\n\n"
        f"```python\nprint({part})\n```\n\n"
        for part in range(6)
    )
    return f"---\ntitle: Page {number}\n---\n\n# Page {number}\n\n{digest}\n\n{sections}"


def make_tree(root: Path, count: int) -> str:
    """Write `count` pages and a manifest below `root`; the path of the manifest."""
    for number in range(count):
        folder = root / "docs" / f"{number // 100:03}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"page-{number:05}.md").write_text(page(number), encoding="utf-8")
    manifest = root / "bot.yml"
    manifest.write_text(MANIFEST, encoding="utf-8")
    return str(manifest)


def digests(root: Path) -> dict[str, str]:
    """SHA-256 of every page, by its path."""
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted((root / "docs").rglob("*.md"))
    }
