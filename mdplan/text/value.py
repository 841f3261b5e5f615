"""Frozen dataclasses that cost little: to make by the thousand, and to define by the hundred."""

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

_Value = TypeVar("_Value")

if TYPE_CHECKING:
    from dataclasses import dataclass as value
else:

    def value(
        *, frozen: bool, slots: bool, order: bool = False, kw_only: bool = False
    ) -> Callable[[type[_Value]], type[_Value]]:
        """A dataclass with slots that is frozen for type checkers alone.

        Freezing it at run time, too, makes instances three times as costly to make: of an outline, whose
        blocks, sections and spans these are, that would be a quarter of the whole cost. And its methods are
        made when one of them is first called. A process that looks at one file defines a hundred values and
        makes instances of a third of them; to write all methods of all would be a quarter of its start.
        """
        assert frozen
        assert slots

        def define(cls: type[_Value]) -> type[_Value]:
            own = [name for name in (*_METHODS, *(_ORDER if order else ())) if name not in vars(cls)]
            made = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)(cls)
            for name in own:
                setattr(made, name, _later(made, name, own, order=order))
            return made

        return define


_METHODS: Final = ("__init__", "__repr__", "__eq__", "__hash__")
_ORDER: Final = ("__lt__", "__le__", "__gt__", "__ge__")


def _later(cls: type, name: str, own: list[str], *, order: bool) -> Callable[..., Any]:
    """The method `name` until it is called, which makes all methods of `cls` that are its `own`."""

    def method(self: object, *arguments: object, **named: object) -> Any:  # noqa: ANN401 (of any method)
        # A subclass without fields of its own has the same fields, and so the same methods.
        whole: type = dataclasses.dataclass(unsafe_hash="__hash__" in own, order=order)(
            type(cls.__name__, (cls,), {"__module__": cls.__module__, "__qualname__": cls.__qualname__})
        )
        for each in own:
            setattr(cls, each, vars(whole)[each])
        return getattr(cls, name)(self, *arguments, **named)

    return method


__all__ = ["value"]
