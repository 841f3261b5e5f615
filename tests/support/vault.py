"""A vault of Obsidian made from a seed, and where each of its links leads, found without mdplan.

Each link has a name of its own, ``L7``, before it on its line. Each note, section and block has a mark,
``M7``, by which it is known wherever it goes. A link leads to the file or mark that `Vault.targets` tells.
Paths are resolved as Obsidian does: by the exact path from the vault, then below the folder of the note, then
anywhere, the shortest path first; headings by their text without signs (help, "Internal links").
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from random import Random
from urllib.parse import quote, unquote

NOTES, ATTACHMENTS, CANVASES = 300, 24, 12
_FOLDERS = ("", "Projects", "Projects/Tea house", "Areas", "Areas/Notes", "Archive/2024", "Zettel")
_WORDS = (
    "Kettle",
    "Tea",
    "Whistle",
    "Steam",
    "Café",
    "Leaf",
    "Cup",
    "Ort",
    "Blend",
    "v1.2",
    "(draft)",
    "&Co",
)
_LINK = re.compile(
    r"(?P<name>L[0-9]+)\b[^\[\r\n]*?"
    r"(?:\[\[(?P<wiki>[^\[\]|\\]+)[^\[\]]*\]\]|"
    r"\[[^\[\]]*\]\((?:<(?P<angle>[^<>]+)>|(?P<bare>[^\s()]*(?:\([^()]*\)[^\s()]*)*))\))"
)
_HEADING = re.compile(r"^(#+) (.*)$")
_MARK = re.compile(r"\bM[0-9]+\b")
_SIGNS = re.compile(r"[!\"#$%&()*+,.:;<=>?@^`{|}~/\[\]\\]")
_WIKI_TEXT = re.compile(r"\[\[(?:[^\[\]|]*\|)?([^\[\]]*)\]\]")


@dataclass(frozen=True)
class Section:
    """A heading with its level, title and mark."""

    level: int
    title: str
    mark: str


def compared(title: str) -> str:
    """Return a heading as links compare it."""
    return " ".join(_SIGNS.sub(" ", _WIKI_TEXT.sub(r"\1", title)).lower().split())


def sections_of(text: str) -> list[Section]:
    """Return the headings of a note; the mark of each is the first one below it."""
    found, lines = list[Section](), text.split("\n")
    for number, line in enumerate(lines):
        if heading := _HEADING.match(line):
            below = "\n".join(lines[number + 1 :])
            mark = _MARK.search(below)
            found.append(Section(len(heading[1]), heading[2], mark[0] if mark else ""))
    return found


def heading_mark(text: str, names: list[str]) -> str | None:
    """Return the mark of the first heading that the chain of `names` leads to."""
    wanted, start = [compared(name) for name in names], 0
    sections = sections_of(text)
    for first in range(len(sections)):
        at, start, level = 0, first, 0
        for section in sections[start:]:
            if at and section.level <= level:
                break
            if compared(section.title) == wanted[at]:
                at, level = at + 1, section.level
                if at == len(wanted):
                    return section.mark
            elif not at:
                break
    return None


class Vault:
    """The files of the vault in a folder."""

    def __init__(self, root: Path) -> None:
        """Read all files."""
        names = [path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()]
        self.files = {name: (root / name).read_bytes() for name in names if not name.startswith(".")}
        self.by_name: dict[str, list[str]] = {}
        for name in sorted(self.files, key=lambda each: (len(each), each)):
            self.by_name.setdefault(name.rpartition("/")[2].lower(), []).append(name)

    def file(self, source: str, link: str) -> str | None:
        """Return the file that the path `link` in the note `source` means; None for no one."""
        if not link:
            return source
        path, name = link.lower(), link.lower().rpartition("/")[2]
        if name not in self.by_name:
            path, name = f"{path}.md", f"{name}.md"
        candidates = self.by_name.get(name, [])
        folder = source.rpartition("/")[0].lower()
        if path.startswith(("./", "../")):
            parts = folder.split("/") if folder else []
            for part in path.split("/"):
                parts = parts[:-1] if part == ".." else parts if part == "." else [*parts, part]
            path = "/".join(parts)
        is_strict, path = path.startswith("/"), path.lstrip("/")
        exact = [each for each in candidates if each.lower() == path]
        if exact or is_strict:
            return next(iter(exact), None)
        fitting = [each for each in candidates if each.lower().endswith(f"/{path}")]
        near = [each for each in fitting if not folder or each.lower().startswith(f"{folder}/")]
        best = [each for each in near or fitting if len(each) == len((near or fitting)[0])]
        assert len(best) < 2, f"{link} in {source} may mean {best}"
        return next(iter(best), None)

    def target(self, source: str, link: str) -> str | None:
        """Return what `link` leads to: the mark of a section or block, or that of a note, or the bytes."""
        path, _, fragment = link.partition("#")
        file = self.file(source, path)
        if file is None:
            return None
        if not file.endswith(".md"):
            return self.files[file].hex()
        text = self.files[file].decode()
        *above, last = fragment.split("#")
        if last.startswith("^"):
            block = re.search(rf"(M[0-9]+)\b[^\n]*{re.escape(last)}$", text, re.MULTILINE)
            return block and block[1]
        return heading_mark(text, [*above, last]) if last else _MARK.findall(text)[0]

    def links(self) -> Iterator[tuple[str, str, str]]:
        """Yield the name of each link, its file and its target as it is written."""
        for path, data in self.files.items():
            if path.endswith(".canvas"):
                for node in json.loads(data)["nodes"]:
                    if "file" in node:
                        yield node["id"], path, f"/{node['file']}{node.get('subpath', '')}"
                    else:
                        yield from self._in_text(path, node["text"])
            elif path.endswith(".md"):
                yield from self._in_text(path, data.decode())

    def _in_text(self, path: str, text: str) -> Iterator[tuple[str, str, str]]:
        for match in _LINK.finditer(text):
            yield match["name"], path, match["wiki"] or unquote(match["angle"] or match["bare"])

    @property
    def targets(self) -> dict[str, str | None]:
        """What each link leads to, by its name; None for nothing."""
        return {name: self.target(path, link) for name, path, link in self.links()}


# M is a mark, L a link, P a picture, W a wiki link without fragment, R one in a row of a table.
_NOTE = """---
aliases: [Alias A, Alias B]
W: "[[W]]"
related:
  - "W [[W|other]]"
