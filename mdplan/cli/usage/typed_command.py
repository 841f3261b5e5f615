"""The command line as it was typed, for hints that repeat it with a word corrected."""

import shlex
from collections.abc import Sequence
from typing import Final

import click

_WORDS: Final = "mdplan.typed_words"


def remember(context: click.Context, words: Sequence[str]) -> None:
    """Keep the `words` after `mdplan` for `retyped`."""
    context.meta[_WORDS] = tuple(words)


def retyped(old: str, new: str) -> str | None:
    """The command that runs, with the word `new` in place of `old`; None where that was not typed once."""
    context = click.get_current_context(silent=True)
    words = context.meta.get(_WORDS, ()) if context is not None else ()
    places = [index for index, word in enumerate(words) if word == old or word.endswith(f"={old}")]
    if len(places) != 1:
        return None
    (at,) = places
    meant = words[at].removesuffix(old) + new
    return shlex.join(["mdplan", *words[:at], meant, *words[at + 1 :]])
