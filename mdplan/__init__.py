"""mdplan: safe, reviewable edits of Markdown, data and text files.

`Engine` has all verbs. Each takes decoded JSON, as every other surface does, and gives a report: what is
wrong with a request is in the report, and no exception. These are all public names; `__init__.pyi` has
their types. In the examples of the other names `engine` is this one:

>>> from mdplan import Engine
>>> engine = Engine.open(["."])

Look at a file, and plan what to change:

>>> [section.heading_path[-1] for section in engine.stat({"file": "guide.md", "depth": 2}).sections]
['Kettle guide', 'Install', 'Brew', 'Troubleshooting']
>>> batch = {"file": "guide.md", "edits": [
...     {"op": "replace_match", "pattern": "nightly", "replacement": "stable"},
... ]}
>>> plan = engine.plan(batch)
>>> print(plan.diff)  # doctest: +ELLIPSIS
diff --git a/guide.md b/guide.md
...
-The nightly firmware is fine for a first try.
+The stable firmware is fine for a first try.
...

Commit exactly that, and take it back:

>>> engine.apply({"planId": plan.plan_id}).applied
True
>>> engine.search({"pattern": "nightly firmware", "file": "guide.md"}).total_matches
0
>>> engine.undo().applied
True
>>> len(engine.history().transactions)
2
>>> engine.close()
"""

from importlib import import_module

__version__ = "0.2.0"

# The module of each name, imported on access. `import mdplan`, which every command starts with, loads nothing
# else, not even `typing`, since Ctrl-C that early prints a traceback.
_HOMES = {
    "ApplyReport": "mdplan.reports.plan",
    "AsyncEngine": "mdplan.engine.async_engine",
    "Code": "mdplan.diagnostics",
    "Diagnostic": "mdplan.diagnostics",
    "DoctorReport": "mdplan.reports.history",
    "Document": "mdplan.memory",
    "DocumentReport": "mdplan.memory",
    "DocumentSection": "mdplan.memory",
    "Durability": "mdplan.storage.filesystem",
    "Engine": "mdplan.engine.engine",
    "HistoryReport": "mdplan.reports.history",
    "Limits": "mdplan.limits",
    "PlanReport": "mdplan.reports.plan",
    "ReadReport": "mdplan.reports.read",
    "RecoverReport": "mdplan.reports.history",
    "Refused": "mdplan.diagnostics",
    "Report": "mdplan.reports.base",
    "SearchReport": "mdplan.reports.read",
    "Settings": "mdplan.settings",
    "Severity": "mdplan.diagnostics",
    "StatReport": "mdplan.reports.stat",
    "StorageRefused": "mdplan.storage.filesystem",
    "approved_only": "mdplan.engine.approval",
    "plan_text": "mdplan.memory",
    "reconcile": "mdplan.memory",
    "to_wire": "mdplan.reports.base",
    "tools": "mdplan.mcp.toolsets",
}

__all__ = ["__version__", *_HOMES]  # noqa: PLE0604 (names of a mapping)


def __getattr__(name: str) -> object:
    """Import the public name `name`."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(_HOMES[name]), name)
    return found


def __dir__() -> list[str]:
    """List all public names, imported or not."""
    return sorted({*globals(), *_HOMES})
