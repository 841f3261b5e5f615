"""Twelve chores that documentation teams run every night, on real documents.

Each manifest has at most twelve lines; each result is checked by code that shares nothing with mdplan; and a
second run finds nothing to do.
"""

import csv
import re
from collections.abc import Callable
from dataclasses import dataclass
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest
import yaml

from mdplan.engine.engine import Engine
from tests.bot.golden import applied, planned
from tests.conftest import FULL
from tests.support.pages import Page

Texts = dict[str, str]
CMDLETS = "PowerShell-Docs/reference/7.5/Microsoft.PowerShell.Utility"
PROPOSALS = "EIPs/EIPS"
API = "nodejs-api"
_NAME = "Windows PowerShell"
_LINK = re.compile(r'href="([^"]*)"')
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


@dataclass(frozen=True)
class Chore:
    """A manifest for the files of a folder of the corpus, and what must be true of the texts afterwards."""

    name: str
    folder: str
    manifest: str
    check: Callable[[Texts, Texts], None]
    others: Callable[[Path], None] = lambda _: None

    def __str__(self) -> str:
        return self.name


def check_product_name(before: Texts, after: Texts) -> None:
    """Prose has the new name, code has the old one; nothing else differs."""
    changed = 0
    for name, text in before.items():
        old, new = _prose(text), _prose(after[name])
        assert new == old.replace(_NAME, "Shell Classic"), name
        assert _code(text) == _code(after[name]), name
        changed += old != new
    assert changed > 0


def check_version(before: Texts, after: Texts) -> None:
    """Links of front matter and body name the new version; nothing else differs."""
    for name, text in before.items():
        (head, body), (new_head, new_body) = _parts(text), _parts(after[name])
        assert yaml.safe_dump(new_head) == _bumped(yaml.safe_dump(head)), name
        links, new_links = (_LINK.findall(Page.of(each.encode()).body) for each in (body, new_body))
        assert new_links == [_bumped(link) for link in links], name
        assert _prose(body) == _prose(new_body), name
    assert "".join(after.values()).count("powershell-8.0") > 5


def _bumped(text: str) -> str:
    return re.sub(r"powershell-7\.\d", "powershell-8.0", text)


def check_date(before: Texts, after: Texts) -> None:
    """The date is today's where the body changed, and only there."""
    moved = 0
    for name, text in before.items():
        (head, body), (new_head, new_body) = _parts(text), _parts(after[name])
        if body == new_body:
            assert text == after[name], name
        else:
            assert str(new_head.pop("ms.date")) == "11/23/2026", name
            head.pop("ms.date")
            assert head == new_head, name
            moved += 1
    assert 0 < moved < len(before)


def check_front_matter(before: Texts, after: Texts) -> None:
    """Check that final core proposals have the key, and that all other files are unchanged."""
    marked = 0
    for name, text in before.items():
        head, body = _parts(text)
        if head.get("status") == "Final" and head.get("category") == "Core":
            assert _parts(after[name]) == ({**head, "frozen": True}, body), name
            marked += 1
        else:
            assert text == after[name], name
    assert 0 < marked < len(before)


def check_licence(before: Texts, after: Texts) -> None:
    """The comment is the first line of each body, and nothing else is new."""
    for name, text in before.items():
        _, body = _parts(after[name])
        assert body.lstrip("\n").startswith("<!-- SPDX-License-Identifier: CC0-1.0 -->\n"), name
        assert _words(after[name].replace("<!-- SPDX-License-Identifier: CC0-1.0 -->", "")) == _words(text)


def check_admonition(before: Texts, after: Texts) -> None:
    """The note follows the first H1 of each page."""
    for name, text in before.items():
        assert re.search(r"(?m)^# .*\n\n> \[!NOTE\]\n> Moved\.\n\n", after[name]), name
        assert after[name].replace("> [!NOTE]\n> Moved.\n\n", "", 1) == text, name


def check_order(before: Texts, after: Texts) -> None:
    """Check that all sections exist, with NOTES before INPUTS before OUTPUTS."""
    moved = 0
    for name, text in before.items():
        (intro, old), (new_intro, new) = _sections(text), _sections(after[name])
        assert intro == new_intro, name
        assert sorted(old) == sorted(new), name
        titles = [section.partition("\n")[0] for section in new]
        ordered = [title for title in titles if title in {"## NOTES", "## INPUTS", "## OUTPUTS"}]
        assert ordered == sorted(ordered, key=["## NOTES", "## INPUTS", "## OUTPUTS"].index), name
        moved += old != new
    assert moved > 5


def check_removal(before: Texts, after: Texts) -> None:
    """The section is gone, and all others are as they were."""
    removed = 0
    for name, text in before.items():
        (intro, old), (new_intro, new) = _sections(text), _sections(after[name])
        assert intro.rstrip() == new_intro.rstrip(), name
        assert new == [section for section in old if not section.startswith("## RELATED LINKS\n")], name
        removed += len(new) < len(old)
    assert removed > 5


