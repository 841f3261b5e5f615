"""Immutable values, compared and hashed by their fields, and cheap to define.

An editing process defines two hundred classes at startup, and a Struct takes a fiftieth of the time of a
dataclass. Input is parsed by pydantic, whose models contain no Struct.
"""

from typing import TYPE_CHECKING, Any, dataclass_transform

import msgspec
from msgspec import field, structs
from msgspec.structs import asdict, astuple

__all__ = ["Struct", "asdict", "astuple", "field", "replace"]


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Struct(msgspec.Struct, frozen=True):
    """The base of all values. ``dict=True`` allows cached properties."""


# This lets mypy check the names and types of the changes.
if TYPE_CHECKING:
    from dataclasses import replace
else:

    def replace(value: Any, /, **changes: Any) -> Any:  # noqa: ANN401 (of any class)
        """Return a copy of `value`, a Struct or dataclass, with `changes`."""
        if isinstance(value, msgspec.Struct):
            return structs.replace(value, **changes)
        import dataclasses

        return dataclasses.replace(value, **changes)
