"""Checks the state of a disk after a recovery."""

from collections.abc import Iterator

from mdplan.storage.names import is_temporary_name
from mdplan.storage.store import Store
from tests.crash.model_disk import STORE
from tests.crash.scenario import digest
from tests.crash.volume import Content, Image, tree_of

Tree = dict[str, Content]


def documents(image: Image) -> Tree:
    """All files and folders but the store."""
    return {path: content for path, content in tree_of(image).items() if path != STORE}


def strays(image: Image, store: Store) -> Iterator[str]:
    """Return files that a recovery should have removed."""
    yield from (f"{path} stayed" for path in tree_of(image) if is_temporary_name(path.rpartition("/")[2]))
    if store.interrupted() or store.uncleaned():
        yield f"the store has {store.interrupted()}, {store.uncleaned()}"


def history_problems(store: Store, committed: set[str]) -> Iterator[str]:
    """What is wrong with the history, in which just the transactions `committed` should be committed."""
    known = {found.id: found for found in store.transactions() if found.state == "committed"}
    if known.keys() != committed:
        yield f"committed are {sorted(known)}"
    for number, found in sorted(known.items()):
        if not found.undoable:
            yield f"{number} cannot be undone"
        for entry in found.record.entries:
            if entry.base and digest(store.content(entry.base)) != entry.base:
                yield f"the old content of {entry.path} in {number} is gone"


def mixture(found: Tree, old: Tree, new: Tree) -> str:
    """Return the differing paths with their state: old, new or neither."""
    told = []
    for path in sorted(found.keys() | old.keys() | new.keys()):
        same = [which for which, tree in (("old", old), ("new", new)) if tree.get(path) == found.get(path)]
        if len(same) < 2:
            told.append(f"{path}: {' '.join(same) or found.get(path)}")
    return ", ".join(told)
