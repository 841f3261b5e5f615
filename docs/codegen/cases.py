"""Golden cases as text: how their files are read, and what they show of operations and codes.

A Markdown file per topic, a heading per case, a fenced block per file or request; `docs/contributing/testing.md`
describes the format. The info string of a block has a language, a role, the path of the file where the case has
several, and attributes: `md before docs/a.md eol=crlf`.
"""

import codecs
import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Final, cast

from mdplan.requests.spellings import SPELLINGS

FILE_ROLES: Final = ("before", "concurrent", "after", "manifest")
ROLES: Final = frozenset({*FILE_ROLES, "settings", "batch", "apply", "diagnostics", "report", "diff"})
_ATTRIBUTE: Final = re.compile(
    r"(bom|escapes|repeat|unchanged|deleted)|(eol|encoding|final-newline|link|mode)=(.+)"
)
_FENCE: Final = re.compile(r"(`{3,})([^`]+)")
_LINE_ENDS: Final = {"lf": "\n", "crlf": "\r\n", "cr": "\r"}
_SUFFIXES: Final = {"text": "txt", "yaml": "yml"}
REPEATED: Final = re.compile(r"^(.*)\{(\d+)\.\.(\d+)\}(.*\n)", re.MULTILINE)
_ESCAPE: Final = re.compile(r"\\(?:([\\rts])|x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8}))")
_NAMED_ESCAPES: Final = {"\\": "\\", "r": "\r", "t": "\t", "s": " "}
_MARKS: Final = {"utf-8": codecs.BOM_UTF8, "utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE}


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseBlock:
    """One fenced block.

    `path` is empty where the block does not name its file. `text` has a newline after each line.
    `first_line` and `last_line` are the 0-based lines of its fences.
    """

    language: str
    role: str
    path: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)
    text: str = ""
    first_line: int = 0
    last_line: int = 0

    @property
    def data(self) -> bytes:
        """Bytes of the file that the block describes."""
        text, encoding = self.text, self.attributes.get("encoding", "utf-8")
        if "repeat" in self.attributes:
            text = REPEATED.sub(_repeated, text)
        if self.attributes.get("final-newline") == "no":
            text = text.removesuffix("\n")
        if "escapes" in self.attributes:
            text = _ESCAPE.sub(_unescaped, text)
        text = text.replace("\n", _LINE_ENDS[self.attributes.get("eol", "lf")])
        data = text.encode(encoding, "surrogateescape" if encoding == "utf-8" else "strict")
        return _MARKS[encoding] + data if "bom" in self.attributes else data

    @property
    def json(self) -> Any:  # noqa: ANN401 - the type of `json.loads`.
        """Decoded JSON of the block."""
        return json.loads(self.text)

    @property
    def default_path(self) -> str:
        """Name of the file of a block that names none, such as `before.md` or `bot.yml`."""
        stem = "bot" if self.role == "manifest" else "before"
        return f"{stem}.{_SUFFIXES.get(self.language, self.language)}"

    @property
    def markdown(self) -> str:
        """The block with its fences, which are longer than any row of backticks in it."""
        words = [self.language, self.role, *filter(None, [self.path])]
        words += [f"{name}={value}" if value else name for name, value in self.attributes.items()]
        longest = max(map(len, re.findall("`+", self.text)), default=0)
        fence = "`" * max(3, longest + 1)
        return f"{fence}{shlex.join(words)}\n{self.text}{fence}\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseText:
    """One case: the blocks below a heading of level 2. `line` is the 0-based line of the heading."""

    path: Path
    title: str
    line: int
    blocks: tuple[CaseBlock, ...]

    @property
    def slug(self) -> str:
        """The title in lower case, with hyphens in place of all else than letters, digits and underscores."""
        return re.sub(r"\W+", "-", self.title.lower(), flags=re.ASCII).strip("-")

    def find(self, *roles: str) -> tuple[CaseBlock, ...]:
        """Return the blocks with one of these roles."""
        return tuple(block for block in self.blocks if block.role in roles)

    def json(self, role: str) -> Any:  # noqa: ANN401 - the type of `json.loads`.
        """Return the decoded JSON of the block with this role, or None."""
        found = self.find(role)
        return found[0].json if found else None

    def path_of(self, block: CaseBlock) -> str:
        """Path of the file that `block` describes."""
        first = block if block.role == "manifest" else self.find("before")[0]
        return block.path or first.path or first.default_path


def read_cases(path: Path) -> list[CaseText]:
    """Return the cases of a file. ValueError names the line of an invalid block."""
    lines = path.read_text(encoding="utf-8").split("\n")
    cases: list[CaseText] = []
    title, start, blocks = "", 0, list[CaseBlock]()
    numbers = iter(range(len(lines)))
    for number in numbers:
        line = lines[number]
        if line.startswith("## "):
            cases += [CaseText(path=path, title=title, line=start, blocks=tuple(blocks))] if title else []
            title, start, blocks = line[3:].strip(), number, []
        elif opening := _FENCE.fullmatch(line):
            last = next((at for at in numbers if lines[at] == opening[1]), None)
            if last is None or not title:
                problem = "the block has no end" if last is None else "the block is in no case"
                raise ValueError(f"{path}:{number + 1}: {problem}")
            text = "".join(f"{each}\n" for each in lines[number + 1 : last])
            blocks.append(_block(opening[2], text, number, last, path))
    return cases + ([CaseText(path=path, title=title, line=start, blocks=tuple(blocks))] if title else [])


