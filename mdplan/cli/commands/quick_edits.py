"""Short commands for the most frequent edits: `set`, `replace`, `append` and `tick`."""

import os
import sys
from collections.abc import Mapping
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from mdplan.cli import proposal
from mdplan.cli.completion import assignments, files_and_headings, files_and_tasks, headings
from mdplan.cli.field_types import KEY, assignment, edit_text, read_content, section_target, whole_words
from mdplan.cli.options import flag, option
from mdplan.cli.session import Session, engine_command
from mdplan.cli.suggestions import Misuse
from mdplan.cli.terminal import is_terminal
from mdplan.diagnostics import Code, Diagnostic, Exit, Refused
from mdplan.markdown.format_detection import document_format
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.source import DocumentFormat, may_contain
from mdplan.words import Command, Text, say

if TYPE_CHECKING:
    from mdplan.markdown.lists import ListItem
    from mdplan.markdown.outline import Outline

_SED: Final = lazy_pattern(r"s(?P<mark>[/|#,:])(?P<old>.+)(?P=mark)(?P<new>.*)(?P=mark)[gi]*")
_TASK: Final = lazy_pattern(r"(?:[-*+]|\d+[.)])?\s*\[(?:[^\[\]\s]| )\]\s+")
# The key ends at the first sign that is not in brackets, as in `steps[name=Build].run=make`.
_KEY: Final = lazy_pattern(r"(?:\\.|[^=\[\\]|\[(?:\\.|[^\]\\])*\])+")


@engine_command("set")
@click.argument("words", nargs=-1, required=True, metavar="FILE... KEY=VALUE...", shell_complete=assignments)
@proposal.choice_options
def set_command(session: Session, *, words: tuple[str, ...], **choice: bool | str | None) -> Exit:
    """VALUE is text as you type it, except 3, 1.5, true, false, null, a date, [a, b] and {a: b}.

    In quotes ('ver="3"') these are text too. KEY is dotted inside maps (author.name, nav[0].Home), and in an
    INI file it follows its section (server.port).
    """
    names = [word for word in words if "=" not in word or os.path.lexists(word)]
    pairs = [word for word in words if word not in names]
    known = (word for word in names if set("*?[") & set(word) or Path(session.folder(), word).exists())
    strange = set(names) - set(known) if not pairs else set()
    files = [] if strange else session.files(names)
    if not files or not pairs:
        raise Misuse(
            "a file and KEY=VALUE are needed" if not pairs else "the file is missing", _set_hint(names)
        )
    dotted = next((pair for pair in pairs if pair.startswith(".")), None)
    if dotted is not None:
        meant = Command("set", *names, *(pair.lstrip(".") for pair in pairs))
        raise Misuse(f"`{dotted}` begins with a dot, and keys do not", say("write {}", meant))
    for pair in pairs:
        _refuse_item(pair, names)
    edits = {file: _edits_of(_format_of(session, file), pairs) for file in files}
    return proposal.propose_short(session, edits, choice)


# What refers to a group in the replacement of a regular expression, up to the number or name.
_REFERENCE: Final = lazy_pattern(r"\\(?=\d|g<)")


