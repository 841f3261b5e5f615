"""Golden cases of `tests/cases` as values. `docs/contributing/testing.md` describes their format."""

import codecs
import hashlib
import itertools
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path, PurePosixPath
from typing import Any, Final, TypeAlias

from docs.codegen.cases import REPEATED, CaseBlock, CaseText, case_files, read_cases
from mdplan.engine.engine import Engine
from mdplan.limits import Limits
from mdplan.markdown.addresses import find_by_path
from mdplan.markdown.outline import Outline
from mdplan.settings import Settings
from mdplan.storage.filesystem import Durability
from mdplan.storage.local import wait_for_lock
from mdplan.text.source import Source, sha256_hex

CASES = Path(__file__).parent.parent / "cases"

_HASH = re.compile(
    r"@(?:(?P<what>section|body|id):(?P<title>.+?)(?::(?P<occurrence>\d+))?|(?P<file>[^#:]+))(?:#(?P<digits>\d+))?"
)

Tree = dict[str, bytes]
Json: TypeAlias = "dict[str, Json] | list[Json] | str | float | bool | None"

# Usual values of diagnostics, which cases omit.
_DEFAULTS: dict[str, Json] = {"severity": "error", "candidates": []}


@dataclass(frozen=True, eq=False)
class Case:
    """A case. `group` is its file below `tests/cases`, without topic and suffix."""

    group: str
    text: CaseText

    def __str__(self) -> str:
        return f"{self.group}/{self.text.slug}"

    @property
    def settings(self) -> dict[str, Any]:
        """The limits and globs for the engine."""
        return self.text.json("settings") or {}

    @property
    def needs_mdformat(self) -> bool:
        """True if the request needs mdformat, an extra."""
        return any('"format_section"' in block.text for block in self.text.find("batch", "apply"))

    @property
    def is_accepted(self) -> bool:
        """True if the request should succeed."""
        return bool(self.text.find("after"))

    @property
    def has_expectation(self) -> bool:
        """True if the case has an outcome."""
        return bool(self.text.find("after", "diagnostics"))

    def lay_out(self, root: Path) -> None:
        """Write the initial files, with modes and links, to `root`."""
        self._write("before", root)

    def write_concurrent(self, root: Path) -> None:
        """Write to `root` what other programs write between plan and apply."""
        self._write("concurrent", root)

    def open_engine(self, root: Path) -> Engine:
        """Open an engine on `root` with the settings of this case, without syncs."""
        given = self.settings
        settings = Settings(
            max_file_bytes=given.get("maxFileBytes", Settings().max_file_bytes),
            parse_seconds=given.get("parseSeconds", Settings().parse_seconds),
            pattern_seconds=given.get("patternSeconds", Settings().pattern_seconds),
            max_lines=given.get("maxLines", Settings().max_lines),
            batch=Limits(**given.get("batch", {})),
            durability=Durability.PROCESS,
        )
        return Engine.open(
            [root], allow=given.get("allow", ()), deny=given.get("deny", ()), settings=settings
        )

    def request(self, role: str, plan_id: str | None = None) -> Any:
        """Return the request in the block `role` (``batch`` or ``apply``), with ``@`` names as hashes.

        None if it is missing. `plan_id` is the value of ``@plan``.
        """
        return self._with_hashes(self.text.json(role), plan_id)

    @property
    def diagnostics(self) -> list[dict[str, Any]] | None:
        """Return the complete diagnostics of a refused request; None if it is accepted."""
        found = self.text.json("diagnostics")
        return None if found is None else [{**_DEFAULTS, **each} for each in found]

    @property
    def report(self) -> Any:
        """Return the expected part of the report, or None."""
        return self.text.json("report")

    @property
    def diff(self) -> bytes | None:
        """Return the diff, if it is not the shortest one."""
        found = self.text.find("diff")
        return found[0].data if found else None

    @cached_property
    def before(self) -> Tree:
        """Return the initial files."""
        return self._tree("before")

    @property
    def concurrent(self) -> Tree:
        """Return the files that other programs write between plan and apply."""
        return self._tree("concurrent")

    @cached_property
    def after(self) -> Tree:
        """Return the final files: the initial ones, with blocks that replace or delete some."""
        tree = {**self.before, **self.concurrent}
        for block in self.text.find("after"):
            path = self.text.path_of(block)
            if "deleted" in block.attributes:
                del tree[path]
            elif "unchanged" not in block.attributes:
                tree[path] = block.data
        return tree

    def write_accepted(self, after: Tree, report: Json, diff: bytes | None) -> None:
        """Expect `after`, the partial `report` and, if given, the `diff`."""
        blocks = self._after_blocks(after)
        if report is not None:
            blocks.append(written_json("report", report))
        if diff is not None:
            blocks.append(written_file("diff", ".diff", diff))
        with_blocks(
            self.text, blocks, is_stale=lambda block: block.role in {"after", "diagnostics", "report", "diff"}
        )

    def write_refused(self, problems: list[dict[str, Any]]) -> None:
        """Expect a refusal with these diagnostics."""
        with_blocks(
            self.text,
            [written_json("diagnostics", without_defaults(problems))],
            is_stale=lambda block: block.role in {"after", "report", "diff"},
        )

    def _after_blocks(self, after: Tree) -> list[CaseBlock]:
        before = {**self.before, **self.concurrent}
        paths = {path: None for path in (*after, *before) if after.get(path) != before.get(path)}
        if not paths:
            return [self._after_block(self.text.path_of(self.text.find("before")[0]), b"", "unchanged")]
        return [
            self._after_block(path, after.get(path, b""), *([] if path in after else ["deleted"]))
            for path in paths
        ]

    def _after_block(self, path: str, data: bytes, *flags: str) -> CaseBlock:
        first, *others = self.text.find("before")
        name = path if others or path != self.text.path_of(first) else ""
        encodings = [
            each.attributes["encoding"] for each in self.text.blocks if "encoding" in each.attributes
        ]
        block = written_file("after", path, data, name=name, encoding=next(iter(encodings), "utf-8"))
        return replace(block, attributes={**block.attributes, **dict.fromkeys(flags, "")})

    def _tree(self, role: str) -> Tree:
        files = (block for block in self.text.find(role) if "link" not in block.attributes)
        return {self.text.path_of(block): block.data for block in files}

    def _write(self, role: str, root: Path) -> None:
        for block in self.text.find(role):
            path = root / self.text.path_of(block)
            path.parent.mkdir(parents=True, exist_ok=True)
            if "link" in block.attributes:
                path.symlink_to(block.attributes["link"])
                continue
            path.write_bytes(block.data)
            if "mode" in block.attributes:
                path.chmod(int(block.attributes["mode"], 8))

    def _with_hashes(self, value: Any, plan_id: str | None) -> Any:
        match value:
            case dict():
                return {name: self._with_hashes(item, plan_id) for name, item in value.items()}
            case list():
                return [self._with_hashes(item, plan_id) for item in value]
            case "@plan":
                return plan_id
            case str() if (named := _HASH.fullmatch(value)) and (digest := self._hash(named)):
                return digest[: int(named["digits"])] if named["digits"] else digest
            case _:
                return value

    def _hash(self, named: re.Match[str]) -> str | None:
        if named["file"]:
            data = self.before.get(named["file"])
            return None if data is None else hashlib.sha256(data).hexdigest()
        (data,) = self.before.values()
        outline = Outline(_decoded(data))
        section = find_by_path(outline, [named["title"]], int(named["occurrence"] or 0) or None)
        match named["what"]:
            case "id":
                return section.section_id
            case "section":
                return outline.section_sha256(section)
            case _:
                return sha256_hex(outline.text_of(section.body).encode())


