"""Values: dataclasses that cost little, to define by the hundred and to make by the thousand.

`value`, `field` and `replace` are written and typed as those of `dataclasses`, which is not loaded for them:
it loads half a compiler, to look at signatures. Who asks its functions about a value gets an answer.
"""

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

_Value = TypeVar("_Value")

if TYPE_CHECKING:
    from dataclasses import dataclass as value
    from dataclasses import field, replace
else:

    def value(
        *, frozen: bool, slots: bool = False, order: bool = False, kw_only: bool = False
    ) -> Callable[[type[_Value]], type[_Value]]:
        """A dataclass that is frozen for type checkers alone; without `slots` it can keep what it found.

        Freezing it at run time, too, makes instances three times as costly to make: of an outline, whose
        blocks, sections and spans these are, that would be a quarter of the whole cost. Whatever is annotated
        is a field: a value has no `ClassVar`.
        """
        assert frozen

        def define(written: type[_Value]) -> type[_Value]:
            own = _own_fields(written, kw_only=kw_only)
            cls = _slotted(written, own) if slots else _unslotted(written, own)
            inherited = getattr(cls, "__value_fields__", {})
            cls.__value_fields__ = {**inherited, **own}
            for name in ("__dataclass_fields__", "__dataclass_params__"):
                setattr(cls, name, _AsDataclass(cls, name))
            _add_methods(cls, order=order)
            return cls

        return define

    def field(
        *,
        default: object = ...,
        default_factory: Callable[[], object] | None = None,
        repr: bool = True,  # noqa: A002 (as in `dataclasses`)
        compare: bool = True,
    ) -> "_Field":
        """More about a field than its type; what the words mean is told by `dataclasses.field`."""
        return _Field(default, default_factory, is_shown=repr, is_compared=compare)

    def replace(instance: _Value, /, **changes: object) -> _Value:
        """A copy of `instance`, a value or another dataclass, in which these fields have changed."""
        names = field_names(type(instance))
        return type(instance)(**{name: getattr(instance, name) for name in names} | changes)


def field_names(shape: type) -> tuple[str, ...] | None:
    """Names of the fields of a class of values, or of another dataclass; None where it is neither."""
    fields = getattr(shape, "__value_fields__", None) or getattr(shape, "__dataclass_fields__", None)
    return None if fields is None else tuple(fields)


class _Field:
    """One field of a class. Where `default` is an ellipsis and there is no `factory`, it has to be given."""

    __slots__ = ("default", "factory", "is_compared", "is_shown", "kind", "kw_only")

    def __init__(
        self,
        default: object = ...,
        factory: Callable[[], object] | None = None,
        *,
        is_shown: bool = True,
        is_compared: bool = True,
    ) -> None:
        self.default, self.factory = default, factory
        self.is_shown, self.is_compared = is_shown, is_compared
        # What the class says, when it has the field.
        self.kind: Any = None
        self.kw_only = False


def _own_fields(written: type, *, kw_only: bool) -> dict[str, _Field]:
    fields = {}
    for name, kind in written.__annotations__.items():
        default = vars(written).get(name, ...)
        assert not hasattr(default, "default_factory"), f"`field` of {written.__name__}.{name} is not ours"
        each = fields[name] = default if isinstance(default, _Field) else _Field(default)
        each.kind, each.kw_only = kind, kw_only
    return fields


def _slotted(written: type, own: dict[str, _Field]) -> type:
    """The class again, with slots for those fields for which no base has any."""
    left_out = {"__dict__", "__weakref__", *own}
    namespace = {name: item for name, item in vars(written).items() if name not in left_out}
    inherited = {slot for base in written.__mro__ for slot in vars(base).get("__slots__", ())}
    namespace["__slots__"] = tuple(name for name in own if name not in inherited)
    namespace["__qualname__"] = written.__qualname__
    return type(written)(written.__name__, written.__bases__, namespace)