@engine_command("replace")
@click.argument("words", nargs=-1, required=True, metavar="OLD NEW FILE...", type=click.Path())
@option("--in section", "Replace in this section only.", "SECTION", shell_complete=headings)
@flag("--regex -E", "OLD is a regular expression; NEW may use \\1.")
@flag("--ignore-case -i", "Match upper and lower case.")
@flag("--word -w", "Match whole words only.")
@option("--count -c", "Fail unless exactly this many places match.", type=click.IntRange(min=0))
@flag("--patch -p picks", "Ask for each place.")
@flag("--code", "Replace in code, HTML and link targets too.")
@proposal.choice_options
def replace(session: Session, *, words: tuple[str, ...], **given: Any) -> Exit:  # noqa: ANN401 (of many types)
    """Code, link targets, front matter and HTML stay unchanged, unless --code is given.

    Also finds words wrapped over a line end. Files without a match stay unchanged; no match in any file is an
    error.
    """
    old, new, *names = _replaced(words, session.folder())
    files = session.files(names)
    counts_all = given["count"] is not None or len(files) > 1
    edit: dict[str, Any] = {
        "op": "replace_match",
        "pattern": old,
        "replacement": new,
        "matchSelection": "all",
        "minMatches": 0 if counts_all else 1,
    }
    if given["regex"] or given["word"]:
        edit["matchType"] = "regex"
    if given["word"]:
        edit["pattern"] = whole_words(old, is_regex=given["regex"])
    if given["word"] and not given["regex"] and _REFERENCE.search(new):
        # NEW is plain text here: an empty group after the backslash keeps `\1` from naming a group.
        edit["pattern"] = f"(?P<empty>){edit['pattern']}"
        edit["replacement"] = _REFERENCE.sub(r"\\\\g<empty>", new)
    if given["ignore_case"]:
        edit["caseSensitive"] = False
    if given["code"]:
        edit["include"] = list(proposal.CODE_KINDS)
    if given["section"]:
        edit |= section_target(given["section"])
    files = _with_text(session, files, edit)
    search = session.command_line("search", old, *names)
    check = proposal.check_count(given["count"], search) if counts_all else None
    return proposal.propose_short(session, {name: [edit] for name in files}, given, given["section"], check)


@engine_command("append")
@click.argument(
    "words",
    nargs=-1,
    required=True,
    metavar="FILE... HEADING [TEXT|@FILE|-]",
    shell_complete=files_and_headings,
)
@option("--text option", "TEXT, as an option.", "TEXT|@FILE|-")
@proposal.choice_options
def append(
    session: Session, *, words: tuple[str, ...], option: str | None, **choice: bool | str | None
) -> Exit:
    """Without TEXT your editor opens; @FILE is the text of a file, - is standard input.

    With several files, a folder or a glob, files without HEADING stay unchanged.
    """
    file, *others = words
    _check_order("append", file, tuple(others[:2]), session.folder())
    if not others:
        raise Misuse("the heading is missing", say("write {}", Command("append", file, "HEADING", "TEXT")))
    # Files come first; the last two words are the heading and the text.
    has_text = len(others) > 1 and (option is None or not Path(session.folder(), others[0]).is_file())
    if option is not None and has_text:
        raise Misuse("the text is given twice", "give it as the last word or with `--text`")
    *more, section = others[:-1] if has_text else others
    text = others[-1] if has_text else option
    if text is None and is_terminal(sys.stdin):
        content = edit_text("", ".md")
    else:
        # Nothing in a pipe, or a closed one, is not text, and "" is an empty one.
        content = read_content(text) if text is not None else read_content("-") or None
    if content is None:
        raise Misuse("there is no text to append", say("write {}", Command("append", file, section, "TEXT")))
    edit = {"op": "append_to_section", **section_target(section), "markdown": content}
    return proposal.propose_short(
        session, {name: [edit] for name in session.files([file, *more])}, choice, section
    )


@engine_command("tick")
@click.argument("words", nargs=-1, required=True, metavar="FILE... ITEM...", shell_complete=files_and_tasks)
@flag("--off", "Clear the box instead.")
@option("--in section", "Look in this section only.", "SECTION", shell_complete=headings)
@proposal.choice_options
def tick(
    session: Session, *, words: tuple[str, ...], off: bool, section: str | None, **choice: bool | str | None
) -> Exit:
    """ITEM is the text of a task, or a part that no other task of the file contains.

    With several files, a folder or a glob, files without ITEM stay unchanged.
    """
    more = takewhile(lambda word: Path(session.folder(), word).is_file(), words[1:])
    names = [words[0], *more]
    items = words[len(names) :]
    _check_order("tick", words[0], items, session.folder())
    if not items:
        raise Misuse("the task is missing", say("write {}", Command("tick", names[0], "ITEM")))
    files = session.files(names)
    target = section_target(section) if section else {}
    edits: dict[str, list[dict[str, Any]]] = {}
    for file in files:
        outline = _outline(session, file)
        for item in items:
            text = _without_box(item)
            if outline is not None and section is None:
                tasks = _tasks_named(outline, text)
                if len(files) > 1 and not tasks:
                    continue
                text = tasks[0].text if len(tasks) == 1 else text
            edits.setdefault(file, []).append({"op": "set_task", "item": text, "done": not off, **target})
    if not edits:
        raise Refused(
            Code.MATCH_COUNT_MISMATCH.problem(f"no file has a task `{items[0]}`", "name it by its text")
        )
    return proposal.propose_short(session, edits, choice, section)


