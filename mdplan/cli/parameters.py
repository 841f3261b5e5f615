"""What commands take, declared once: click makes help, errors and completion of it, `plain_words` a call."""

from typing import Final, Literal, TypeAlias

from mdplan.limit_options import LimitOption, in_words
from mdplan.text.value import value

# Longer ones are no numbers that anybody means, and take long to convert.
_MOST_DIGITS: Final = 15


@value(frozen=True, slots=True)
class Text:
    """Any text. The tab key offers the `files` or `folders` that it may name."""

    offers: Literal["nothing", "files", "folders"] = "nothing"

    def read(self, word: str) -> str | None:
        """What `word` says; None, here and in the other kinds, where click is to decide that."""
        return word or None


@value(frozen=True, slots=True)
class OneOf:
    """One of these words."""

    choices: tuple[str, ...]

    def read(self, word: str) -> str | None:
        """As above."""
        return word if word in self.choices else None


@value(frozen=True, slots=True)
class Whole:
    """A whole number from `least` to `most`, both inclusive."""

    least: int
    most: int | None = None

    def read(self, word: str) -> int | None:
        """As above."""
        if not (word.isascii() and word.isdecimal() and len(word) <= _MOST_DIGITS):
            return None
        number = int(word)
        return number if self.least <= number and (self.most is None or number <= self.most) else None


@value(frozen=True, slots=True)
class Duration:
    """A finite number above 0, which may be a fraction."""

    def read(self, word: str) -> float | None:
        """As above."""
        whole = Whole(1).read(word)
        return None if whole is None else float(whole)


Kind: TypeAlias = Text | OneOf | Whole | Duration
ANY_TEXT: Final = Text()


@value(frozen=True, slots=True)
class Argument:
    """A word at its place, which may be left out where it has a `default`."""

    parameter: str
    kind: Kind = ANY_TEXT
    default: str | None = None


@value(frozen=True, slots=True)
class Option:
    """An option `flag` with a value of a `kind`, or without one. A `repeated` one has a tuple of values.

    Its command gets it under `name`, and under that of the flag where that is empty. The `default` is shown
    in the help text. `variable` of the environment gives the value where no word does.
    """

    flag: str
    kind: Kind | None = ANY_TEXT
    short: str = ""
    name: str = ""
    repeated: bool = False
    metavar: str | None = None
    default: str | None = None
    variable: str | None = None
    help: str = ""

    @property
    def parameter(self) -> str:
        """The name under which a command gets the value."""
        return self.name or self.flag.removeprefix("--").replace("-", "_")

    @property
    def if_absent(self) -> object:
        """What a command gets where neither words nor environment have the option."""
        if self.kind is None:
            return False
        return () if self.repeated else self.default


Parameter: TypeAlias = Argument | Option


def limit_parameter(limit: LimitOption) -> Option:
    """The option of a limit; what is not given, in words or in the environment, is None."""
    return Option(
        f"--{limit.name}",
        Duration() if limit.is_duration else Whole(limit.least),
        metavar=limit.metavar,
        variable=limit.variable,
        help=f"{limit.summary}  [{limit.variable}; default: {in_words(limit.default)}]",
    )
