"""A document with three words, and a plan that writes them as numbers."""

from typing import Any, Final

from mdplan.engine.engine import Engine

GUIDE: Final = "# Guide\n\none\n\n## B\n\ntwo\n\n## C\n\nthree\n"


def change(old: str, new: str) -> dict[str, Any]:
    """Return the edit that replaces the only `old`."""
    return {"op": "replace_match", "pattern": old, "replacement": new}


EDITS: Final = [change("one", "1"), change("two", "2"), change("three", "3")]


def plan(engine: Engine, *edits: object, **more: object) -> str:
    """Return the ID of a plan of `edits`, by default all three."""
    report = engine.plan({"file": "a.md", "edits": list(edits) or EDITS, **more})
    assert report.ok, report.error
    assert report.plan_id is not None
    return report.plan_id
