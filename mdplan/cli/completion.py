"""Tab completion of values: plans, transactions, operations, headings, keys, tasks.

A shell asks while somebody types, so only the newest are examined, and a root that cannot be opened offers
nothing.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeAlias

import click

from mdplan.cli.terminal import shown_paths
from mdplan.storage.names import absolute

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from mdplan.documents.workspace import Workspace
    from mdplan.engine.history import History
    from mdplan.markdown.outline import Outline


Completion: TypeAlias = Callable[[click.Context, click.Parameter, str], "list[CompletionItem]"]
_Offer: TypeAlias = "Callable[[click.Context, str], Iterable[CompletionItem]]"
_PREFIX: Final = "sha256-"
_DIGITS: Final = 12
_NEWEST: Final = 30
_FILES_NAMED: Final = 2
_WORDS_TRIED: Final = 4
REPORTS: Final = ("stat", "plan", "apply")
SCHEMA_KINDS: Final = ("batch", "plan", "report", "op", "manifest")


def _completes(offer: _Offer, *, with_files: bool = False) -> Completion:
    """Return the completion that offers what `offer` yields, if it continues the incomplete word.

    The shell drops everything before a file name, so files are offered first; bash tries them if nothing
    else fits.
    """

    def complete(context: click.Context, _: click.Parameter, incomplete: str) -> "list[CompletionItem]":
        files = [_item(incomplete, type="file")] if with_files and "=" not in incomplete else []
        return [*files, *(item for item in offer(context, incomplete) if item.value.startswith(incomplete))]

    return complete


def _transactions(context: click.Context, _: str) -> "Iterator[CompletionItem]":
    """Offer IDs of transactions, the newest first, with their files."""
    from mdplan.diagnostics import Diagnostic

    opened = _opened(context)
    for past in islice(opened[1].newest_first(), _NEWEST) if opened is not None else ():
        if not isinstance(past, Diagnostic):
            paths = [file.path for file in past.stored.record.entries]
            yield _item(past.id, help=shown_paths(paths, _FILES_NAMED))


def _topics(context: click.Context, incomplete: str) -> "Iterator[CompletionItem]":
    """Offer names of operations and commands."""
    group = context.find_root().command
    assert isinstance(group, click.Group)
    yield from _operations(incomplete)
    yield from map(_item, group.list_commands(context))


def _headings(context: click.Context, _: str) -> "Iterator[CompletionItem]":
    """Offer headings of the file on the command line; repeated headings are offered as paths."""
    for outline in _outlines(context):
        sections = [section for section in outline.sections if not section.is_root]
        titles = [section.title for section in sections]
        for section in sections:
            name = section.title if titles.count(section.title) == 1 else " / ".join(section.path)
            yield _item(name, help=f"line {section.first_line}")


def _keys(context: click.Context, _: str, sign: str = "") -> "Iterator[CompletionItem]":
    """Offer the keys of the front matter of the files, dotted if they are in maps, with the `sign`."""
    for outline in _outlines(context):
        # Front matter that cannot be read has no places, and its class need not be loaded to know.
        for key in getattr(outline.front_matter_content, "places", ()):
            if all(isinstance(part, str) for part in key):
                yield _item(".".join(key) + sign)


def _tasks(context: click.Context, _: str) -> "Iterator[CompletionItem]":
    """Offer texts of the tasks of the file that the words before name, with whether they are done."""
    from mdplan.markdown.blocks import is_done

    for outline in _outlines(context):
        items = [item for listing in outline.lists.all for item in listing.items if item.mark is not None]
        yield from (_item(item.text, help="done" if is_done(item.mark) else "open") for item in items)


def _schema_names(context: click.Context, incomplete: str) -> "Iterator[CompletionItem]":
    """Offer names of schemas of the kind on the command line."""
    if context.params.get("kind") == "op":
        return _operations(incomplete)
    return map(_item, REPORTS if context.params.get("kind") == "report" else ())


def _operations(incomplete: str) -> "Iterator[CompletionItem]":
    """Yield the names of operations with summaries."""
    from mdplan.operations import OPERATIONS
    from mdplan.requests.schemas import operation_reference

    # Summaries are slow to load, so only matching names get one.
    fitting = (op for op in OPERATIONS if op.startswith(incomplete))
    return (_item(op, help=operation_reference(op).summary) for op in fitting)


def _item(text: str, **more: str) -> "CompletionItem":
    from click.shell_completion import CompletionItem

    return CompletionItem(text, **more)


def _plans(
    context: click.Context, incomplete: str, *, omits_applied: bool = False
) -> "Iterator[CompletionItem]":
    """Offer IDs of saved plans, the last saved first, as short as other commands print them."""
    from mdplan.engine.engine import Engine
    from mdplan.engine.reviews import ReviewService

    opened = _opened(context)
    # Digits are enough for every command; who began with the prefix goes on with it.
    prefix = _PREFIX if incomplete and _PREFIX.startswith(incomplete[: len(_PREFIX)]) else ""
    for entry in ReviewService(Engine(opened[0])).entries(_NEWEST) if opened is not None else ():
        if entry.state.may_be_applied or not omits_applied:
            paths = [file.path for file in entry.review.files]
            digits = entry.review.plan_id.removeprefix(_PREFIX)[:_DIGITS]
            yield _item(prefix + digits, help=shown_paths(paths, _FILES_NAMED))


def _opened(context: click.Context) -> "tuple[Workspace, History] | None":
    """Return the roots on the command line or the detected one; None if they cannot be opened."""
    from mdplan.documents.workspace import Workspace, find_root
    from mdplan.engine.history import History
    from mdplan.storage.filesystem import StorageRefused

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
        located = files.workspace.locate(absolute(name))
        outline = located if isinstance(located, Diagnostic) else files.open(located, None, None)
        if not isinstance(outline, Diagnostic):
            yield outline


# --- What the arguments and options of commands complete

plans: Final = _completes(_plans)
open_plans: Final = _completes(partial(_plans, omits_applied=True))
plans_and_files: Final = _completes(partial(_plans, omits_applied=True), with_files=True)
transactions: Final = _completes(_transactions)
topics: Final = _completes(_topics)
headings: Final = _completes(_headings)
files_and_headings: Final = _completes(_headings, with_files=True)
files_and_tasks: Final = _completes(_tasks, with_files=True)
task_items: Final = _completes(_tasks)
front_matter_keys: Final = _completes(_keys)
# ``KEY=`` for the keys of the front matter of the file that was named first.
assignments: Final = _completes(partial(_keys, sign="="), with_files=True)
schema_kinds: Final = _completes(lambda _, __: map(_item, SCHEMA_KINDS))
schema_names: Final = _completes(_schema_names)
