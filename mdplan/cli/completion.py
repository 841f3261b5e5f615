"""What the tab key offers beside commands, options and files: plans, transactions, operations.

A shell asks while somebody types, so only the newest are looked at, and a root that cannot be opened offers
nothing.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeAlias

import click

from mdplan.cli.console import shown

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from mdplan.engine.history import History
    from mdplan.storage.workspace import Workspace

Offer: TypeAlias = Callable[[click.Context, click.Parameter, str], "list[CompletionItem]"]
_PREFIX: Final = "sha256-"
_DIGITS: Final = 16
_NEWEST: Final = 30
_FILES_NAMED: Final = 2
REPORTS: Final = ("stat", "plan", "apply")


def plans(context: click.Context, parameter: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """IDs of saved plans, the last saved first, as short as other commands print them, with their files."""
    del parameter
    return [item for item in _plans(context, incomplete) if item.value.startswith(incomplete)]


def plans_and_files(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> "list[CompletionItem]":
    """The same for what may be a file as well."""
    # A shell forgets what came before a file, so that comes first; bash then looks for files if no plan fits.
    return [_item(incomplete, type="file"), *plans(context, parameter, incomplete)]


def transactions(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> "list[CompletionItem]":
    """IDs of transactions, the newest first, with their files."""
    del parameter
    return [item for item in _transactions(context) if item.value.startswith(incomplete)]


def topics(context: click.Context, parameter: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """Names of operations and commands."""
    group = context.find_root().command
    assert isinstance(group, click.Group)
    commands = [_item(name) for name in group.list_commands(context) if name.startswith(incomplete)]
    return [*operations(context, parameter, incomplete), *commands]


def operations(context: click.Context, parameter: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """Names of operations, with what they do."""
    from mdplan.operations import OPERATIONS
    from mdplan.reference.operations import operation_reference

    del context, parameter
    fitting = [op for op in OPERATIONS if op.startswith(incomplete)]
    return [_item(op, help=operation_reference(op).summary) for op in fitting]


def schema_names(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> "list[CompletionItem]":
    """Names of the schemas of the kind that the word before names."""
    if context.params.get("kind") == "op":
        return operations(context, parameter, incomplete)
    reports = REPORTS if context.params.get("kind") == "report" else ()
    return [_item(name) for name in reports if name.startswith(incomplete)]


def _item(text: str, **more: str) -> "CompletionItem":
    from click.shell_completion import CompletionItem

    return CompletionItem(text, **more)


def _plans(context: click.Context, incomplete: str) -> "Iterator[CompletionItem]":
    from mdplan.diagnostics import Diagnostic
    from mdplan.engine.plan_library import PlanLibrary
    from mdplan.settings import Settings

    opened = _opened(context)
    if opened is None:
        return
    library = PlanLibrary(*opened, Settings().plans_kept_days)
    # Digits are enough for every command, so who began with them goes on with them.
    prefix = _PREFIX if _PREFIX.startswith(incomplete[: len(_PREFIX)]) else ""
    for stored, _ in library.waiting()[:_NEWEST]:
        loaded = library.load(stored.plan_id)
        if not isinstance(loaded, Diagnostic) and not loaded[0].is_no_op:
            digits = stored.plan_id.removeprefix(_PREFIX)[:_DIGITS]
            yield _item(prefix + digits, help=_named(change.path for change in loaded[0].files))


def _transactions(context: click.Context) -> "Iterator[CompletionItem]":
    from mdplan.diagnostics import Diagnostic

    opened = _opened(context)
    if opened is None:
        return
    for past in islice(opened[1].newest_first(), _NEWEST):
        if not isinstance(past, Diagnostic):
            yield _item(past.id, help=_named(file.path for file in past.stored.files))


def _opened(context: click.Context) -> "tuple[Workspace, History] | None":
    """The roots that the words before name, or the one that is found; None where they cannot be opened."""
    from mdplan.engine.history import History
    from mdplan.storage.fs.errors import StorageRefused
    from mdplan.storage.fs.root import find_root
    from mdplan.storage.workspace import Workspace

    try:
        workspace = Workspace.open(context.params.get("roots") or (find_root("."),), (), ())
    except StorageRefused:
        return None
    return workspace, History(workspace)


def _named(paths: Iterable[str]) -> str:
    """The first of `paths`, and how many there are besides."""
    names = [shown(path) for path in paths]
    more = len(names) - _FILES_NAMED
    return ", ".join(names[:_FILES_NAMED]) + (f" and {more} more" if more > 0 else "")
