"""Fuzz targets: bytes go in, and an oracle judges the result."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, kw_only=True)
class Target:
    """One part of mdplan under fuzz.

    `check` raises for bytes of which something wrong is made. `seeds` are bytes to start from, and `mutated`
    makes other bytes of some, with more sense than a flip of bits has; `most_bytes` is the size up to which
    that is of use.
    """

    name: str
    check: Callable[[bytes], None]
    seeds: Callable[[], Iterable[bytes]]
    mutated: Callable[[bytes, Random], bytes]
    most_bytes: int = 2_000
