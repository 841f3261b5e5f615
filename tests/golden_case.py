"""Golden cases: folders of `tests/cases/` as values. Their format is told in `tests/cases/README.md`."""

import hashlib
import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from mdplan.engine.engine import Engine, Settings
from mdplan.markdown.outline.heading_path import find_by_path
from mdplan.markdown.outline.outline import Outline
from mdplan.markdown.outline.section import Section
from mdplan.requests.limits import Limits
from mdplan.storage.transaction.commit import Durability
from mdplan.text.source import Source, sha256_hex

CASES = Path(__file__).parent / "cases"

_HASH = re.compile(
    r"@(?:(?P<what>section|body|id):(?P<title>.+?)(?::(?P<occurrence>\d+))?|(?P<file>[^#:]+))(?:#(?P<digits>\d+))?"
)

Tree = dict[str, bytes]
Json: TypeAlias = "dict[str, Json] | list[Json] | str | float | bool | None"


@dataclass(frozen=True)
class Case:
    """One case. Its `folder` holds files before, a request, and what is expected of it."""

    folder: Path

    def __str__(self) -> str:
        return self.folder.relative_to(CASES).as_posix()

    @property
    def before(self) -> Path:
        """The one file before, or the folder of all files before."""
        return self._part("before")

    @property
    def meanwhile(self) -> Path | None:
        """What others make of the files between plan and apply."""
        found = [*self.folder.glob("meanwhile"), *self.folder.glob("meanwhile.*")]
        return found[0] if found else None

    @property
    def after(self) -> Path:
        """Where the files after stand; there is none where the request is refused."""
        return self.before.with_name(self.before.name.replace("before", "after", 1))

    @property
    def settings(self) -> dict[str, Json]:
        """Limits and globs that the engine of this case is opened with."""
        path = self.folder / "settings.json"
        return json.loads(path.read_bytes()) if path.exists() else {}

    def meanwhile_tree(self) -> Tree:
        """Files that others write between plan and apply."""
        found = self.meanwhile
        if found is None:
            return {}
        name = found.name.replace("meanwhile", "before", 1)
        return read_tree(found) if found.is_dir() else {name: found.read_bytes()}

    def lay_out(self, root: Path) -> None:
        """Copy the files before, with their modes and links, into the folder `root`."""
        _copy(self.before, root, "before")

    def disturb(self, root: Path) -> None:
        """Do in `root` what others do between plan and apply."""
        if self.meanwhile is not None:
            _copy(self.meanwhile, root, "meanwhile")

    def open_engine(self, root: Path) -> Engine:
        """Engine on `root` with the settings of this case; it syncs nothing."""
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

    def request(self, name: str, plan_id: str | None = None) -> Json:
        """The request `name` (``batch`` or ``apply``), with hashes in place of their ``@`` names.

        None where there is no such file. `plan_id` is what ``@plan`` stands for.
        """
        path = self.folder / f"{name}.json"
        return self._with_hashes(json.loads(path.read_bytes()), plan_id) if path.exists() else None

    def expected(self, name: str) -> Json:
        """Decoded JSON of the expected file `name`, None where there is none."""
        path = self.folder / name
        return json.loads(path.read_bytes()) if path.exists() else None

    @property
    def needs_mdformat(self) -> bool:
        """Whether the request formats, which an extra does."""
        requests = [self.folder / name for name in ("batch.json", "apply.json")]
        return any(b'"format_section"' in path.read_bytes() for path in requests if path.exists())

    @property
    def is_accepted(self) -> bool:
        """Whether the request is expected to succeed."""
        return self.after.exists()

    @property
    def has_expectation(self) -> bool:
        """Whether any outcome is expected."""
        return self.is_accepted or (self.folder / "diagnostics.json").exists()

    def before_tree(self) -> Tree:
        """Files before."""
        if self.before.is_dir():
            return read_tree(self.before)
        return {self.before.name: self.before.read_bytes()}

    def after_tree(self) -> Tree:
        """Files after."""
        if self.after.is_dir():
            return read_tree(self.after)
        return {self.before.name: self.after.read_bytes()}

    def write_after(self, tree: Tree) -> None:
        """Make `tree` the files after."""
        if not self.before.is_dir():
            self.after.write_bytes(tree[self.before.name])
            return
        shutil.rmtree(self.after, ignore_errors=True)
        for name, data in tree.items():
            path = self.after / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

    def write_json(self, name: str, value: Json) -> None:
        """Make `value` the expected file `name`."""
        text = json.dumps(value, indent=2, ensure_ascii=False)
        (self.folder / name).write_text(text + "\n", encoding="utf-8")

    def remove(self, *names: str) -> None:
        """Remove expected files that expect another outcome."""
        for name in names:
            path = self.folder / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    def _part(self, name: str) -> Path:
        found = [*self.folder.glob(name), *self.folder.glob(f"{name}.*")]
        assert len(found) == 1, f"{self} has {len(found)} times `{name}` or `{name}.*`"
        return found[0]

    def _with_hashes(self, value: Json, plan_id: str | None) -> Json:
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
            path = self.before / named["file"] if self.before.is_dir() else self.folder / named["file"]
            return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
        outline = Outline(_decoded(self.before.read_bytes()))
        section = find_by_path(outline, [named["title"]], int(named["occurrence"] or 0) or None)
        assert isinstance(section, Section), f"{self}: {section}"
        match named["what"]:
            case "id":
                return section.section_id
            case "section":
                return outline.section_sha256(section)
            case _:
                return sha256_hex(outline.text_of(section.body).encode())


def find_cases(*below: str) -> list[Case]:
    """All cases, or those in the folder `below` of `tests/cases/`, sorted by name."""
    requests = (path for name in ("batch", "apply") for path in CASES.joinpath(*below).rglob(f"{name}.json"))
    return [Case(path.parent) for path in sorted(requests)]


def read_tree(root: Path) -> Tree:
    """Regular files below `root` by their relative paths, without the state folder of mdplan."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.is_symlink() and ".mdplan" not in path.relative_to(root).parts
    }


def is_part_of(expected: Json, actual: Json) -> bool:
    """Whether `actual` says all that `expected` says: objects may say more, None stands for nothing."""
    match expected, actual:
        case Mapping(), Mapping():
            return all(is_part_of(item, actual.get(name)) for name, item in expected.items())
        case list(), list():
            return len(expected) == len(actual) and all(map(is_part_of, expected, actual))
        case _:
            return bool(expected == actual) and isinstance(expected, bool) == isinstance(actual, bool)


def only_of(expected: Json, actual: Json) -> Json:
    """What `actual` says to the questions that `expected` answers."""
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


def _copy(path: Path, root: Path, name: str) -> None:
    if path.is_dir():
        shutil.copytree(path, root, symlinks=True, dirs_exist_ok=True)
    else:
        shutil.copy(path, root / path.name.replace(name, "before", 1))