def case_files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Return all files of cases below `folder`, sorted, each after its group name.

    Files whose names differ only after the first dot form a group: `set_task.md`, `set_task.refused.md`.
    """
    for path in sorted(folder.rglob("*.md")):
        relative = path.relative_to(folder)
        yield relative.with_name(relative.name.partition(".")[0]).as_posix(), path


def _block(info: str, text: str, first_line: int, last_line: int, path: Path) -> CaseBlock:
    try:
        language, role, *words = shlex.split(info)
        name = words.pop(0) if words and role in FILE_ROLES and not _ATTRIBUTE.fullmatch(words[0]) else ""
        attributes = dict(_attributes(words))
        if role not in ROLES:
            raise ValueError(f"unknown role {role!r}")  # noqa: TRY301 - one message for all.
    except ValueError as error:
        raise ValueError(f"{path}:{first_line + 1}: {error}") from None
    return CaseBlock(
        language=language,
        role=role,
        path=name,
        attributes=attributes,
        text=text,
        first_line=first_line,
        last_line=last_line,
    )


def _attributes(words: Iterable[str]) -> Iterator[tuple[str, str]]:
    for word in words:
        found = _ATTRIBUTE.fullmatch(word)
        if found is None:
            raise ValueError(f"unknown attribute {word!r}")
        yield found[1] or found[2], found[3] or ""


def _repeated(line: re.Match[str]) -> str:
    before, first, last, after = line.groups()
    return "".join(f"{before}{number}{after}" for number in range(int(first), int(last) + 1))


def _unescaped(escape: re.Match[str]) -> str:
    name, byte, *code = escape.groups()
    if name:
        return _NAMED_ESCAPES[name]
    if byte:
        value = int(byte, 16)
        return chr(value if value < 0x80 else 0xDC00 + value)
    return chr(int(code[0] or code[1], 16))


# The case of each operation that shows the example of its model.
EXAMPLE: Final = "reference-example"
_DIAGNOSTICS: Final = "diagnostics"
_OPERATIONS: Final = "operations/"


@dataclass(frozen=True)
class GoldenCases:
    """The cases in the files below the folder `cases`, which may have only some of them."""

    cases: Path

    def example_of(self, op: str) -> CaseText | None:
        """Return the case that shows the example of the operation `op`."""
        found = (case for group, case in self._all if group == _OPERATIONS + op and case.slug == EXAMPLE)
        return next(found, None)

    def case_of(self, code: str) -> CaseText | None:
        """Return the case that shows the diagnostic `code`."""
        return next((case for group, case in self._all if (group, case.title) == (_DIAGNOSTICS, code)), None)

    @cached_property
    def diagnostics(self) -> Mapping[str, Mapping[str, Any]]:
        """The first diagnostic of each code: from its own case, or else from any."""
        shown = tuple(self._shown())
        own = (each for group, case, each in shown if (group, case.title) == (_DIAGNOSTICS, each["code"]))
        return _first_by_code(chain(own, (each for _, _, each in shown)))

    @cached_property
    def refusals(self) -> Mapping[str, Mapping[str, str]]:
        """By operation, and then by code, the first message that carries it."""
        found: dict[str, dict[str, str]] = {}
        for op, diagnostic in self._shown_by_operations():
            if diagnostic.get("severity") != "warning":
                found.setdefault(op, {}).setdefault(diagnostic["code"], diagnostic["message"])
        return {op: dict(sorted(messages.items())) for op, messages in found.items()}

    @cached_property
    def operations(self) -> Mapping[str, tuple[str, ...]]:
        """By code the operations in whose cases it occurs."""
        found: dict[str, dict[str, None]] = {}
        for op, diagnostic in self._shown_by_operations():
            found.setdefault(diagnostic["code"], {})[op] = None
        return {code: tuple(operations) for code, operations in found.items()}

    def _shown_by_operations(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        for group, _, diagnostic in self._shown():
            if group.startswith(_OPERATIONS):
                op = group.removeprefix(_OPERATIONS)
                yield SPELLINGS[op].op if op in SPELLINGS else op, diagnostic

    def _shown(self) -> Iterator[tuple[str, CaseText, Mapping[str, Any]]]:
        """Yield all diagnostics with a message that cases expect, each after its group and case."""
        for group, case in self._all:
            for block in case.find("diagnostics", "report"):
                for diagnostic in _diagnostics_in(block.json):
                    yield group, case, diagnostic

    @cached_property
    def _all(self) -> tuple[tuple[str, CaseText], ...]:
        return tuple((group, case) for group, path in case_files(self.cases) for case in read_cases(path))


def _first_by_code(diagnostics: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    found: dict[str, Mapping[str, Any]] = {}
    for diagnostic in diagnostics:
        found.setdefault(diagnostic["code"], diagnostic)
    return found


def _diagnostics_in(value: object) -> Iterator[Mapping[str, Any]]:
    match value:
        case {"code": str(), "message": str()}:
            yield cast("Mapping[str, Any]", value)
        case dict():
            for item in value.values():
                yield from _diagnostics_in(item)
        case list():
            for item in value:
                yield from _diagnostics_in(item)
        case _:
            pass
