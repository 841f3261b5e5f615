"""Choices of a person in the terminal review, and the dialog that asks for them."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from mdplan.cli.review.quoted_diff import QuotedLines


@dataclass(slots=True)
class Choices:
    """The answers of a person: accepted (True) or rejected edits, and comments, by index of the edit.

    `line_comments` are on lines, by their place. `viewed` are indexes of files whose edits were shown.
    """

    answers: dict[int, bool] = field(default_factory=dict)
    comments: dict[int, str] = field(default_factory=dict)
    line_comments: dict[QuotedLines, str] = field(default_factory=dict)
    viewed: set[int] = field(default_factory=set)
    message: str = ""

    @property
    def rejected(self) -> frozenset[int]:
        """The edits that were rejected."""
        return frozenset(index for index, accepted in self.answers.items() if not accepted)

    @property
    def n_comments(self) -> int:
        """How many comments there are."""
        return len(self.comments) + len(self.line_comments) + bool(self.message)

    @property
    def is_empty(self) -> bool:
        """Whether nothing would be lost."""
        return not self.answers and not self.n_comments

    def open_edits(self, indexes: Collection[int]) -> list[int]:
        """Those of `indexes` without an answer."""
        return [index for index in indexes if index not in self.answers]


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminalDialog:
    """How a review talks to its person.

    `ask` gives the line that is typed after a question, None at the end of the input. `tell` writes a text,
    `page` shows it in a pager where it is longer than the screen, `edit` opens an editor with it and gives
    what was saved, None where nothing was.
    """

    ask: Callable[[str], str | None]
    tell: Callable[[str], None]
    page: Callable[[str], None]
    edit: Callable[[str], str | None]

    def key(self, question: str, keys: str, help_text: str) -> str | None:
        """One of `keys`, or ``/`` with what follows it; None at the end of the input.

        What is none of them is answered with `help_text`.
        """
        while True:
            line = self.ask(question)
            if line is None:
                return None
            typed = line.strip()
            if typed.startswith("/") and "/" in keys:
                return typed
            if typed and typed[0].lower() in keys:
                return typed[0].lower()
            self.tell(help_text)

    def agrees(self, question: str) -> bool:
        """Whether the person answers with yes."""
        return (self.ask(f"{question} [y/N] ") or "").strip().lower() in ("y", "yes")
