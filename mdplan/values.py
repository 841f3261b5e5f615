"""Values inside mdplan: immutable, compared and hashed by their fields, and cheap to define.

A process that edits defines two hundred classes before it begins, and a Struct takes a fiftieth of the time
that a dataclass takes. What comes from outside is read by pydantic, whose models contain no Struct.
"""

from typing import TYPE_CHECKING, Any, dataclass_transform

import msgspec
from msgspec import field, structs
from msgspec.structs import asdict, astuple

__all__ = ["Struct", "asdict", "astuple", "field", "replace"]


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Struct(msgspec.Struct, frozen=True):
    """The base of all values. With ``dict=True``, a value can have properties that are computed once."""


# Of this one mypy checks the names and types of the changes.
if TYPE_CHECKING:
    from dataclasses import replace
else:

    def replace(value: Any, /, **changes: Any) -> Any:  # noqa: ANN401 (of any class)
        """Return a copy of `value`, a Struct or a dataclass, with the `changes`."""
        if isinstance(value, msgspec.Struct):
            return structs.replace(value, **changes)
        import dataclasses

        return dataclasses.replace(value, **changes)
