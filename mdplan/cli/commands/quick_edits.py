"""Short commands for the most frequent edits: `set`, `replace`, `append` and `tick`."""

import os
import re
import shlex
import sys
from pathlib import Path
from typing import Any, Final

import click

from mdplan.cli.completion import assignments, headings, task_items
from mdplan.cli.edits.content import edit_text, read_content
from mdplan.cli.edits.field_types import AssignmentType, section_target
from mdplan.cli.edits.proposal import (
    ApplyOptions,
    batch_of,
    check_count,
    choice_options,
    expand_globs,
    propose,
)
from mdplan.cli.session import Session, engine_command
from mdplan.cli.usage.command import command
from mdplan.cli.usage.misuse import Misuse
from mdplan.diagnostics import Diagnostic, Exit
from mdplan.limit_options import BATCHES, COMMITS, FILES, HISTORY, PATTERNS
from mdplan.reports.plan import ApplyReport

_SED: Final = re.compile(r"s(?P<mark>[/|#,:])(?P<old>.+)(?P=mark)(?P<new>.*)(?P=mark)[gi]*")
_LIMITS = (FILES, PATTERNS, BATCHES, COMMITS, HISTORY)
_INI_SUFFIXES = (".ini", ".cfg", ".conf")


@command(name="set", example="mdplan set guide.md draft=false 'tags=[tea, hot]'")
@click.argument("words", nargs=-1, required=True, metavar="FILE... KEY=VALUE...", shell_complete=assignments)
@choice_options
@engine_command(ApplyReport, *_LIMITS, tells_people=True)
def set_command(session: Session, *, words: tuple[str, ...], **choice: bool) -> Exit:
    """Set front matter keys, or keys of an INI file.

    VALUE has the types of YAML: true, 3, [a, b]; quotes make text. KEY is dotted inside of maps
    (author.name), and in an INI file behind its section (server.port).
    """
    names = [word for word in words if "=" not in word or os.path.lexists(word)]
    pairs = [word for word in words if word not in names]
    strange = [word for word in names if not _is_name(word, session.folder())] if not pairs else []
    files = [] if strange else expand_globs(names, session.folder())
    if not files or not pairs:
        raise Misuse(
            "a file and KEY=VALUE are needed" if not pairs else "the file is missing", _set_hint(names)
        )
    ini = [file for file in files if file.lower().endswith(_INI_SUFFIXES)]
    if ini and len(ini) < len(files):
        raise Misuse("INI files and front matter are edited in separate commands")
    edits = [_ini_edit(pair) for pair in pairs] if ini else [_front_matter_edit(pairs)]
    return propose(session, batch_of(session, files, edits), ApplyOptions(**choice))


@command(example="mdplan replace nightly stable guide.md --in Install")
@click.argument("words", nargs=-1, required=True, metavar="OLD NEW FILE...", type=click.Path())
@click.option(
    "--in", "section", metavar="SECTION", shell_complete=headings, help="Replace in this section only."
)
@click.option("--regex", "-E", is_flag=True, help="OLD is a regular expression; NEW may use \\1.")
@click.option("--ignore-case", "-i", is_flag=True, help="Match upper and lower case.")
@click.option("--count", "-c", type=click.IntRange(min=0), help="Fail unless exactly this many places match.")
@click.option("--code", is_flag=True, help="Replace in code, HTML and link targets too.")
@choice_options
@engine_command(ApplyReport, *_LIMITS, tells_people=True)
def replace(session: Session, *, words: tuple[str, ...], **given: Any) -> Exit:  # noqa: ANN401 (of many types)
    """Replace OLD by NEW wherever it occurs in the text of FILE.

    Code, link targets, front matter and HTML stay as they are, unless --code is given. Files without a match
    stay as they are; no match in any file is an error.
    """
    old, new, *files = _replaced(words, session.folder())
    named = expand_globs(files, session.folder())
    counts_all = given["count"] is not None or len(named) > 1
    edit: dict[str, Any] = {
        "op": "replace_match",
        "pattern": old,
        "replacement": new,
        "matchSelection": "all",
        "minMatches": 0 if counts_all else 1,
    }
    if given["regex"]:
        edit["matchType"] = "regex"
    if given["ignore_case"]:
        edit["caseSensitive"] = False
    if given["code"]:
        edit["include"] = ["codeBlocks", "inlineCode", "linkDestinations", "images", "frontMatter", "html"]
    if given["section"]:
        edit |= section_target(given["section"])
    choice = ApplyOptions.of(given)
    check = check_count(given["count"]) if counts_all else None
    return propose(session, batch_of(session, named, [edit]), choice, check)