def _with_text(session: Session, files: list[str], edit: Mapping[str, Any]) -> list[str]:
    """Return the `files` in which `edit` may match, and unreadable ones; if there are none, one file.

    The others are not parsed.
    """
    # Loaded here: it loads pydantic.
    from mdplan.requests.spellings import operation_named

    model = operation_named(edit["op"])
    texts = model.required_texts(edit) if model is not None and len(files) > 1 else None
    if texts is None:
        return files
    documents = session.open_files()
    workspace = documents.workspace

    def is_planned(file: str) -> bool:
        name = workspace.locate(session.named(file))
        content = name if isinstance(name, Diagnostic) else workspace.read(name, documents.max_file_bytes)
        if isinstance(content, Diagnostic) or isinstance(name, Diagnostic):
            return True
        may_match = any(may_contain(content.data, None, text) for text in texts)
        return may_match or isinstance(documents.decode(name, content.data, None), Diagnostic)

    planned = []
    with session.console.progress("searching") as show:
        for number, file in enumerate(files):
            show(number, len(files))
            planned += [file] if is_planned(file) else []
    return planned or files[:1]


def _check_order(command: str, file: str, words: tuple[str, ...], folder: str) -> None:
    """Raise a usage error if one of the `words` after the missing `file` is a file, which must come first."""
    named = [word for word in words if word and Path(folder, word).is_file()]
    if len(named) == 1 and not Path(folder, file).exists():
        others = [word for word in words if word != named[0]]
        raise Misuse("the file comes first", Text("write ", Command(command, named[0], file, *others)))


def _replaced(words: tuple[str, ...], folder: str) -> tuple[str, ...]:
    """OLD, NEW and the files; a usage error that says what is missing, or in another order."""
    is_file = [bool(word) and Path(folder, word).is_file() for word in words]
    sed = _SED.fullmatch(words[0])
    if sed is not None and len(words) <= 2:
        file = words[1] if len(words) == 2 else "FILE"
        meant = Command("replace", sed["old"], sed["new"], file)
        raise Misuse("the text and its replacement are two arguments", say("write {}", meant))
    if len(words) > 2 and is_file[0] and not any(is_file[1:]) and not set("*?[") & set(words[-1]):
        raise Misuse("the files come last", say("write {}", Command("replace", *words[1:], words[0])))
    if len(words) < 3:
        missing = (
            "the new text is" if is_file[-1] else "the files are" if len(words) == 2 else "NEW and FILE are"
        )
        new = "NEW" if is_file[-1] or len(words) < 2 else words[1]
        meant = Command("replace", words[0], new, words[-1] if is_file[-1] else "FILE")
        raise Misuse(f"{missing} missing", say("write {}; '' as the new text deletes", meant))
    return words


def _format_of(session: Session, file: str) -> DocumentFormat:
    """Return the format of `file` by its name or content; Markdown for one that cannot be read."""
    named = document_format(file, "")
    outline = _outline(session, file) if named is DocumentFormat.TEXT else None
    return outline.format if outline is not None else named


