"""The common start and end of two sequences."""

from collections.abc import Sequence


def common_start(left: Sequence[object], right: Sequence[object]) -> int:
    """How many items (characters, lines) at the start of both are the same."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(left), len(right)))


def common_edges(left: Sequence[object], right: Sequence[object]) -> tuple[int, int]:
    """How many items at the start of both are the same, and how many of the others at the end."""
    start = common_start(left, right)
    return start, common_start(left[start:][::-1], right[start:][::-1])
