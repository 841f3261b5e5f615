"""Frozen dataclasses that cost little: to make by the thousand, and to define by the hundred."""

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar, get_origin

_Value = TypeVar("_Value")

if TYPE_CHECKING:
    from dataclasses import dataclass as value
else:

    def value(
        *, frozen: bool, slots: bool = False, order: bool = False, kw_only: bool = False
    ) -> Callable[[type[_Value]], type[_Value]]:
        """A dataclass that is frozen for type checkers alone; without `slots` it can keep what it found.

        Freezing it at run time, too, makes instances three times as costly to make: of an outline, whose
        blocks, sections and spans these are, that would be a quarter of the whole cost. And it becomes a
        dataclass when it is first used: a process that looks at one file defines a hundred values and makes
        instances of a third of them; to look at the fields of all and to write their methods would be a
        quarter of its start.
        """
        assert frozen

        def define(written: type[_Value]) -> type[_Value]:
            return _Later(written, slots=slots, order=order, kw_only=kw_only).cls

        return define


# What a dataclass tells of its fields.
_OF_FIELDS: Final = ("__dataclass_fields__", "__dataclass_params__", "__match_args__")
_METHODS: Final = ("__init__", "__repr__", "__eq__", "__hash__")
_ORDER: Final = ("__lt__", "__le__", "__gt__", "__ge__")


class _Later:
    """A class `written` for a dataclass, which it becomes part by part as someone needs one.

    `cls` is that class, with `slots` or without.
    """

    def __init__(self, written: type, *, slots: bool, order: bool, kw_only: bool) -> None:
        self._written = {**vars(written), "__qualname__": written.__qualname__}
        for name in ("__dict__", "__weakref__"):
            self._written.pop(name, None)
        self._order = order
        self._kw_only = kw_only
        namespace = self._slotted(written) if slots else dict(self._written)
        self.cls = type(written)(written.__name__, written.__bases__, namespace)
        self._methods = [
            name for name in (*_METHODS, *(_ORDER if order else ())) if name not in self._written
        ]
        for name in _OF_FIELDS:
            setattr(self.cls, name, _Attribute(self, name))
        for name in self._methods:
            setattr(self.cls, name, _first_call(self, name))

    def _slotted(self, written: type) -> dict[str, Any]:
        """What is written, with slots for those fields for which no base has any."""
        annotations = self._written.get("__annotations__", {})
        names = [name for name, kind in annotations.items() if ClassVar not in (kind, get_origin(kind))]
        inherited = {slot for base in written.__mro__ for slot in vars(base).get("__slots__", ())}
        rest = {name: item for name, item in self._written.items() if name not in names}
        return {**rest, "__slots__": tuple(name for name in names if name not in inherited)}

    def make_fields(self) -> None:
        """Look at the fields: someone asks for them, or an instance is made."""
        # Each time of a copy, so that two threads that come here together make the same.
        copy: type = type(self.cls)(self.cls.__name__, self.cls.__bases__, dict(self._written))
        made: type = dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=self._kw_only)(copy)
        for name in _OF_FIELDS:
            setattr(self.cls, name, vars(made)[name])

    def make_method(self, name: str) -> None:
        """Make the method `name`: that which makes instances alone, or all others, which few classes need."""
        is_init = name == "__init__"
        # A subclass without fields of its own has the same fields, and so the same methods. Without a
        # docstring it would get one, which takes longer than all else here.
        same = type(self.cls)(self.cls.__name__, (self.cls,), {"__doc__": self.cls.__name__})
        made: type = dataclasses.dataclass(
            init=is_init,
            repr=not is_init,
            eq=not is_init,
            unsafe_hash=not is_init and "__hash__" in self._methods,
            order=not is_init and self._order,
        )(same)
        for each in self._methods:
            if is_init == (each == "__init__"):
                setattr(self.cls, each, vars(made)[each])


class _Attribute:
    """An attribute of a class that is there once its fields were looked at."""

    def __init__(self, later: _Later, name: str) -> None:
        self._later = later
        self._name = name

    def __get__(self, instance: object, owner: type) -> Any:  # noqa: ANN401 (of any attribute)
        if isinstance(vars(self._later.cls)[self._name], _Attribute):
            self._later.make_fields()
        return getattr(owner, self._name)


def _first_call(later: _Later, name: str) -> Callable[..., Any]:
    """The method `name` until it is called."""

    def method(self: object, *arguments: object, **named: object) -> Any:  # noqa: ANN401 (of any method)
        later.make_method(name)
        return getattr(later.cls, name)(self, *arguments, **named)

    return method


__all__ = ["value"]
