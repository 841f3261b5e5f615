"""Nights of a bot.

People commit to the base and to the branch of the bot, data changes, pages come and go, one page cannot be
edited, and one commit conflicts. After each night the branch is what the manifest says on the base, plus what
people committed to the branch.
"""

import random
import re
import subprocess
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from mdplan.bot.bot import BotReport
from mdplan.bot.pulls import PullOptions, run_pull_request
from tests.bot.golden import HERE, load
from tests.bot.repository import BRANCH, Repository, codes

PAGE = """\
---
title: Page {0}
owner: nobody
---
# Page {0}

The nightly build number {0}. Updated: 2020-01-01.

<!-- list:start -->
<!-- list:end -->

| Tea | Minutes |
|-----|---------|
| Mint | 9 |

Read [page one](p1.md#old-name) first.

## Old name

Text {0}.

## Notes

End of {0}.
"""
ROWS = ["Black", "Green", "White", "Oolong"]
Pages = dict[str, str]
Data = list[tuple[str, str]]


@dataclass(frozen=True)
class Chore:
    """A manifest, what it makes of a page by hand, and a change of its text that conflicts with it."""

    manifest: str
    of_page: Callable[[str, Data], str]
    by_hand: tuple[str, str]


def _region(text: str, data: Data) -> str:
    table = "\n".join(["| Tea | Minutes |", "|---|---|", *(f"| {tea} | {time} |" for tea, time in data)])
    return re.sub(r"(?s)(<!-- list:start -->\n).*?(<!-- list:end -->)", rf"\1{table}\n\2", text)


def _rows(text: str, data: Data) -> str:
    for tea, time in data:
        row = f"| {tea} | {time} |\n"
        known = re.compile(rf"(?m)^\| *{tea} *\|.*\n")
        if known.search(text):
            text = known.sub(row, text)
        else:
            last = [match.end() for match in re.finditer(r"(?m)^\|.*\n", text)][-1]
            text = text[:last] + row + text[last:]
    return text


def _banner(text: str, data: Data) -> str:
    shown = f"<!-- note:start -->\n> Brew {data[0][0]}.\n<!-- note:end -->\n\n"
    text = re.sub(r"(?s)<!-- note:start -->.*<!-- note:end -->\n\n", "", text)
    if len(data) % 2:
        return re.sub(r"(?m)^(# .*\n\n)", lambda match: match[1] + shown, text, count=1)
    return text


CHORES = {
    "words": Chore(
        "  - {glob: docs/p*.md, edits: [{op: replace_match, pattern: nightly, replacement: stable,"
        " matchSelection: all}]}\n",
        lambda text, _data: text.replace("nightly", "stable"),
        ("The stable build", "The hourly build"),
    ),
    "region": Chore(
        """\
  - glob: docs/p*.md
    edits:
      - op: replace_region
        region: list
        markdown:
          forEach: data.teas
          before: "| Tea | Minutes |\\n|---|---|\\n"
          text: "| {{item.tea | cell}} | {{item.minutes}} |"
          between: "\\n"
""",
        _region,
        ("|---|---|\n", "|---|---|\n| Herbs | 7 |\n"),
    ),
    "rows": Chore(
        """\
  - glob: docs/p*.md
    edits:
      - forEach: data.teas
        edits:
          - {op: upsert_table_row, keyColumn: Tea, key: "{{item.tea}}", row: {Minutes: "{{item.minutes}}"}}
""",
        _rows,
        ("| Mint | 9 |\n", "| Mint | 9 |\n| Herbs | 7 |\n"),
    ),
    "keys": Chore(
        "  - {glob: docs/p*.md, edits:"
        " [{op: set_value, key: owner, value: 'team {{data.teas.0.minutes}}'}]}\n",
        lambda text, data: re.sub(r"(?m)^owner: .*$", f"owner: team {data[0][1]}", text),
        ("owner: team", "owner: my team"),
    ),
    "dates": Chore(
        """\
  - glob: docs/p*.md
    edits:
      - op: replace_match
        pattern: 'Updated: \\S+\\.'
        matchType: regex
        replacement: "Updated: 2026-01-{{data.teas.0.minutes}}0."
""",
        lambda text, data: re.sub(r"Updated: \S+\.", f"Updated: 2026-01-{data[0][1]}0.", text),
        ("Updated: 2026-01-", "Updated: 2027-01-"),
    ),
    "banner": Chore(
        """\
  - glob: docs/p*.md
    when: {not: {hasText: "note:start"}}
    edits: [{op: prepend_to_section, at: first H1, markdown: "{{data.banner}}"}]
  - glob: docs/p*.md
    when: {hasText: "note:start"}
    edits: [{op: replace_region, region: note, markdown: "> Brew {{data.teas.0.tea}}."}]
=====
  - {glob: docs/p*.md, edits: [{op: delete_region, region: note}]}
""",
        _banner,
        ("> Brew", "> Do brew"),
    ),
    "include": Chore(
        "  - {glob: docs/p*.md, edits: [{op: replace_region, region: list,"
        ' markdown: "{{data.text | code: text}}"}]}\n',
        lambda text, data: re.sub(
            r"(?s)(<!-- list:start -->\n).*?(<!-- list:end -->)",
            lambda match: match[1] + "```text\n" + "\n".join(map(" ".join, data)) + "\n```\n" + match[2],
            text,
        ),
        ("```text\n", "```text\nby hand\n"),
    ),
    "links": Chore(
        """\
  - glob: docs/p*.md
    when: {hasSection: Old name}
    edits: [{op: rename_heading, heading: Old name, newTitle: New name}]
  - glob: docs/p*.md
    edits:
      - {op: replace_match, pattern: "#old-name", replacement: "#new-name", include: [link_destinations],
         matchSelection: all}
""",
        lambda text, _data: text.replace("## Old name", "## New name").replace("#old-name", "#new-name"),
        ("## New name", "## Better name"),
    ),
}