def check_heading(before: Texts, after: Texts) -> None:
    """The heading is renamed, and what led to its anchor leads there still."""
    renamed = 0
    for name, text in before.items():
        assert not re.search(r"(?m)^## NOTES$", after[name]), name
        assert "(#notes)" not in after[name], name
        renamed += bool(re.search(r"(?m)^## Remarks$", after[name]))
        assert Page.of(after[name].encode()).unresolved == Page.of(text.encode()).unresolved, name
    assert renamed > 5
    assert "(#remarks)" in "".join(after.values())


def check_contents(before: Texts, after: Texts) -> None:
    """Each page lists its headings of level 2, and each link leads to one."""
    marked = {name: text for name, text in after.items() if "<!-- toc:start -->" in text}
    assert len(marked) > 5
    for name, text in marked.items():
        page = Page.of(text.encode())
        wanted = sum(level == 2 for level, _ in page.headings)
        listed = text.partition("<!-- toc:start -->")[2].partition("<!-- toc:end -->")[0]
        assert listed.count("](#") == wanted, name
        assert page.unresolved == Page.of(before[name].encode()).unresolved, name


def check_table(before: Texts, after: Texts) -> None:
    """The cells that a reader sees are the values of the data."""
    (text,) = after.values()
    assert before.keys() == after.keys()
    cells = _Cells()
    cells.feed(Page.of(text.encode()).body)
    assert cells.rows[1:] == [[row["name"], row["about"]] for row in ROWS]


def check_snippet(before: Texts, after: Texts) -> None:
    """The page shows the code of the source file."""
    (text,) = after.values()
    assert before.keys() == after.keys()
    assert '```js\nimport { test } from "node:test";\n\ntest("```");\n```' in text.replace("````", "```")


ROWS = [{"name": "a|b", "about": "one, two"}, {"name": "c", "about": "x | y | z"}, {"name": "d", "about": ""}]


def with_markers(name: str) -> Callable[[Path], None]:
    """Puts markers into each page, below its first heading, as people do once."""

    def write(root: Path) -> None:
        for path in root.glob("*.md"):
            text = path.read_text("utf-8")
            marked = re.sub(
                r"(?m)(^# .*\n)", rf"\1\n<!-- {name}:start -->\n<!-- {name}:end -->\n", text, count=1
            )
            path.write_text(marked, "utf-8", newline="")

    return write