@cache
def _all_cases() -> tuple[Case, ...]:
    cases = (Case(group, text) for group, path in case_files(CASES) for text in read_cases(path))
    return tuple(case for case in cases if case.text.find("batch", "apply"))


def find_cases(group: str = "") -> list[Case]:
    """Return the cases with a batch or apply request, all or of a `group` such as ``operations/set_task``."""
    return [case for case in _all_cases() if group in ("", case.group)]


def without_defaults(problems: Iterable[Mapping[str, Json]]) -> list[Json]:
    """Return diagnostics without members that have default values."""
    return [
        {name: value for name, value in each.items() if value != _DEFAULTS.get(name, ...)}
        for each in problems
    ]


def read_tree(root: Path) -> Tree:
    """Return the regular files below `root` by relative path, without mdplan's state folder."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.is_symlink() and ".mdplan" not in path.relative_to(root).parts
    }


def is_part_of(expected: Json, actual: Json) -> bool:
    """Return True if `actual` contains `expected`: objects may have more members, None means absent."""
    match expected, actual:
        case Mapping(), Mapping():
            return all(is_part_of(item, actual.get(name)) for name, item in expected.items())
        case list(), list():
            return len(expected) == len(actual) and all(map(is_part_of, expected, actual))
        case _:
            return bool(expected == actual) and isinstance(expected, bool) == isinstance(actual, bool)


def only_of(expected: Json, actual: Json) -> Json:
    """Return the members of `actual` that `expected` has."""
    match expected, actual:
        case Mapping(), Mapping():
            return {name: only_of(item, actual.get(name)) for name, item in expected.items()}
        case list(), list() if len(expected) == len(actual):
            return list(map(only_of, expected, actual))
        case _:
            return actual


def _decoded(data: bytes) -> Source:
    source = Source.decode(data)
    assert isinstance(source, Source), source
    return source


# --- Writing golden cases: bytes and JSON as blocks that replace old ones

_WIDTH: Final = 100

# Shorter runs of numbered lines are easier to read in full.
_LEAST_REPEATED: Final = 20

_LANGUAGES: Final = {
    ".md": "md",
    ".ini": "ini",
    ".json": "json",
    ".yml": "yaml",
    ".html": "html",
    ".diff": "diff",
}

_ESCAPES: Final = {"\\": r"\\", "\r": r"\r", "\t": r"\t"}

# Invisible and non-text characters: controls, formats, surrogates, spaces, unassigned.
_ODD: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})


def written_file(role: str, path: str, data: bytes, *, name: str = "", encoding: str = "utf-8") -> CaseBlock:
    """Return the block of a file with this `data`. `name` is empty if the block needs no path.

    `encoding` is used for bytes that are not UTF-8 and have no BOM.
    """
    text, attributes = _decoded_for_writing(data, encoding)
    kinds = set(re.findall(r"\r\n|\r|\n", text))
    if kinds in ({"\r\n"}, {"\r"}):
        attributes["eol"] = "crlf" if kinds == {"\r\n"} else "cr"
        text = re.sub(r"\r\n?", "\n", text)
    if text and not text.endswith("\n"):
        attributes["final-newline"] = "no"
        text += "\n"
    if re.search(" $", text, re.MULTILINE) or any(map(_is_odd, text)):
        attributes["escapes"] = ""
        text = re.sub(" $", r"\\s", "".join(map(_escaped, text)), flags=re.MULTILINE)
    shortened = _with_repeats(text)
    if shortened != text:
        attributes["repeat"] = ""
    language = _LANGUAGES.get(PurePosixPath(path).suffix, "text")
    return CaseBlock(language=language, role=role, path=name, attributes=attributes, text=shortened)


def written_json(role: str, value: object) -> CaseBlock:
    """Return the block of a request or expected value."""
    return CaseBlock(language="json", role=role, text=compact_json(value) + "\n")


def compact_json(value: object, indent: str = "", width: int = _WIDTH) -> str:
    """Return JSON with each object or list on one line if it fits `width`, else a line per item."""
    line = _json_text(value)
    if len(indent + line) <= width or not value or not isinstance(value, dict | list):
        return line
    inner = indent + "  "
    if isinstance(value, dict):
        keys = [f"{_json_text(key)}: " for key in value]
        items = list(zip(keys, value.values(), strict=True))
    else:
        items = [("", item) for item in value]
    body = ",\n".join(inner + key + compact_json(item, inner, width - len(key) - 1) for key, item in items)
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}\n{body}\n{indent}{closing}"


def with_blocks(case: CaseText, new: Iterable[CaseBlock], *, is_stale: Callable[[CaseBlock], bool]) -> None:
    """Write `new` blocks to the file of `case`, and remove the `is_stale` ones, keeping all other lines.

    A block replaces the block with its role and path, or is appended to the case.
    """
    with case.path.open("r+", encoding="utf-8", newline="") as file:
        wait_for_lock(file.fileno())  # Several test processes may update cases of one file.
        (current,) = (each for each in read_cases(case.path) if each.slug == case.slug)
        text = _with_blocks(file.read(), current, new, is_stale)
        file.seek(0)
        file.write(text)
        file.truncate()


def _with_blocks(
    text: str, case: CaseText, new: Iterable[CaseBlock], is_stale: Callable[[CaseBlock], bool]
) -> str:
    lines = text.split("\n")
    added = {(block.role, case.path_of(block)): block.markdown.removesuffix("\n") for block in new}
    replaced = [added.pop((block.role, case.path_of(block)), None) for block in case.blocks]
    last = case.blocks[-1].last_line + 1
    lines[last:last] = [line for block in added.values() for line in ("", *block.split("\n"))]
    for block, markdown in reversed(list(zip(case.blocks, replaced, strict=True))):
        if markdown is not None:
            lines[block.first_line : block.last_line + 1] = markdown.split("\n")
        elif is_stale(block):
            del lines[block.first_line - 1 : block.last_line + 1]
    return "\n".join(lines)


def _with_repeats(text: str) -> str:
    """Return `text` with 100 numbered lines written as one line with `{1..100}`."""
    if REPEATED.search(text):
        return text  # It would be read as a repeat.
    lines = text.split("\n")[:-1]
    numbered = [re.fullmatch(r"(.*?)(0|[1-9]\d*)(\D*)", line) for line in lines]

    def group(at: int) -> tuple[str, str, int] | int:
        # Lines that differ only in a number that increases by one form a group.
        found = numbered[at]
        return at if found is None else (found[1], found[3], int(found[2]) - at)

    result: list[str] = []
    for key, run in itertools.groupby(range(len(lines)), group):
        places = list(run)
        if isinstance(key, tuple) and len(places) >= _LEAST_REPEATED:
            before, after, shift = key
            result.append(f"{before}{{{places[0] + shift}..{places[-1] + shift}}}{after}")
        else:
            result += [lines[at] for at in places]
    return "".join(f"{line}\n" for line in result)


def _decoded_for_writing(data: bytes, encoding: str) -> tuple[str, dict[str, str]]:
    for name, mark in (("utf-16-le", codecs.BOM_UTF16_LE), ("utf-16-be", codecs.BOM_UTF16_BE)):
        # An odd number of bytes is not UTF-16.
        if data.startswith(mark) and len(data) % 2 == 0:
            return data[2:].decode(name), {"encoding": name, "bom": ""}
    body = data.removeprefix(codecs.BOM_UTF8)
    attributes = {"bom": ""} if len(body) < len(data) else {}
    try:
        return body.decode(), attributes
    except UnicodeDecodeError:
        if encoding == "utf-8" or attributes:
            return body.decode("utf-8", "surrogateescape"), attributes
        return data.decode(encoding), {"encoding": encoding}


def _is_odd(character: str) -> bool:
    return character not in " \n" and unicodedata.category(character) in _ODD


def _escaped(character: str) -> str:
    if character in _ESCAPES or not _is_odd(character):
        return _ESCAPES.get(character, character)
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return rf"\x{code - 0xDC00:02x}"
    if code < 0x80:
        return rf"\x{code:02x}"
    return rf"\u{code:04x}" if code <= 0xFFFF else rf"\U{code:08x}"


def _json_text(value: object) -> str:
    line = json.dumps(value, ensure_ascii=False)
    return "".join(json.dumps(each)[1:-1] if _is_odd(each) else each for each in line)
