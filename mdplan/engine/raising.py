"""Refusals as exceptions, for callers who ask for that."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Final

from mdplan.reports.base import Report

_VERBS: Final = (
    *("stat", "read", "search", "plan", "show", "replan", "apply", "undo"),
    *("history", "transaction", "recover", "doctor"),
)


def raise_refusals(engine: object) -> None:
    """Let every verb of `engine` return only reports that are `ok`, and raise `Refused` for others."""
    for name in _VERBS:
        # An engine has no slots: the wrapper hides the method of its class.
        setattr(engine, name, _raising(getattr(engine, name)))


def _raising(verb: Callable[..., Report]) -> Callable[..., Report]:
    @wraps(verb)
    def call(*arguments: Any, **named: Any) -> Report:  # noqa: ANN401 (those of any verb)
        return verb(*arguments, **named).unwrap()

    return call
