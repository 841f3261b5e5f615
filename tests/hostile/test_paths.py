"""Cases 1 to 22: paths that callers give, handed to every verb that takes one.

The codes are those of the list, by the names of DESIGN section 9. A path that is no text at all, or is empty,
is INVALID_ARGUMENT where the door refuses it before anybody takes it for a path.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mdplan.diagnostics import Code
from mdplan.engine.engine import Engine
from mdplan.settings import Settings
from mdplan.storage.filesystem import Durability
from tests.hostile.tally import Record
from tests.hostile.trial import (
    APPEND,
    EVERY_VERB,
    HERE,
    LOOKING,
    NEW_FILE,
    OF_FILE,
    OTHER_FILE,
    Place,
    check_accepted,
    check_refused,
    problems_of,
    read_verb,
)

OUTSIDE = Code.PATH_OUTSIDE_ROOT
INVALID = Code.PATH_INVALID
ARGUMENT = Code.INVALID_ARGUMENT

REFUSED = {
    "01 parent": ("../x", OUTSIDE),
    "02 parent in the middle": ("a/../../x", OUTSIDE),
    "03 parent that stays inside": ("a/../b.md", OUTSIDE),
    "03 parent alone": ("..", OUTSIDE),
    "03 parent at the end": ("a/..", OUTSIDE),
    "04 absolute": ("/etc/passwd", OUTSIDE),
    "07 NUL": ("a\0b", INVALID),
    "08 slash": ("/", INVALID),
    "08 double slash": ("a//b", INVALID),
    "09 component of 256 bytes": ("é" * 128, INVALID),
    "09 component of a megabyte": ("a" * 1_000_000, INVALID),
    "09 path of 4,103 bytes": ("/".join(["abcdefg"] * 513), INVALID),
    "10 drive": ("C:x.md", INVALID),
    "10 drive and backslash": ("C:\\x", INVALID),
    "10 drive and slash": ("C:/x", INVALID),
    "10 server": ("\\\\srv\\s\\x", INVALID),
    "10 server by slashes": ("//srv/s/x", INVALID),
    "10 device path": ("\\\\?\\C:\\x", INVALID),
    "11 backslashes": ("a\\..\\..\\b", INVALID),
    "12 NUL device": ("NUL", INVALID),
    "12 con": ("con.md", INVALID),
    "12 aux": ("aux", INVALID),
    "12 aux below": ("a/aux", INVALID),
    "12 aux and blank": ("Aux /b.md", INVALID),
    "12 COM1 and two endings": ("COM1.tar.md", INVALID),
    "12 COM1": ("COM1.md", INVALID),
    "12 LPT with superscript": ("LPT¹.md", INVALID),
    "13 final dot": ("x.md.", INVALID),
    "13 final dot of a folder": ("d./x.md", INVALID),
    "13 three dots": ("...", INVALID),
    "13 final blank": ("x.md ", INVALID),
    "14 stream": ("x.md:s", INVALID),
    "14 data stream": ("x.md::$DATA", INVALID),
    "16 lock": (".mdplan/lock", INVALID),
    "16 state folder in capitals": (".MDPLAN/x", INVALID),
    "16 state folder below": ("d/.mdplan/x", INVALID),
    "16 state folder in full width": ("．ｍｄｐｌａｎ/x", INVALID),
    "17 git configuration": (".git/config", INVALID),
    "17 git hook": (".git/hooks/x", INVALID),
    "17 git below": ("a/.Git/hooks/x", INVALID),
    "17 git by its short name": ("GIT~1/config", INVALID),
    "17 git with a zero width": (".g\u200cit/config", INVALID),
    "21 bidi": ("a\u202edm.md", INVALID),
    "21 isolate": ("a\u2066dm.md", INVALID),
    "21 zero width": ("a\u200b.md", INVALID),
    "21 escape": ("a\x1b[31m.md", INVALID),
    "21 line separator": ("a\u2028b.md", INVALID),
}


def ids_of(cases: dict[str, object]) -> list[str]:
    return [f"case_{case.replace(' ', '_')}" for case in cases]


@pytest.mark.requirement("safety-1")
@pytest.mark.parametrize("case", REFUSED, ids=ids_of(REFUSED))
def test_path_is_refused_by_every_verb(place: Place, record: Record, case: str) -> None:
    path, code = REFUSED[case]
    for name, verb in EVERY_VERB.items():
        # A diff names its files in a way of its own, and is refused as a diff where that cannot be a file.
        codes = {code, ARGUMENT} if name == "write a diff" else {code}
        check_refused(
            record, f"{case}: {name}", lambda verb=verb: verb(place.engine, path), codes, place.folder
        )


AT_THE_DOOR = {"08 empty": "", "18 not UTF-8": "a\udc80.md", "18 lone surrogate": "\ud800.md"}


@pytest.mark.parametrize("case", AT_THE_DOOR, ids=ids_of(AT_THE_DOOR))
def test_path_that_is_not_text_is_refused_by_every_verb(place: Place, record: Record, case: str) -> None:
    for name, verb in EVERY_VERB.items():
        codes = {INVALID, ARGUMENT}
        act = lambda verb=verb: verb(place.engine, AT_THE_DOOR[case])  # noqa: E731
        check_refused(record, f"{case}: {name}", act, codes, place.folder)


OF_FOLDERS = {"08 dot": ".", "08 final slash": "a/", "08 final dot": "a/."}


@pytest.mark.parametrize("case", OF_FOLDERS, ids=ids_of(OF_FOLDERS))
def test_folder_path_is_refused_where_a_file_is_expected(place: Place, record: Record, case: str) -> None:
    """To look at a whole folder is what stat and search are for."""
    verbs = {"read": read_verb, **OF_FILE, **NEW_FILE, **OTHER_FILE}
    for name, verb in verbs.items():
        act = lambda verb=verb: verb(place.engine, OF_FOLDERS[case])  # noqa: E731
        check_refused(record, f"{case}: {name}", act, {INVALID}, place.folder)


LITERAL = {
    "05 tilde": "~/.ssh/config",
    "06 variable": "$HOME/x",
    "06 percent dots": "%2e%2e/x",
    "06 percent slash": "%2Fetc",
}


@pytest.mark.parametrize("case", LITERAL, ids=ids_of(LITERAL))
def test_path_is_taken_literally_and_never_expanded(place: Place, record: Record, case: str) -> None:
    path = LITERAL[case]
    for name, verb in {**LOOKING, **OF_FILE, **OTHER_FILE}.items():
        act = lambda verb=verb: verb(place.engine, path)  # noqa: E731
        # A section moves into a new file too, but only into a Markdown file.
        codes = {ARGUMENT} if name in OTHER_FILE else {Code.FILE_NOT_FOUND}
        check_refused(record, f"{case}: {name}", act, codes, place.folder)
    check_accepted(
        record,
        f"{case}: write a creation",
        lambda: NEW_FILE["write a creation"](place.engine, path),
        lambda _: (place.root / path).read_bytes() == b"Owned.",
    )


@pytest.mark.hostile_case(15)
def test_sibling_with_the_same_prefix_is_outside(place: Place, record: Record) -> None:
    (place.folder / "root2").mkdir()
    (place.folder / "root2" / "x.md").write_bytes(HERE)
    for path in (f"{place.folder}/root2/x.md", f"{place.root}/../root2/x.md", f"{place.root}2/x.md"):
        for name, verb in EVERY_VERB.items():
            act = lambda verb=verb, path=path: verb(place.engine, path)  # noqa: E731
            codes = {OUTSIDE, ARGUMENT} if name == "write a diff" else {OUTSIDE}
            check_refused(record, f"15 sibling: {name}", act, codes, place.folder)


@pytest.mark.hostile_case(18)
def test_undecodable_name_is_skipped(place: Place, record: Record) -> None:
    """A folder that holds one can be looked at, and all of the answer is text."""
    (place.root / os.fsdecode(b"caf\xe9.md")).write_bytes(HERE)
    for name in ("stat", "search"):
        found = check_accepted(
            record,
            f"18 name that is no text: {name}",
            lambda name=name: LOOKING[name](place.engine, "."),
            lambda report: "caf" not in repr(report),
        )
        repr(found).encode("utf-8")


@pytest.mark.hostile_case(19)
def test_two_normal_forms_are_two_files_or_one_conflict(place: Place, record: Record) -> None:
    names = ("e\u0301.md", "\u00e9.md")
    batch = {"files": [{"file": name, "edits": [{"op": "create_file", "markdown": name}]} for name in names]}
    if (place.root / names[0]).exists() or _is_one_name(place.root, names):
        codes = {Code.ALIAS_CONFLICT, Code.FILE_EXISTS}
        check_refused(record, "19 normal forms", lambda: place.engine.write(batch), codes, place.root)
        return
    check_accepted(
        record,
        "19 normal forms",
        lambda: place.engine.write(batch),
        lambda _: [(place.root / name).read_text() for name in names] == list(names),
    )


@pytest.mark.hostile_case(20)
def test_case_folding_names_are_two_files_or_one_conflict(place: Place, record: Record) -> None:
    names = ("README.md", "readme.md")
    batch = {"files": [{"file": name, "edits": [{"op": "create_file", "markdown": name}]} for name in names]}
    if _is_one_name(place.root, names):
        codes = {Code.ALIAS_CONFLICT, Code.FILE_EXISTS}
        check_refused(record, "20 case", lambda: place.engine.write(batch), codes, place.root)
        return
    check_accepted(
        record,
        "20 case",
        lambda: place.engine.write(batch),
        lambda _: [(place.root / name).read_text() for name in names] == list(names),
    )


def _is_one_name(folder: Path, names: tuple[str, str]) -> bool:
    """Whether the file system takes both for one."""
    (folder / names[0]).write_bytes(b"")
    is_one = (folder / names[1]).exists()
    (folder / names[0]).unlink()
    return is_one


TWICE = {
    "22 same path": ("here.md", "here.md"),
    "22 dot before it": ("here.md", "./here.md"),
    "22 dot in the middle": ("d/a.md", "d/./a.md"),
    "22 absolute": ("here.md", "{root}/here.md"),
}


@pytest.mark.parametrize("case", TWICE, ids=ids_of(TWICE))
@pytest.mark.parametrize("verb", ["plan", "apply", "write"])
def test_file_that_is_named_twice_is_refused(place: Place, record: Record, case: str, verb: str) -> None:
    (place.root / "d").mkdir()
    (place.root / "d" / "a.md").write_bytes(HERE)
    paths = [path.format(root=place.root) for path in TWICE[case]]
    batch = {"files": [{"file": path, "edits": [APPEND]} for path in paths]}
    act: Callable[[], object] = lambda: getattr(place.engine, verb)(batch)  # noqa: E731
    check_refused(record, f"{case}: {verb}", act, {ARGUMENT}, place.folder)


def test_several_roots_do_not_bypass_the_path_rules(place: Place, record: Record, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    roots = {"docs": place.root, "other": tmp_path / "other"}
    engine = Engine.open(roots, settings=Settings(durability=Durability.PROCESS))
    for path in (
        "docs:../x",
        "docs:/etc/passwd",
        "docs:.git/x",
        "docs:x:y",
        "docs:",
        "nowhere:x",
        "docs:docs:here.md",
    ):
        for name, verb in EVERY_VERB.items():
            act = lambda verb=verb, path=path: verb(engine, path)  # noqa: E731
            if name in {"stat", "search"} and path == "docs:":
                continue
            assert problems_of(act()), (path, name)
            check_refused(
                record, f"01 with the name of a root: {name}", act, {OUTSIDE, INVALID, ARGUMENT}, tmp_path
            )
    engine.workspace.close()