def _unslotted(written: type, own: dict[str, _Field]) -> type:
    """The class itself, with the default of each field, and not with what was said about it."""
    for name, each in own.items():
        if each.default is not ...:
            setattr(written, name, each.default)
        elif name in vars(written):
            delattr(written, name)
    return written


_COMPARISONS: Final = (operator.lt, operator.le, operator.gt, operator.ge)


def _add_methods(cls: Any, *, order: bool) -> None:  # noqa: ANN401 (of a class that is made here)
    """Give `cls` the methods of a value, but for those that it has itself."""
    fields = cls.__value_fields__
    positional = tuple(name for name, each in fields.items() if not each.kw_only)
    setattr(cls, "__match_args__", positional)  # noqa: B010 (mypy has it for a tuple of literals)
    compared = [name for name, each in fields.items() if each.is_compared]
    content = operator.attrgetter(*compared) if compared else (lambda _: ())

    def comparison(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
        def method(self: object, other: object) -> bool:
            same_kind = other.__class__ is self.__class__
            return compare(content(self), content(other)) if same_kind else NotImplemented

        return method

    def method_hash(self: object) -> int:
        return hash(content(self))

    methods: dict[str, Callable[..., Any]] = {
        "__init__": _init_when_called(cls),
        "__repr__": _shown,
        "__eq__": comparison(operator.eq),
        "__hash__": method_hash,
    }
    if order:
        methods |= {f"__{compare.__name__}__": comparison(compare) for compare in _COMPARISONS}
    for name, method in methods.items():
        # A class with its own comparison has None for its hash.
        if vars(cls).get(name) is None:
            setattr(cls, name, method)


def _shown(self: Any) -> str:  # noqa: ANN401 (a value)
    fields = type(self).__value_fields__.items()
    shown = (f"{name}={getattr(self, name)!r}" for name, each in fields if each.is_shown)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _init_when_called(cls: Any) -> Callable[..., None]:  # noqa: ANN401 (a class of values)
    """`__init__` of `cls`, written when it is called: a process makes values of half of its classes."""

    def init(self: object, /, *arguments: object, **named: object) -> None:
        cls.__init__ = _written_init(cls)
        cls.__init__(self, *arguments, **named)

    return init


def _written_init(cls: Any) -> Callable[..., None]:  # noqa: ANN401 (as above)
    fields: dict[str, _Field] = cls.__value_fields__
    known: dict[str, Any] = {}
    positional, named, body = ["self"], list[str](), list[str]()
    for name, each in fields.items():
        known |= {f"default_{name}": each.default, f"make_{name}": each.factory}
        is_required = each.default is ... and each.factory is None
        (named if each.kw_only else positional).append(name if is_required else f"{name}=default_{name}")
        made = f"make_{name}() if {name} is ... else {name}" if each.factory else name
        body.append(f"self.{name} = {made}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = ", ".join([*positional, "*", *named] if named else positional)
    exec(f"def __init__({parameters}):\n  " + "\n  ".join(body or ["pass"]), known)  # noqa: S102 (of our names)
    init: Callable[..., None] = known["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


class _AsDataclass:
    """What `dataclasses` wants to know of a class of values, told when it is asked."""

    def __init__(self, cls: Any, name: str) -> None:  # noqa: ANN401 (as above)
        self._cls, self._name = cls, name

    def __get__(self, instance: object, owner: type) -> object:
        import dataclasses

        fields = []
        for name, each in self._cls.__value_fields__.items():
            more: dict[str, Any] = {"compare": each.is_compared, "kw_only": each.kw_only}
            if each.factory is not None:
                more["default_factory"] = each.factory
            elif each.default is not ...:
                more["default"] = each.default
            fields.append((name, each.kind, dataclasses.field(repr=each.is_shown, **more)))
        namespace = {"__module__": self._cls.__module__}
        made = dataclasses.make_dataclass(self._cls.__name__, fields, namespace=namespace)
        setattr(self._cls, self._name, getattr(made, self._name))
        return getattr(made, self._name)


__all__ = ["field", "field_names", "replace", "value"]