def _edits_of(format_: DocumentFormat, pairs: list[str]) -> list[dict[str, Any]]:
    """Return the edits that make the assignments `pairs` in a file of this format."""
    if format_ is DocumentFormat.INI:
        return list(map(_ini_edit, pairs))
    assigned = list(map(_assigned, pairs))
    values, texts = ({row[0]: row[part] for row in assigned} for part in (1, 2))
    (key, value), *more = values.items()
    edit = {"op": "set_value", **({"values": values} if more else {"key": key, "value": value})}
    # Front matter may be made; JSON has no dates.
    edit |= {} if format_ in _DATA else {"createIfMissing": True}
    return [edit | ({} if format_ is DocumentFormat.JSON else _dates(texts))]


_DATA: Final = frozenset({DocumentFormat.YAML, DocumentFormat.JSON, DocumentFormat.TOML})


def _dates(texts: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the field `dates` for values typed as `texts`: quoted ones are not dates."""
    from mdplan.cli.typed_values import is_date, is_decimal, is_quoted

    dates = [key for key, text in texts.items() if is_date(text) or is_decimal(text)]
    return {"dates": dates} if dates or any(map(is_quoted, texts.values())) else {}


def _assigned(pair: str) -> tuple[str, Any, str]:
    """Return key, value and its text from ``KEY=VALUE``; brackets of the key may contain an equals sign."""
    key = _KEY.match(pair)
    if key is None or pair[key.end() : key.end() + 1] != "=" or not key[0].strip():
        is_apart = pair.startswith("=") or pair.endswith("=")
        hint = "write no spaces around `=`" if is_apart else "write a bracket in a name as `\\\\["
        raise Misuse(f"expected KEY=VALUE, not `{pair}`", hint)
    text = pair[key.end() + 1 :]
    _, value = assignment(is_typed=True).convert(f"key={text}", None, None)
    return KEY.convert(key[0].strip(), None, None), value, text


def _refuse_item(pair: str, names: list[str]) -> None:
    """Raise a usage error for ``KEY+=VALUE`` and ``KEY-=VALUE``, which other commands do."""
    key, sign, value = pair.partition("=")
    op = {"+": "add_to_list", "-": "remove_from_list"}.get(key[-1:])
    if sign and op is not None:
        meant = Command("edit", op, *names, "--key", key[:-1], "--value", value)
        raise Misuse(f"`{pair}` is no KEY=VALUE", say("for an item of a list: {}", meant))


def _ini_edit(pair: str) -> dict[str, Any]:
    path, value = assignment(is_typed=False).convert(pair, None, None)
    section, dot, key = path.rpartition(".")
    return {"op": "set_value", **({"section": section} if dot else {}), "key": key, "value": value}


def _set_hint(names: list[str]) -> str:
    """Return the usage of `mdplan set` with the given words."""
    file = names[0] if names else "guide.md"
    key, colon, value = (names[1] if len(names) > 1 else "").partition(":")
    if colon:
        value = value or " ".join(names[2:])
        pair = f"{key}={value.strip()}"
    elif len(names) == 3:
        pair = f"{names[1]}={names[2]}"
    else:
        pair = f"{names[1]}=VALUE" if len(names) == 2 else "draft=false"
    return say("write {}", Command("set", file, pair))


def _outline(session: Session, file: str) -> "Outline | None":
    """Return the outline of `file`; None if it cannot be read, which the plan then reports."""
    files = session.open_files()
    located = files.workspace.locate(session.named(file))
    outline = located if isinstance(located, Diagnostic) else files.open(located, None, None)
    return None if isinstance(outline, Diagnostic) else outline


def _without_box(text: str) -> str:
    box = _TASK.match(text)
    return text[box.end() :] if box else text


def _tasks_named(outline: "Outline", part: str) -> "list[ListItem]":
    """Return the tasks with the text `part`, or else those that contain it, ignoring case."""
    tasks = [item for each in outline.lists.all for item in each.items if item.mark is not None]
    exact = [item for item in tasks if item.text == part]
    return exact or [item for item in tasks if part.casefold() in item.text.casefold()]