@command(example="mdplan append guide.md Install 'Restart the kettle.'")
@click.argument("file", type=click.Path())
@click.argument("section", metavar="HEADING", shell_complete=headings)
@click.argument("text", required=False, metavar="[TEXT|@FILE|-]")
@click.option("--text", "option", metavar="TEXT|@FILE|-", help="TEXT, as an option.")
@choice_options
@engine_command(ApplyReport, *_LIMITS, tells_people=True)
def append(
    session: Session, *, file: str, section: str, text: str | None, option: str | None, **choice: bool
) -> Exit:
    """Append TEXT to the section under HEADING.

    Without TEXT your editor opens; @FILE is the text of a file, - is standard input.
    """
    if option is not None:
        if text is not None:
            raise Misuse("the text is given twice", "give it as the last word or with `--text`")
        text = option
    if text is None and sys.stdin.isatty():
        content = edit_text("", ".md")
    else:
        content = read_content(text if text is not None else "-")
    if content is None:
        raise Misuse(
            "there is no text to append", f"write it: `mdplan append {file} {shlex.quote(section)} TEXT`"
        )
    edit = {"op": "append_to_section", **section_target(section), "markdown": content}
    return propose(session, batch_of(session, [file], [edit]), ApplyOptions(**choice))


@command(example="mdplan tick todo.md 'Buy tea'")
@click.argument("file", type=click.Path())
@click.argument("items", nargs=-1, required=True, metavar="ITEM...", shell_complete=task_items)
@click.option("--off", is_flag=True, help="Clear the box instead.")
@choice_options
@engine_command(ApplyReport, *_LIMITS, tells_people=True)
def tick(session: Session, *, file: str, items: tuple[str, ...], off: bool, **choice: bool) -> Exit:
    """Tick the box of the tasks named ITEM: the text of a task, or a part of it that no other task has."""
    texts = _task_texts(session, file)
    edits = [{"op": "set_task", "item": _whole_text(item, texts), "done": not off} for item in items]
    return propose(session, batch_of(session, [file], edits), ApplyOptions(**choice))


def _replaced(words: tuple[str, ...], folder: str) -> tuple[str, ...]:
    """OLD, NEW and the files; a usage error that says what is missing, or in another order."""
    is_file = [bool(word) and Path(folder, word).is_file() for word in words]
    sed = _SED.fullmatch(words[0])
    if sed is not None and len(words) <= 2:
        file = words[1] if len(words) == 2 else "FILE"
        call = shlex.join(["mdplan", "replace", sed["old"], sed["new"], file])
        raise Misuse("the text and its replacement are two arguments", f"write `{call}`")
    if len(words) > 2 and is_file[0] and not any(is_file[1:]) and not set("*?[") & set(words[-1]):
        call = shlex.join(["mdplan", "replace", *words[1:], words[0]])
        raise Misuse("the files come last", f"write `{call}`")
    if len(words) < 3:
        missing = (
            "the new text is" if is_file[-1] else "the files are" if len(words) == 2 else "NEW and FILE are"
        )
        example = ["mdplan", "replace", words[0], "NEW" if is_file[-1] or len(words) < 2 else words[1]]
        call = shlex.join([*example, words[-1] if is_file[-1] else "FILE"])
        raise Misuse(f"{missing} missing", f"write `{call}`; '' as the new text deletes")
    return words


def _front_matter_edit(pairs: list[str]) -> dict[str, Any]:
    from mdplan.cli.edits.yaml_values import is_date

    kind = AssignmentType(is_typed=True)
    values = dict(kind.convert(pair, None, None) for pair in pairs)
    texts = {pair.partition("=")[0].strip(): pair.partition("=")[2] for pair in pairs}
    dates = [key for key, text in texts.items() if is_date(text)]
    edit = {"op": "set_front_matter", "values": values, "createIfMissing": True}
    return {**edit, "dates": dates} if dates else edit


def _ini_edit(pair: str) -> dict[str, Any]:
    path, value = AssignmentType(is_typed=False).convert(pair, None, None)
    section, dot, key = path.rpartition(".")
    return {"op": "set_ini_key", "key": key, "value": value, **({"section": section} if dot else {})}


def _is_name(word: str, folder: str) -> bool:
    return bool(set("*?[") & set(word)) or Path(folder, word).exists()


def _set_hint(names: list[str]) -> str:
    """How `mdplan set` is written, with the words that were given."""
    file = names[0] if names else "guide.md"
    key, colon, value = (names[1] if len(names) > 1 else "").partition(":")
    if colon:
        return f"write `mdplan set {file} {shlex.quote(f'{key}={value.strip()}')}`"
    if len(names) == 3:
        return f"write `mdplan set {file} {shlex.quote(f'{names[1]}={names[2]}')}`"
    return f"write `mdplan set {file} draft=false`"


def _task_texts(session: Session, file: str) -> list[str]:
    """Texts of the tasks of `file`; none where it cannot be read, which the plan then says."""
    files = session.open_files()
    located = files.workspace.locate(session.named(file))
    outline = located if isinstance(located, Diagnostic) else files.open(located, None, None)
    if isinstance(outline, Diagnostic):
        return []
    return [item.text for each in outline.lists.all for item in each.items if item.mark is not None]


def _whole_text(part: str, texts: list[str]) -> str:
    """The one text of `texts` that `part` is or occurs in, in any case of letters; else `part` itself."""
    found = [text for text in texts if part.casefold() in text.casefold()]
    return found[0] if part not in texts and len(found) == 1 else part