def one_page(name: str) -> Callable[[Path], None]:
    """Leaves one page, with markers, and writes the data beside it."""

    def write(root: Path) -> None:
        for path in sorted(root.glob("*.md"))[1:]:
            path.unlink()
        with_markers(name)(root)
        with (root / "rows.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, ["name", "about"])
            writer.writeheader()
            writer.writerows(ROWS)
        (root / "test.mjs").write_text(
            '// snippet:start use\nimport { test } from "node:test";\n\ntest("```");\n// snippet:end\n',
            "utf-8",
        )

    return write


def linked_notes(root: Path) -> None:
    """Links to the heading that is renamed: in its page, and from another."""
    pages = [path for path in sorted(root.glob("*.md")) if "\n## NOTES\n" in path.read_text("utf-8")]
    pages[0].write_text(pages[0].read_text("utf-8") + "\nSee [notes](#notes).\n", "utf-8")


CHORES = [
    Chore(
        "version",
        CMDLETS,
        """
files:
  - glob: "*.md"
    edits:
      - op: replace_match
        pattern: powershell-7\\.\\d
        matchType: regex
        replacement: powershell-8.0
        matchSelection: all
        include: [frontMatter, linkDestinations]
""",
        check_version,
    ),
    Chore(
        "date",
        CMDLETS,
        """
files:
  - glob: "*.md"
    edits:
      - {op: replace_match, pattern: Windows PowerShell, replacement: Shell, matchSelection: all}
      - {op: set_front_matter, key: ms.date, value: 11/23/2026, onlyIfChanged: true}
""",
        check_date,
    ),
    Chore(
        "front-matter",
        PROPOSALS,
        """
files:
  - glob: "*.md"
    when: {frontMatter: {status: Final, category: Core}}
    edits: [{op: set_front_matter, key: frozen, value: true, createIfMissing: true}]
""",
        check_front_matter,
    ),
    Chore(
        "licence",
        PROPOSALS,
        """
vars: {licence: "<!-- SPDX-License-Identifier: CC0-1.0 -->"}
files:
  - glob: "*.md"
    when: {not: {hasText: "{{vars.licence}}"}}
    edits: [{op: prepend_to_section, at: top of body, markdown: "{{vars.licence}}"}]
""",
        check_licence,
    ),
    Chore(
        "table",
        API,
        """
data: {rows: rows.csv}
files:
  - glob: "*.md"
    edits:
      - op: replace_region
        region: rows
        markdown:
          forEach: data.rows
          before: "| name | about |\\n|---|---|\\n"
          text: "| {{item.name | cell}} | {{item.about | cell}} |"
          between: "\\n"
""",
        check_table,
        one_page("rows"),
    ),
    Chore(
        "contents",
        API,
        """
files:
  - glob: "*.md"
    when: {hasText: "<!-- toc:start -->"}
    edits: [{op: update_toc, minLevel: 2, maxLevel: 2}]
""",
        check_contents,
        with_markers("toc"),
    ),
    Chore(
        "product",
        CMDLETS,
        """
files:
  - glob: "*.md"
    edits:
      - op: replace_match
        pattern: Windows PowerShell
        replacement: Shell Classic
        matchSelection: all
        softBreaks: true
""",
        check_product_name,
    ),
    Chore(
        "heading",
        CMDLETS,
        """
updateReferences: workspace
files:
  - glob: "*.md"
    when: {hasSection: NOTES}
    edits: [{op: rename_heading, heading: NOTES, newTitle: Remarks}]
""",
        check_heading,
        linked_notes,
    ),
    Chore(
        "admonition",
        CMDLETS,
        """
files:
  - glob: "*.md"
    when: {matches: "^# ", not: {hasText: "[!NOTE]\\n> Moved."}}
    edits: [{op: prepend_to_section, at: first H1, markdown: "> [!NOTE]\\n> Moved."}]
""",
        check_admonition,
    ),
    Chore(
        "order",
        CMDLETS,
        """
files:
  - glob: "*.md"
    edits: [{op: order_sections, at: first H1, order: [NOTES, INPUTS, OUTPUTS]}]
""",
        check_order,
    ),
    Chore(
        "removal",
        CMDLETS,
        """
files:
  - glob: "*.md"
    edits: [{op: delete_section, heading: RELATED LINKS}]
""",
        check_removal,
    ),
    Chore(
        "snippet",
        API,
        """
data: {use: test.mjs#use}
files:
  - glob: "*.md"
    edits: [{op: replace_region, region: use, markdown: "{{data.use | code: js}}"}]
""",
        check_snippet,
        one_page("use"),
    ),
]


@pytest.mark.parametrize("chore", CHORES, ids=str)
def test_chore_gives_the_expected_files_and_a_second_run_changes_nothing(
    chore: Chore, corpus: Path, tmp_path: Path
) -> None:
    sources = sorted((corpus / chore.folder).glob("*.md"), key=lambda path: path.stat().st_size)
    # The largest files take most of the time and show nothing that others do not.
    for source in sources if FULL else sources[: len(sources) * 4 // 5 : 1 + len(sources) // 16]:
        (tmp_path / source.name).write_bytes(source.read_bytes())
    chore.others(tmp_path)
    manifest = tmp_path / "manifest.yaml"
    manifest.write_text(chore.manifest.lstrip(), "utf-8")
    before = texts(tmp_path)
    engine = Engine.open(tmp_path)

    report = applied(engine, str(manifest))
    again, diff = planned(engine, str(manifest))

    assert report.ok, report.error
    assert chore.manifest.strip().count("\n") < 12
    chore.check(before, texts(tmp_path))
    assert (again.ok, again.no_op, diff) == (True, True, b""), again.error


def texts(root: Path) -> Texts:
    return {path.name: path.read_bytes().decode("utf-8") for path in sorted(root.glob("*.md"))}


def _parts(text: str) -> tuple[dict[str, object], str]:
    """Front matter as PyYAML reads it, and the rest."""
    found = re.match(r"---\n(.*?)^---\n", text, re.DOTALL | re.MULTILINE)
    return (yaml.safe_load(found[1]) or {}, text[found.end() :]) if found else ({}, text)


def _words(text: str) -> list[str]:
    return text.split()


def _prose(text: str) -> str:
    """What a reader sees outside of code, with single blanks."""
    body = re.sub(r"(?s)<(pre|code)\b.*?</\1>", " ", Page.of(text.encode()).body)
    return " ".join(unescape(re.sub(r"<[^>]*>", "", body)).split())


def _code(text: str) -> list[str]:
    return re.findall(r"(?s)<code\b.*?</code>", Page.of(text.encode()).body)


def _sections(text: str) -> tuple[str, list[str]]:
    """What is above the first heading of level 2, and the sections of that level, each with one line end."""
    parts: list[list[str]] = [[]]
    fence = ""
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if mark and (not fence or (line.strip().startswith(fence) and not line.strip().strip(fence[0]))):
            fence = "" if fence else mark[1]
        if line.startswith("## ") and not fence:
            parts.append([])
        parts[-1].append(line)
    intro, *sections = ("\n".join(part) for part in parts)
    return intro, [section.rstrip() + "\n" for section in sections]


class _Cells(HTMLParser):
    """The text of the first table, by rows."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self._in_cell = False

    def handle_starttag(self, tag: str, attrs: object) -> None:
        del attrs
        if tag == "tr":
            self.rows.append([])
        if tag in {"td", "th"}:
            self.rows[-1].append("")
            self._in_cell = True

    def handle_endtag(self, tag: str) -> None:
        if tag in {"td", "th"}:
            self._in_cell = False

    def handle_data(self, data: str) -> None:
        if self._in_cell:
            self.rows[-1][-1] += data