---
# Top

M Text. L here, and O.

## ONE

M Line with L ^tea-NUMBER

- [ ] open L
- [/] half L
- [x] done M ^row

## TWO

M Body.

> [!note]- Fold L
> P

### Deep

M

| a | b |
|---|---|
| 1 | R |

## THREE

M %%hidden L%%

%%
L
%%

### Deep

M end
"""


class _Maker:
    """Makes the files of a vault."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.marks, self.names = count(), count()
        paths = set[str]()
        while len(paths) < NOTES:
            title = f"{self.one(_WORDS)} {self.one(_WORDS)} {self.random.randrange(40)}"
            paths.add(f"{self.one(_FOLDERS)}/{title}.md".lstrip("/"))
        self.notes = sorted(paths)
        self.pictures = [
            f"{self.one(_FOLDERS)}/att/Pic {number}.png".lstrip("/") for number in range(ATTACHMENTS)
        ]
        self.titles = {path: [f"{self.one(_WORDS)} part {part}" for part in range(3)] for path in self.notes}
        self.uses = Counter(path.rpartition("/")[2] for path in (*self.notes, *self.pictures))

    def one(self, choices: Sequence[str]) -> str:
        return self.random.choice(choices)

    def name(self) -> str:
        return f"L{next(self.names)}"

    def path(self, source: str, target: str) -> str:
        full = target.removesuffix(".md")
        bare = [full.rpartition("/")[2]] * 6 if self.uses[target.rpartition("/")[2]] == 1 else []
        return self.one([full, f"/{full}", f"{'../' * source.count('/') or './'}{full}", *bare])

    def fragment(self, target: str) -> str:
        two, block = self.titles[target][1], f"#^tea-{self.notes.index(target)}"
        return self.one(["", "", f"#{two}", f"#Top#{two}", f"#Top#{two}#Deep", block, "#^row"])

    def link(self, source: str) -> str:
        target = self.one(self.notes)
        path, fragment = self.path(source, target), self.fragment(target)
        encoded = quote(f"{path}.md", safe="/()&") + quote(fragment, safe="#^()&")
        return self.one(
            [
                f"[[{path}{fragment}]]",
                f"[[{path}{fragment}|shown]]",
                f"![[{path}{fragment}]]",
                f"[text]({encoded})",
                f"[text](<{path}.md{fragment}>)",
                f"[text]({encoded.replace('.md', '', 1)})" if "." not in path else f"[[{path}]]",
            ]
        )

    def picture(self, source: str) -> str:
        path = self.path(source, self.one(self.pictures))
        encoded = f"![alt|80]({quote(path, safe='/')})"
        return self.one([f"![[{path}]]", f"![[{path}|300]]", f"![[{path}|300x200]]", encoded])

    def note(self, path: str) -> str:
        one, two, three = self.titles[path]
        parts: dict[str, Callable[[], str]] = {
            "ONE": lambda: one,
            "TWO": lambda: two,
            "THREE": lambda: three,
            "NUMBER": lambda: str(self.notes.index(path)),
            "M": lambda: f"M{next(self.marks)}",
            "L": lambda: f"{self.name()} {self.link(path)}",
            "O": lambda: f"{self.name()} {self.one([f'[[#{two}]]', f'[own](#{quote(two)})'])}",
            "P": lambda: f"{self.name()} {self.picture(path)}",
            "R": lambda: f"{self.name()} {self.link(path)}".replace("|", "\\|"),
            "W": self.name,
            "[[W": lambda: f"[[{self.path(path, self.one(self.notes))}",
        }
        return re.sub(
            r"\b[A-Z]+\b|\[\[W", lambda match: parts[match[0]]() if match[0] in parts else match[0], _NOTE
        )

    def canvas(self) -> str:
        nodes: list[dict[str, object]] = []
        for _ in range(6):
            target = self.one(self.notes)
            nodes.append({"id": self.name(), "type": "file", "file": target, "x": 0, "y": 0})
            nodes[-1] |= {"subpath": subpath} if (subpath := self.fragment(target)) else {}
            nodes.append(
                {"id": "text", "type": "text", "text": f"See\n{self.name()} {self.link('a.canvas')}"}
            )
        return json.dumps({"nodes": nodes, "edges": []}, indent="\t")


def make_vault(root: Path, seed: int) -> None:
    """Write a vault of `NOTES` notes, with attachments and canvases, whose links have every form."""
    maker = _Maker(seed)
    _write(root / ".obsidian/app.json", b"{}")
    for path in maker.notes:
        _write(root / path, maker.note(path).encode())
    for number, path in enumerate(maker.pictures):
        _write(root / path, b"\x89PNG\r\n\x1a\n" + bytes([number]))
    for number in range(CANVASES):
        _write(root / f"Board {number}.canvas", maker.canvas().encode())


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
