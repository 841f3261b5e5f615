"""The files of a plan as a tree of folders; a folder with one folder in it is one row, as ``docs/guide``."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from mdplan.review.plan_review import ReviewedFile

# Below so many folders inside each other, rows show the rest of the path.
_MOST_NESTED: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeNode:
    """A folder with its `children`, or a file. `name` is what its row shows."""

    name: str
    file: ReviewedFile | None
    children: tuple["TreeNode", ...]


def file_tree(files: Iterable[ReviewedFile]) -> tuple[TreeNode, ...]:
    """The top of the tree of `files`: folders first, then files, both in the order of the plan."""
    return _nodes([(file.path.split("/"), file) for file in files])


def _nodes(placed: Sequence[tuple[list[str], ReviewedFile]], nested: int = 0) -> tuple[TreeNode, ...]:
    folders: dict[str, list[tuple[list[str], ReviewedFile]]] = {}
    leaves = []
    for parts, file in placed:
        if len(parts) > 1 and nested < _MOST_NESTED:
            folders.setdefault(parts[0], []).append((parts[1:], file))
        else:
            leaves.append(TreeNode(name="/".join(parts), file=file, children=()))
    return (*(_folder(name, inside, nested + 1) for name, inside in folders.items()), *leaves)


def _folder(name: str, inside: list[tuple[list[str], ReviewedFile]], nested: int) -> TreeNode:
    # A loop and no recursion: paths can be deep.
    while all(len(parts) > 1 for parts, _ in inside) and len({parts[0] for parts, _ in inside}) == 1:
        name = f"{name}/{inside[0][0][0]}"
        inside = [(parts[1:], file) for parts, file in inside]
    return TreeNode(name=name, file=None, children=_nodes(inside, nested))


def in_tree_order(nodes: Iterable[TreeNode]) -> list[ReviewedFile]:
    """The files below `nodes`, from the top of the tree to its end."""
    found: list[ReviewedFile] = []
    for node in nodes:
        found += in_tree_order(node.children) if node.file is None else [node.file]
    return found