@dataclass
class Nights:
    """The repository of people, and the bot that does a chore in it every night."""

    chore: Chore
    people: Repository
    remote: Repository
    clone: Repository
    draw: random.Random
    data: Data = field(default_factory=lambda: [("Black", "1"), ("Green", "2")])
    hands: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    happened: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, name: str, folder: Path, seed: int) -> "Nights":
        """A repository of six pages for the chore of that name."""
        people = Repository.make(folder / "people")
        people.commit({f"docs/p{number}.md": PAGE.format(number).encode() for number in range(1, 7)})
        remote = people.bare(folder / "remote.git")
        people.git("remote", "add", "origin", str(remote.path))
        return cls(
            CHORES[name], people, remote, remote.clone(folder / "bot"), random.Random(f"{name} {seed}")
        )

    def night(self) -> BotReport:
        """One run of the bot."""
        self.happened["nights"] += 1
        folder = self.clone.path.parent
        shown = f"<!-- note:start -->\n> Brew {self.data[0][0]}.\n<!-- note:end -->"
        (folder / "teas.csv").write_text("tea,minutes\n" + "".join(f"{a},{b}\n" for a, b in self.data))
        (folder / "teas.txt").write_text("\n".join(map(" ".join, self.data)))
        (folder / "banner.txt").write_text(shown)
        manifest = folder / "chore.yml"
        head = "data: {teas: teas.csv, text: teas.txt, banner: banner.txt}\nfiles:\n"
        # With an even number of teas, the bot takes back what it wrote.
        rules = self.chore.manifest.split("=====\n")
        manifest.write_text(head + rules[0 if len(self.data) % 2 else -1])
        wanted = PullOptions(base="main", branch=BRANCH, on_stale="merge")
        return run_pull_request(self.clone.engine(), load(str(manifest)), HERE, wanted)

    def base(self) -> Pages:
        return {name: data.decode("utf-8", "replace") for name, data in self.remote.files("main").items()}

    def wanted(self) -> Pages:
        """What the manifest says on the base, plus what people committed to the branch."""
        pages = self.base()
        is_page = re.compile(r"docs/p\d+\.md").fullmatch
        made = {
            name: self.chore.of_page(text, self.data) if is_page(name) else text
            for name, text in pages.items()
        }
        for name, changes in self.hands.items():
            text = made.get(name, "")
            for old, new in changes:
                assert old in text, (name, old, text)
                text = text.replace(old, new, 1)
            made[name] = text
        return made

    def day(self) -> None:
        """People work on the base: data changes, pages come and go."""
        draw = self.draw
        self.people.git("fetch", "-q", "--prune", "origin")
        self.people.git("checkout", "-q", "-B", "main", "origin/main")
        if draw.random() < 0.5:
            self.happened["data"] += 1
            self.data = [(tea, str(draw.randrange(1, 9))) for tea in draw.sample(ROWS, draw.randrange(1, 5))]
        kind, number = draw.choice(["comes", "goes", "text", "none"]), draw.randrange(2, 30)
        name = f"docs/p{number}.md"
        known = self.base()
        if kind == "comes" and name not in known:
            self.people.push({name: PAGE.format(number).encode()})
        elif kind == "goes" and name in known and name not in self.hands:
            (self.people.path / name).unlink()
            self.people.push({})
        elif kind == "text" and name in known:
            self.people.push({name: known[name].replace("Text ", f"More {draw.random()}.\n\nText ").encode()})
        else:
            kind = "none"
        self.happened[kind] += 1

    def has_branch(self) -> bool:
        return bool(self.remote.git("branch", "--list", BRANCH))

    def commit_by_hand(self, name: str, old: str, new: str) -> None:
        """Somebody changes `old` to `new` on the branch of the bot."""
        text = self.remote.files(BRANCH)[name].decode()
        assert old in text, (old, text)
        self.people.push_by_hand(BRANCH, {name: text.replace(old, new, 1).encode()})

    def work_on_branch(self) -> None:
        """Somebody commits to the branch of the bot, or brings it up to date with the base."""
        pages = [name for name in self.base() if re.fullmatch(r"docs/p\d+\.md", name)]
        name = self.draw.choice(pages)
        if self.draw.random() < 0.3:
            self.people.git("fetch", "-q", "origin")
            self.people.git("checkout", "-q", "-B", "by-hand", f"origin/{BRANCH}")
            try:
                self.people.git("merge", "-q", "-m", "by hand", "origin/main")
                self.people.git("push", "-q", "origin", f"HEAD:{BRANCH}")
                self.happened["base merged by hand"] += 1
            except subprocess.CalledProcessError:
                self.people.git("merge", "--abort")
            self.people.git("checkout", "-q", "main")
        elif name in self.remote.files(BRANCH):
            self.happened["by hand"] += 1
            ends = f"End of {name[6:-3]}.\n"
            change = (ends, f"{ends}\nBy hand {self.draw.random()}.\n")
            self.commit_by_hand(name, *change)
            self.hands.setdefault(name, []).append(change)

    def merge_branch(self) -> None:
        """Somebody merges the branch into the base, by one commit or all of them, and deletes it."""
        self.happened["merged"] += 1
        self.people.git("fetch", "-q", "--prune", "origin")
        self.people.git("checkout", "-q", "-B", "main", "origin/main")
        self.people.git("merge", "-q", *self.draw.choice([["--no-ff"], ["--squash"]]), f"origin/{BRANCH}")
        self.people.git("commit", "-q", "--allow-empty", "-m", "merged")
        self.people.git("push", "-q", "origin", "main", f":{BRANCH}")
        self.hands.clear()

    def must_be_right(self, report: BotReport, *, broken: bool = False) -> None:
        """The branch is what the manifest says on the base, plus what people committed to it."""
        assert (report.ok, codes(report)) == ((False, codes(report)) if broken else (True, [])), report.error
        wanted, base = self.wanted(), self.base()
        if wanted == base and not broken:
            assert not self.has_branch() or self.remote.git("diff", "--name-only", "main", BRANCH) == ""
        elif self.has_branch() or wanted != base:
            made = {name: data.decode("utf-8", "replace") for name, data in self.remote.files(BRANCH).items()}
            assert made == wanted, [
                (name, made.get(name), wanted.get(name))
                for name in {*made, *wanted}
                if made.get(name) != wanted.get(name)
            ]

    def conflict(self) -> None:
        """Somebody changes what the bot writes there, and it has another text by now; then that is undone."""
        name, (old, new) = "docs/p1.md", self.chore.by_hand
        if old not in self.remote.files(BRANCH)[name].decode():
            return
        self.happened["conflict"] += 1
        self.commit_by_hand(name, old, new)
        tip = self.remote.at(BRANCH)
        self.data = [(tea, str(int(time) % 9 + 1)) for tea, time in self.data]
        report = self.night()
        if not report.ok:
            self.happened["conflict named"] += 1
            assert codes(report) == ["MERGE_CONFLICT"] * len(codes(report)), report.diagnostics
            assert (self.remote.at(BRANCH), name in report.diagnostics[0].message) == (tip, True)
            self.commit_by_hand(name, new, old)
        else:
            self.happened["conflict merged"] += 1
            self.commit_by_hand(name, new, old)
        self.must_be_right(self.night())

    def run(self, nights: int) -> Counter[str]:
        """Run so many nights, one of them with a broken page, and one with a conflict."""
        for number in range(nights):
            self.day()
            if self.has_branch() and self.draw.random() < 0.5:
                self.work_on_branch()
            if number == nights // 3:
                note = "" if len(self.data) % 2 else "<!-- note:start -->\n<!-- note:end -->\n"
                self.people.push({"docs/p0.md": f"{PAGE.format(0)}{note}\0".encode()})
                report = self.night()
                assert codes(report), "the broken page is named"
                assert {problem.file for problem in report.diagnostics} == {"docs/p0.md"}
                self.people.git("rm", "-q", "docs/p0.md")
                self.people.push({})
                self.happened["broken page"] += 1
            self.must_be_right(self.night())
            if self.has_branch() and number >= nights // 2 and not self.happened["conflict"]:
                self.conflict()
            if self.has_branch() and self.draw.random() < 0.15:
                self.merge_branch()
        self.remote.must_be_sound()
        return self.happened
