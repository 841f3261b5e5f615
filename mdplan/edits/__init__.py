"""Typed edits for Python callers: one class for each operation, and what they address.

An edit is an immutable mapping in the form that every surface takes (camelCase names, plain JSON values), so
that it goes wherever a mapping goes: into `Engine.plan`, into `Document.apply`, into `json.dumps`. Making
one checks it: a misspelt or missing argument is a `TypeError`, a value that mdplan does not accept is
`Refused`. `__init__.pyi`, which is generated, has the signatures for editors and type checkers.

>>> from mdplan import edits
>>> edit = edits.RenameHeading(heading="Brew", new_title="Brewing")
>>> dict(edit)
{'op': 'rename_heading', 'heading': 'Brew', 'newTitle': 'Brewing'}
>>> edits.ReplaceLines(lines=edits.Lines(3, 4), markdown="One line.", expected_text="Two.")["lines"]
{'start': 3, 'end': 4}
>>> edits.RenameHeading(heading="Brew", title="Brewing")
Traceback (most recent call last):
    ...
TypeError: RenameHeading() has no argument 'title'; did you mean 'new_title'?
"""

from mdplan.edits.edit_classes import Edit, Value, class_names, class_of
from mdplan.edits.edit_classes import SectionAddress as Section

__all__ = ["Edit", "Section", "Value", *class_names()]  # noqa: PLE0604


def __getattr__(name: str) -> type[Value]:
    """Return the class `name`, made on first use, because each class loads the model of its operation."""
    if name not in class_names():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = made = class_of(name)
    return made


def __dir__() -> list[str]:
    """Return all public names, including classes not made yet."""
    return sorted({*globals(), *__all__})
