"""Values are what dataclasses are, for those who make them and for the functions of `dataclasses`."""

import dataclasses
import functools
import pickle
from collections.abc import Callable

import pytest

from mdplan.text.value import field, field_names, replace, value


@value(frozen=True, slots=True, order=True)
class Place:
    line: int
    col: int = 1


@value(frozen=True, slots=True, kw_only=True)
class Named:
    name: str
    tags: tuple[str, ...] = ()
    note: dict[str, str] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        assert self.name, "a name"


@value(frozen=True, slots=True, kw_only=True)
class Child(Named):
    age: int = 0

    def __repr__(self) -> str:
        return "child"


@dataclasses.dataclass(frozen=True)
class Plain:
    a: int
    b: int = 2


@value(frozen=True)
class Text:
    """A text that counts its letters once."""

    letters: str = ""

    @functools.cached_property
    def size(self) -> int:
        return len(self.letters)


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        (lambda: repr(Place(2)), "Place(line=2, col=1)"),
        (lambda: Place(1) == Place(1, 1), True),
        (lambda: Place(1) == (1, 1), False),
        (lambda: Named(name="a") == Child(name="a"), False),
        (lambda: len({Place(1), Place(1), Place(2)}), 2),
        (lambda: min([Place(2), Place(1, 5), Place(1, 2)]), Place(1, 2)),
        (lambda: repr(Named(name="a", note={"b": "c"})), "Named(name='a', tags=())"),
        (lambda: repr(Child(name="a")), "child"),
        (lambda: Named(name="a", note={"b": "c"}) == Named(name="a"), True),
        (lambda: [field.name for field in dataclasses.fields(Child)], ["name", "tags", "note", "age"]),
        (lambda: dataclasses.replace(Child(name="a", age=1), age=2).age, 2),
        (lambda: replace(Child(name="a", tags=("b",)), age=2).tags, ("b",)),
        (lambda: replace(Plain(1), b=3), Plain(1, 3)),
        (lambda: field_names(Child), ("name", "tags", "note", "age")),
        (lambda: (field_names(Plain), field_names(int)), (("a", "b"), None)),
        (lambda: Named(name="a").note is Named(name="a").note, False),
        (lambda: pickle.loads(pickle.dumps(Child(name="a", tags=("b",)))).tags, ("b",)),
        (lambda: hasattr(Place(1), "__dict__"), False),
        (lambda: Place.__match_args__, ("line", "col")),
        (lambda: (Text("ab").size, Text().size), (2, 0)),
        (lambda: Text("ab") == Text("ab"), True),
        (lambda: [field.default for field in dataclasses.fields(Text)], [""]),
    ],
)
def test_value_is_what_a_frozen_dataclass_is(what: Callable[[], object], expected: object) -> None:
    assert what() == expected


@pytest.mark.parametrize("make", [lambda: Named("a"), Place, lambda: Place(1, row=2)])
def test_wrong_arguments_are_refused(make: Callable[[], object]) -> None:
    with pytest.raises(TypeError):
        make()


def test_what_is_checked_after_the_making_is_checked() -> None:
    with pytest.raises(AssertionError, match="a name"):
        Child(name="")
