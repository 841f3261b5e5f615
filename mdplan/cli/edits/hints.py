"""Problems of an edit in the words of the command that made it: options in place of the fields of a batch."""

import json
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from mdplan.cli.edits.edit_options import EditOptions
from mdplan.cli.edits.examples import PATH_JOINT, option_words
from mdplan.cli.edits.field_types import heading_path
from mdplan.cli.edits.option_words import option_name
from mdplan.cli.usage.typed_command import retyped
from mdplan.diagnostics import Candidate, Code, Diagnostic
from mdplan.reports.next_steps import Caller, in_words_of

# Fields of a batch that `mdplan edit` takes as options, in addition to the fields of the operation.
BATCH_FIELDS: Final = ("allowOutlineChange", "allowDuplicateHeadings", "updateReferences")
# What names a section in a batch, and the one option or argument for it in a command.
_SECTION_NAMES: Final = ("heading", "headingPath", "sectionId")
_MOST_MEANT: Final = 3
_MOST_TYPED: Final = 100
_CLAUSE: Final = re.compile(r"(?:; |, or )")
_FIELD: Final = re.compile(
    r'(?P<tick>`?)(?:"(?P<quoted>[a-zA-Z]\w*)": |(?P<bare>[a-z]\w*): (?=(?:true|false)`))'
)
_INDEX: Final = re.compile(r"\{[^{}]*…[^{}]*\}")
_BRACES: Final = re.compile(r"\{[^{}]*\}")
_PATH: Final = re.compile(r'(heading path )?(\["(?:[^"\\]|\\.)*"(?:, "(?:[^"\\]|\\.)*")*\])')
_CAMEL: Final = re.compile(r"`?\b(?P<name>[a-z]+(?:[A-Z][a-z]*|[A-Z]\w*\d+)+)\b`?(?P<empty> \[\])?")
_CODE: Final = re.compile(r"`(?P<name>[a-z]\w*)(?:\[\d+\])?`")
_FIRST: Final = re.compile(
    r"(?P<name>[a-z]\w*)"
    r"(?=:| (?:is|has|holds|goes|requires|gives|names|starts|refers|does|picks|cannot|excludes)\b)"
)
_SEVERAL: Final = re.compile(r"\b[a-zA-Z]\w*(?:, [a-zA-Z]\w*)* (?:or|and) [a-zA-Z]\w*\b")
_DESCRIBED: Final = re.compile(r"give `(?P<name>\w+)`: ")
_SEND_OPTION: Final = re.compile(r"\bsend (?=`--)")
_SEND_LIST: Final = re.compile(r"\bsend an array(?:: |, such as )")
# Names and numbers, as a key of data files has them.
_KEY: Final = re.compile(r'`(\["[^"\]]*"(?:, (?:"[^"\]]*"|\d+))*, \d+\])`')
_VERB: Final = re.compile(r"\b(?:add|send|use) $")
_DECODER: Final = json.JSONDecoder()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandWords:
    """How a command calls what an operation takes.

    `names` has its option or argument for each field that it has one for. `flags` are fields that one value
    of turns into an option. What only `mdplan edit` can say becomes the whole command of that. `section` is
    the section as it was typed.
    """

    options: EditOptions
    names: Mapping[str, str]
    flags: Mapping[str, Callable[[Any], str | None]] = field(default_factory=dict)
    is_edit: bool = False
    section: str | None = None

    @classmethod
    def of_edit(cls, options: EditOptions, section: str | None = None) -> "CommandWords":
        """Those of `mdplan edit`: each field is an option."""
        own = {name: option_name(name) for name in (*options.schemas, *BATCH_FIELDS)}
        target = dict.fromkeys(_SECTION_NAMES, "--section") if options.is_about_sections else {}
        return cls(options=options, names=own | target, is_edit=True, section=section)

    def knows(self, name: str) -> bool:
        """Whether `name` is a field of the operation, or of its batch, with an option."""
        return name in self.options.schemas or name in BATCH_FIELDS

    def given(self, name: str, value: Any) -> str | None:  # noqa: ANN401 (any JSON)
        """The words that give the field `name` a `value` in this command; None where it has none."""
        called = self.names.get(name)
        if called is not None and name in _SECTION_NAMES:
            path = value if isinstance(value, list) else [str(value)]
            words = shlex.quote(PATH_JOINT.join(path))
            return f"{called} {words}" if called.startswith("--") else words
        if self.is_edit:
            return option_words(self.options, name, value)
        return self.flags[name](value) if name in self.flags else None


def in_words(text: str, words: CommandWords, command: Callable[[str, Any], str] | None = None) -> str:
    """`text` of a problem with what a person types in place of the fields and values of a batch.

    `command` gives the whole of a command with a further field, for a field that `words` cannot say.
    """
    described = _DESCRIBED.match(text)
    if described is not None and described["name"] in words.options.schemas:
        name = described["name"]
        return f"give `{words.names.get(name, name)}`: {words.options.help_of(name)}"
    clauses = _clauses(text)
    kept = [clause for clause in clauses if _is_possible(clause[1], words)]
    text = "".join(joint + clause for joint, clause in kept).removeprefix("; ").removeprefix(", or ")
    text = _assignments(text, words, command)
    text = _KEY.sub(lambda found: f"`[{', '.join(map(str, json.loads(found[1])))}]`", text)
    text = _PATH.sub(lambda found: f"'{PATH_JOINT.join(json.loads(found[2]))}'", text)
    text = _SEND_OPTION.sub("add ", _SEND_LIST.sub("write ", text))
    text = _SEVERAL.sub(lambda found: _all_named(found[0], words), text)
    text = _CAMEL.sub(lambda found: _named(found, words), text)
    text = _CODE.sub(lambda found: _named(found, words), text)
    first = _FIRST.match(text)
    return text if first is None else _named(first, words) + text[first.end() :]


