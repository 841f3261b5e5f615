"""Checks the state of a disk after a recovery."""

from collections.abc import Iterator

from mdplan.storage.files import is_temporary_name
from mdplan.storage.root import Root
from mdplan.storage.transactions import Transaction, before_image, transactions
from tests.crash.scenario import digest
from tests.crash.volume import Content, Image, tree_of

STATE = ".mdplan/"
# What else may be in the state folder itself. The next trial of an exchange removes what one before has left.
OWN_FILES = frozenset({".gitignore", "format", "exchange-a", "exchange-b"})
Tree = dict[str, Content]


def documents(image: Image) -> Tree:
    """All files and folders but the state folder."""
    return {path: content for path, content in tree_of(image).items() if not path.startswith(STATE)}


def strays(image: Image, settled: tuple[str, ...]) -> Iterator[str]:
    """What a recovery should have taken away; the journal may hold what is in one of the `settled` states."""
    for path, content in tree_of(image).items():
        folder, _, name = path.removeprefix(STATE).rpartition("/")
        if is_temporary_name(path.rpartition("/")[2]):
            yield f"{path} stayed"
        elif not path.startswith(STATE) or path.endswith("/"):
            continue
        elif folder == "tx":
            if not name.endswith(tuple(f".{state}" for state in settled)):
                yield f"the journal holds {name}"
        elif folder == "history":
            if digest(content.data) != name:
                yield f"the history holds other bytes as {name}"
        elif folder or name not in OWN_FILES:
            yield f"{path} stayed"


def history_problems(root: Root, committed: set[str]) -> Iterator[str]:
    """What is wrong with the history, in which just the transactions `committed` should be committed."""
    known: dict[str, Transaction] = {}
    for found in transactions(root):
        if isinstance(found, Transaction):
            known[found.id] = found
        else:
            yield f"the history holds {found}"
    there = {found.id for found in known.values() if found.state == "committed"}
    if there != committed:
        yield f"committed are {sorted(there)}"
    for number in sorted(there):
        if not known[number].undoable:
            yield f"{number} cannot be undone"
        for file in known[number].files:
            if file.base_sha256 and digest(before_image(root, file.base_sha256)) != file.base_sha256:
                yield f"the old content of {file.path} in {number} is gone"


def mixture(found: Tree, old: Tree, new: Tree) -> str:
    """Which paths are old, new or neither, of those that differ."""
    told = []
    for path in sorted(found.keys() | old.keys() | new.keys()):
        same = [which for which, tree in (("old", old), ("new", new)) if tree.get(path) == found.get(path)]
        if len(same) < 2:
            told.append(f"{path}: {' '.join(same) or found.get(path)}")
    return ", ".join(told)
