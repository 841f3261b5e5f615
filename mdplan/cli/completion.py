"""Completed values besides commands, options and files: plans, transactions, operations.

A shell asks while somebody types, so only the newest are examined, and a root that cannot be opened offers
nothing.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeAlias

import click

from mdplan.cli.terminal import shown

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from mdplan.engine.history import History
    from mdplan.markdown.outline import Outline
    from mdplan.storage.root import Workspace


Completion: TypeAlias = Callable[[click.Context, click.Parameter, str], "list[CompletionItem]"]

_PREFIX: Final = "sha256-"

_DIGITS: Final = 12

_NEWEST: Final = 30

_FILES_NAMED: Final = 2

_WORDS_TRIED: Final = 4

REPORTS: Final = ("stat", "plan", "apply")

SCHEMA_KINDS: Final = ("batch", "plan", "report", "op", "manifest")


def plans(context: click.Context, parameter: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """IDs of saved plans, the last saved first, as short as other commands print them, with their files."""
    del parameter
    return [item for item in _plans(context, incomplete) if item.value.startswith(incomplete)]


def plans_and_files(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> "list[CompletionItem]":
    """Those that were not applied, and files."""
    # A shell forgets what came before a file, so that comes first; bash then looks for files if no plan fits.
    del parameter
    offers = _plans(context, incomplete, omits_applied=True)
    return [_item(incomplete, type="file"), *(each for each in offers if each.value.startswith(incomplete))]


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
    from mdplan.requests.schemas import operation_reference

    del context, parameter
    fitting = [op for op in OPERATIONS if op.startswith(incomplete)]
    return [_item(op, help=operation_reference(op).summary) for op in fitting]


def headings(context: click.Context, parameter: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """Headings of the file that the words before name; a heading that repeats comes with its path."""
    del parameter
    found: list[CompletionItem] = []
    for outline in _outlines(context):
        sections = [section for section in outline.sections if not section.is_root]
        titles = [section.title for section in sections]
        for section in sections:
            name = section.title if titles.count(section.title) == 1 else " / ".join(section.path)
            if name.startswith(incomplete):
                found.append(_item(name, help=f"line {section.first_line}"))
    return found


def front_matter_keys(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> "list[CompletionItem]":
    """Keys of the front matter of the file that the words before name."""
    del parameter
    keys = [key for outline in _outlines(context) for key in _keys(outline)]
    return [_item(key) for key in keys if key.startswith(incomplete)]


def assignments(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> "list[CompletionItem]":
    """Files, and ``KEY=`` for the keys of the front matter of the file that was named first."""
    keys = [_item(f"{item.value}=") for item in front_matter_keys(context, parameter, incomplete)]
    return [_item(incomplete, type="file"), *keys] if "=" not in incomplete else []


def task_items(context: click.Context, parameter: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """Texts of the tasks of the file that the words before name, with whether they are done."""
    del parameter
    found: list[CompletionItem] = []
    for outline in _outlines(context):
        items = [item for each in outline.lists.all for item in each.items if item.mark is not None]
        fitting = [item for item in items if item.text.startswith(incomplete)]
        found += (_item(item.text, help="open" if item.mark == " " else "done") for item in fitting)
    return found


def schema_kinds(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> "list[CompletionItem]":
    """What there are schemas of."""
    del context, parameter
    return [_item(kind) for kind in SCHEMA_KINDS if kind.startswith(incomplete)]


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


def _plans(
    context: click.Context, incomplete: str, *, omits_applied: bool = False
) -> "Iterator[CompletionItem]":
    from mdplan.diagnostics import Diagnostic
    from mdplan.engine.plans import PlanLibrary
    from mdplan.settings import Settings

    opened = _opened(context)
    if opened is None:
        return
    library = PlanLibrary(*opened, Settings().plans_kept_days)
    # Digits are enough for every command; who began with the prefix goes on with it.
    prefix = _PREFIX if incomplete and _PREFIX.startswith(incomplete[: len(_PREFIX)]) else ""
    for stored, _ in library.pending()[:_NEWEST]:
        if omits_applied and opened[1].has_applied(stored.plan_id, stored.saved_at):
            continue
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
    from mdplan.storage.filesystem import StorageRefused
    from mdplan.storage.root import Workspace, find_root

    try:
        workspace = Workspace.open(context.params.get("roots") or (find_root("."),), (), ())
    except StorageRefused:
        return None
    return workspace, History(workspace)


def _outlines(context: click.Context) -> "Iterator[Outline]":
    """Outlines of the files that the words before name; files that cannot be read are passed over."""
    from mdplan.diagnostics import Diagnostic
    from mdplan.documents.files import OutlinedFiles
    from mdplan.settings import Settings

    names = next((given for name in ("files", "file", "words") if (given := context.params.get(name))), ())
    opened = _opened(context) if names else None
    if opened is None:
        return
    files = OutlinedFiles.of(opened[0], Settings())
    # Other words, as those to replace, are seldom names of files.
    for name in (names,) if isinstance(names, str) else names[:_WORDS_TRIED]:
        located = files.workspace.locate(os.path.abspath(name))  # noqa: PTH100 (links stay)
        outline = located if isinstance(located, Diagnostic) else files.open(located, None, None)
        if not isinstance(outline, Diagnostic):
            yield outline


def _keys(outline: "Outline") -> list[str]:
    """Keys of the front matter, dotted where they are in maps."""
    content = outline.front_matter_content
    places = getattr(content, "places", {})
    return [".".join(map(str, key)) for key in places if all(isinstance(part, str) for part in key)]


def _named(paths: Iterable[str]) -> str:
    """The first of `paths`, and how many there are besides."""
    names = [shown(path) for path in paths]
    more = len(names) - _FILES_NAMED
    return ", ".join(names[:_FILES_NAMED]) + (f" and {more} more" if more > 0 else "")