def for_command(
    problem: Diagnostic, words: CommandWords, command: Callable[[str, Any], str] | None = None
) -> Diagnostic:
    """`problem` in the `words` of the command that it is of; `command` as in `in_words`."""
    # The steps first: what a tool takes looks like fields of a batch.
    steps = in_words_of(Caller.SHELL, problem.hint)
    message, hint = (in_words(text, words, command) for text in (problem.message, steps))
    if problem.code is Code.AMBIGUOUS_HEADING and problem.candidates:
        hint = f"name one of them: `{_retyped(problem.candidates[0], problem, words)}`"
    elif problem.code is Code.INVALID_REGEX:
        plain = "`--match-type literal`" if words.is_edit else "no `--regex`"
        hint = f"put a backslash before a sign that means itself, as in `\\(`; {plain} finds plain text"
    elif problem.code is Code.SECTION_NOT_FOUND and problem.candidates:
        meant = [_retyped(each, problem, words) for each in problem.candidates[:_MOST_MEANT]]
        hint = f"did you mean {' or '.join(f'`{each}`' for each in meant)}?"
    elif problem.code is Code.MATCH_COUNT_MISMATCH and "differs in case" in hint:
        flag = words.given("caseSensitive", False)  # noqa: FBT003 (the value of a field)
        hint = f"{hint}; `{flag}` matches any case" if flag else hint
    elif problem.code is Code.FILE_NOT_FOUND and problem.file and words.options.may_begin_file:
        joint = " To" if hint.endswith("?") else "; to"
        hint = f"{hint}{joint} create it: `mdplan edit create_file {shlex.quote(problem.file)}`"
    return replace(problem, message=message, hint=hint)


def for_section_option(problem: Diagnostic, flag: str, section: str | None) -> Diagnostic:
    """`problem` of a command that only looks, in which `flag` named the `section`."""
    options = EditOptions("read", {}, frozenset())
    names = dict.fromkeys(_SECTION_NAMES, flag)
    return for_command(problem, CommandWords(options=options, names=names, is_edit=True, section=section))


def _retyped(meant: Candidate, problem: Diagnostic, words: CommandWords) -> str:
    """The command as it was typed with the section that is `meant`; what names that where it is long."""
    paths = [candidate.heading_path for candidate in problem.candidates]
    is_unique = paths.count(meant.heading_path) == 1 and all(
        len(heading_path(title)) == 1 for title in meant.heading_path
    )
    section = PATH_JOINT.join(meant.heading_path) if is_unique else str(meant.section_id)
    if (words.section is not None and len(problem.candidates) == 1) or problem.code is Code.AMBIGUOUS_HEADING:
        command = retyped(str(words.section), section)
        if command is not None and len(command) <= _MOST_TYPED:
            return command
    called = words.names.get("heading", "")
    return f"{called} {shlex.quote(section)}" if called.startswith("--") else shlex.quote(section)


def _clauses(text: str) -> list[tuple[str, str]]:
    """The parts of `text`, each with the words that join it to the one before."""
    joints = ["", *_CLAUSE.findall(text)]
    return list(zip(joints, _CLAUSE.split(text), strict=True))


def _is_possible(clause: str, words: CommandWords) -> bool:
    """Whether no field that only a batch has is given a value in `clause`."""
    names = (found["quoted"] or found["bare"] for found in _FIELD.finditer(_BRACES.sub("", clause)))
    return all(map(words.knows, names))


def _assignments(text: str, words: CommandWords, command: Callable[[str, Any], str] | None) -> str:
    """`text` with options in place of each `"name": value`."""
    parts, at = [], 0
    while found := _FIELD.search(text, at):
        name = found["quoted"] or found["bare"]
        parts.append(text[at : found.start()])
        index = _INDEX.match(text, found.end())
        if index is not None:
            said, at = words.names.get(name) or option_name(name), index.end()
        else:
            value, at = _DECODER.raw_decode(text, found.end())
            given = words.given(name, value)
            said = given or (command(name, value) if command else option_name(name))
            parts[-1] = parts[-1] if given else _VERB.sub("run ", parts[-1])
        if found["tick"] and text.startswith("`", at):
            at += 1
        parts.append(f"`{said}`")
    return "".join([*parts, text[at:]])


def _named(found: re.Match[str], words: CommandWords) -> str:
    name = found["name"]
    called = words.names.get(name)
    if called is None:
        is_field = found.re is not _FIRST and name in words.options.schemas
        return f"`{option_name(name)}` of `mdplan edit`" if is_field else found[0]
    is_empty = found.re is _CAMEL and found["empty"]
    return f"`{called} ''`" if is_empty else f"`{called}`"


def _all_named(text: str, words: CommandWords) -> str:
    """A list of fields with their names in the command; `text` itself where it lists anything else."""
    names = [name for name in re.findall(r"\w+", text) if name not in ("or", "and")]
    if not all(name in words.names for name in names):
        return text
    called = list(dict.fromkeys(f"`{words.names[name]}`" for name in names))
    joint = " and " if " and " in text else " or "
    return joint.join([", ".join(called[:-1]), called[-1]]) if len(called) > 1 else called[0]
