"""Values that a document has thousands of."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

_Value = TypeVar("_Value")

if TYPE_CHECKING:
    from dataclasses import dataclass as value
else:

    def value(
        *, frozen: bool, slots: bool, order: bool = False, kw_only: bool = False
    ) -> Callable[[type[_Value]], type[_Value]]:
        """A dataclass that is frozen for type checkers alone.

        Freezing it at run time, too, makes instances three times as costly to make: of an outline, whose
        blocks, sections and spans these are, that would be a quarter of the whole cost.
        """
        assert frozen
        return dataclass(slots=slots, unsafe_hash=True, order=order, kw_only=kw_only)


__all__ = ["value"]
