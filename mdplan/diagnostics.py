"""Diagnostics: problems as values with a code, a message with its place, and a hint at the next step."""

from collections.abc import Callable, Iterable
from enum import IntEnum, StrEnum
from typing import Any, Final, Self, TypedDict, TypeVar, Unpack

from mdplan.text.lines import NearMiss, Position
from mdplan.values import Struct, replace
from mdplan.words import PythonWords, say


class Exit(IntEnum):
    """Exit codes of the command line; stable."""

    DONE = 0
    WOULD_CHANGE = 1
    INVALID = 2
    REFUSED = 3
    STALE = 4
    APPROVAL = 5
    ENVIRONMENT = 6
    BUG = 70
    INTERRUPTED = 130


class Severity(StrEnum):
    """Whether a diagnostic stops the plan.

    >>> [severity.value for severity in Severity]
    ['error', 'warning']
    """

    ERROR = "error"
    WARNING = "warning"


class Where(TypedDict, total=False):
    """What a problem is about, as in `Diagnostic`."""

    file: str | None
    edit_index: int | None
    place: Position | None
    candidates: "tuple[Candidate, ...]"
    near: tuple[NearMiss, ...] | None


class Code(StrEnum):
    """Every code that a report can carry, with the exit code that the command line gives it.

    >>> Code.STALE_BASE.value, Code.STALE_BASE.exit.value
    ('STALE_BASE', 4)
    """

    exit: Exit
    message: str
    hint: str

    def __new__(cls, value: str, exit_code: Exit = Exit.REFUSED, message: str = "", hint: str = "") -> Self:
        """Make the member `value` with its exit code, and its message and hint if it always has the same."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.exit, member.message, member.hint = exit_code, message, hint
        return member

    def problem(self, message: str, hint: str = "", **where: Unpack[Where]) -> "Diagnostic":
        """Make the error with this code."""
        return Diagnostic(code=self, message=message, hint=hint, **where)

    def refused(self, message: str, hint: str = "", **where: Unpack[Where]) -> "Refused":
        """Make the exception that carries the error with this code."""
        return Refused(Diagnostic(code=self, message=message, hint=hint, **where))

    def warning(self, message: str, hint: str = "", **where: Unpack[Where]) -> "Diagnostic":
        """Make the warning with this code, which does not stop the plan."""
        return Diagnostic(code=self, message=message, hint=hint, severity=Severity.WARNING, **where)

    def of(self, **fields: object) -> "Diagnostic":
        """Make the error of a code that has one message, with the `fields` of that and of its hint."""
        file = str(fields["file"]) if "file" in fields else None
        return self.problem(say(self.message, **fields), say(self.hint, **fields), file=file)

    # The comment above each says what it means; the reference of errors is made of these.

    # The batch cannot be understood.
    #: A field has a value that it cannot have, two fields exclude each other, or one is missing. The message
    #: names the field; the batch has to be sent again with another value.
    INVALID_ARGUMENT = "INVALID_ARGUMENT", Exit.INVALID
    #: A field is not known at this place. Nothing is ignored, because an option that is dropped in silence
    #: changes what an edit does. The hint names the nearest field, or all that there are.
    UNKNOWN_FIELD = "UNKNOWN_FIELD", Exit.INVALID
    #: A heading path is not a list of headings: it is empty, has an empty element, or one with a line break.
    INVALID_HEADING_PATH = "INVALID_HEADING_PATH", Exit.INVALID
    #: A regular expression does not compile, or its replacement names a group that it does not have. See
    #: [regular expressions](../semantics-rules.md#patterns).
    INVALID_REGEX = "INVALID_REGEX", Exit.INVALID
    #: A batch has more files, edits, hunks or text than the [limits](../limits.md) allow, or a glob stands
    #: for too many files. Nothing of it was done: split it, or raise the limit that the hint names.
    BATCH_TOO_LARGE = "BATCH_TOO_LARGE", Exit.INVALID
    # An address names nothing, or too much.
    #: No section has that ID, heading or heading path. The nearest ones by similarity are listed. A section
    #: ID changes when its heading or one above it is renamed: look again with `stat`.
    SECTION_NOT_FOUND = "SECTION_NOT_FOUND"
    #: A heading or heading path names several sections, and none is taken without being asked for. All of
    #: them are listed with IDs and lines. See [heading paths](../semantics-rules.md#heading-paths).
    AMBIGUOUS_HEADING = "AMBIGUOUS_HEADING"
    #: No heading has that anchor. Anchors are those that GitHub gives, with `-1`, `-2` after repeated ones.
    ANCHOR_NOT_FOUND = "ANCHOR_NOT_FOUND"
    #: There is no such fenced code block, or the language names several. Blocks are counted from 0 over the
    #: file, or over the section that is given; blocks by indentation have no index.
    CODE_BLOCK_NOT_FOUND = "CODE_BLOCK_NOT_FOUND"
    #: There is no pair of comments `<!-- NAME:start -->` and `<!-- NAME:end -->` with that name, or it occurs
    #: twice or is incomplete.
    REGION_NOT_FOUND = "REGION_NOT_FOUND"
    #: There is no such table in the file or section, or there are several and none is named by `table`.
    TABLE_NOT_FOUND = "TABLE_NOT_FOUND"
    #: There is no such list in the file or section, or there are several and none is named by `list`.
    LIST_NOT_FOUND = "LIST_NOT_FOUND"
    #: The file has no front matter, and the edit does not ask to make it.
    FRONT_MATTER_NOT_FOUND = "FRONT_MATTER_NOT_FOUND"
    #: The front matter cannot be read without doubt, or a change of it cannot be proven to change that key
    #: alone: aliases, tags, keys that stand twice, or broken YAML or TOML. All else in the file can be
    #: edited.
    FRONT_MATTER_INVALID = "FRONT_MATTER_INVALID"
    #: The YAML, JSON, TOML or INI file cannot be read, or the change cannot be made so that another reader
    #: sees that change and no other: what an alias repeats, a key that occurs twice, a value with a tag. Edit
    #: the lines themselves.
    DATA_INVALID = "DATA_INVALID"
    #: The result would violate a JSON Schema where the file did not before: the one that `jsonSchema` of the
    #: batch names, or the file itself, by `$schema`, `# yaml-language-server: $schema=` or `#:schema`.
    #: Nothing is fetched from the web.
    SCHEMA_VIOLATION = "SCHEMA_VIOLATION"
    #: Front matter or an INI file has no such key or section, or a table has no such row or column. The hint
    #: names what there is.
    KEY_NOT_FOUND = "KEY_NOT_FOUND"
    #: A line or column is after the end of the file or line. Lines and columns are counted from 1; see
    #: [places](../semantics-rules.md#lines-and-columns).
    RANGE_OUT_OF_BOUNDS = "RANGE_OUT_OF_BOUNDS"
    # A guard does not hold.
    #: The text at the place is not `expectedText` (or `expectedValue`). Where the text occurs elsewhere, or
    #: nearly, the answer lists the places. Read the place again, or let `replace_match` find the text.
    TEXT_MISMATCH = "TEXT_MISMATCH"
    #: A pattern, or the name of an item or row, has another number of matches than is required: exactly one,
    #: unless the edit says otherwise. Matches in code and other [excluded
    #: nodes](../semantics-rules.md#what-matches-skip) do not count, and the hint says how many those were.
    MATCH_COUNT_MISMATCH = "MATCH_COUNT_MISMATCH"
    #: The section is not the one that was read: its hash is not the given `sectionSha256`. Read it again, and
    #: decide again.
    SECTION_CHANGED = (
        "SECTION_CHANGED",
        Exit.STALE,
        "the section at lines {first}-{last} has changed",
        "read it again; its {sectionSha256} is now {now}",
    )
    #: A file has changed since it was read or planned. The message names the sections that changed. Plan
    #: again, or let the plan follow with `onStale: "rebase"`, which goes on only where it does the same to
    #: the same text.
    STALE_BASE = "STALE_BASE", Exit.STALE
    #: With `onStale: "merge"`, the file and the change have different text at one place. The hint has both:
    #: send the text that is right as an edit of the file as it is now.
    MERGE_CONFLICT = "MERGE_CONFLICT", Exit.STALE
    #: A commit needs a [guard](../semantics-rules.md#guards) for what the caller saw: a plan ID, by
    #: `baseSha256` of every file, or by evidence in each edit. This one is not.
    PRECONDITION_REQUIRED = "PRECONDITION_REQUIRED"
    # The edits cannot be made as asked.
    #: A regular expression ran for longer than the limit. Nested repetition, such as `(a+)+`, does that to
    #: text that nearly matches.
    REGEX_TIMEOUT = "REGEX_TIMEOUT"
    #: The text to be written is empty or blank. To remove something use the operation that deletes it.
    EMPTY_CONTENT = "EMPTY_CONTENT", Exit.INVALID
    #: A heading would be deeper than level 6, because headings of a payload are fitted below their section,
    #: or because a section with subsections is lowered.
    HEADING_LEVEL_OVERFLOW = "HEADING_LEVEL_OVERFLOW"
    #: A heading path would be in the file more often than before, or a payload repeats some of the
    #: subsections and not all. Equal sections cannot be addressed.
    DUPLICATE_HEADING = "DUPLICATE_HEADING"
    #: Two edits of a batch want the same text, or one wants text in a section that the other deletes,
    #: replaces or moves. Both are named. What is meant one after the other is sent with `sequential: true`.
    #: It is also the answer when some edits of a plan were accepted that need others.
    CONFLICTING_EDITS = "CONFLICTING_EDITS"
    #: The result would have headings, front matter or regions that no edit wrote, or would lose some: an open
    #: fence, comment or HTML block swallows what follows, or a line of dashes makes a heading of the line
    #: above it. Or rows would fall out of their table, or lose cells.
    OUTLINE_CHANGED = "OUTLINE_CHANGED"
    #: A hunk of `apply_diff` does not match the file. Its context has to be exact; lines may have moved.
    DIFF_DOES_NOT_APPLY = "DIFF_DOES_NOT_APPLY"
    #: mdformat failed, is not installed, or what it made would be rendered in another way.
    FORMATTER_FAILED = "FORMATTER_FAILED"
    #: The encoding of the file cannot be detected, or the given one does not give its bytes back. Text of
    #: ASCII can be written all the same; for other text give `encoding`.
    ENCODING_UNKNOWN = "ENCODING_UNKNOWN"
    #: The new text has a character that the encoding of the file does not have.
    UNENCODABLE_TEXT = "UNENCODABLE_TEXT"
    # The plan.
    #: No plan of that ID is kept for this root: it is of another root or user, or older than plans are kept.
    PLAN_NOT_FOUND = "PLAN_NOT_FOUND"
    #: The plan ID is the hash of the plan, and it does not match; or planning the edits of a plan document
    #: again gives another plan. The plan was changed, is damaged, or was made by another version.
    PLAN_TAMPERED = "PLAN_TAMPERED"
    #: A person has to approve the plan before it is committed, and has not yet. See how to [review
    #: plans](../../how-to/review-plans.md).
    APPROVAL_REQUIRED = "APPROVAL_REQUIRED", Exit.APPROVAL
    #: A person has rejected the plan, or one that it was derived from; the message has their comments. It is
    #: refused everywhere, also where no approval is required. Make another plan that heeds them.
    PLAN_REJECTED = "PLAN_REJECTED", Exit.APPROVAL
    #: A person has requested changes to the plan, or to one that it was derived from; the message has their
    #: comments. It is refused everywhere, as a rejected plan is. Plan the revised edits, with the ID of this
    #: plan as `revises`: the reviewer then sees what differs. See how to [review
    #: plans](../../how-to/review-plans.md).
    CHANGES_REQUESTED = "CHANGES_REQUESTED", Exit.APPROVAL
    #: Somebody else decided about the plan after this page or terminal showed it, or its approval was used.
    #: Nothing was recorded: look at the plan again, and decide then.
    STALE_DECISION = "STALE_DECISION", Exit.APPROVAL
    # The file cannot be used.
    #: There is no such file in the root. Files are named relative to it, with `/`. The nearest name is in the
    #: hint.
    FILE_NOT_FOUND = "FILE_NOT_FOUND"
    #: A file that is to be created, or the new name of a file, exists already. Nothing is overwritten.
    FILE_EXISTS = ("FILE_EXISTS", Exit.REFUSED, "`{file}` exists already", "edit it, or choose another name")
    #: A file has more bytes or lines than the [limits](../limits.md) allow, or would have them after the
    #: edits.
    FILE_TOO_LARGE = "FILE_TOO_LARGE"
    #: Parsing the file takes longer than the limit.
    PARSE_TIMEOUT = "PARSE_TIMEOUT"
    #: The file is no text (it contains NUL bytes, or does not decode as its byte order mark says), or no
    #: regular file.
    NOT_A_TEXT_FILE = "NOT_A_TEXT_FILE"
    #: A path leads out of the root, or is not among what `--allow` and `--deny` let through; a denial names
    #: the glob.
    PATH_OUTSIDE_ROOT = "PATH_OUTSIDE_ROOT"
    #: A path is a name that some system reads as something else: with a backslash, a drive or stream of
    #: Windows, or hidden characters; on Windows also another colon, a device name, or a final dot or blank.
    #: `.git` and `.mdplan` are refused too.
    PATH_INVALID = "PATH_INVALID"
    #: A file, or a folder on the way to it, is a symbolic link. Links are not followed; where its target is
    #: inside the root, the hint names it.
    SYMLINK_REFUSED = "SYMLINK_REFUSED"
    #: The file has several names (hard links). Replacing it under one of them would part them.
    HARDLINK_REFUSED = "HARDLINK_REFUSED"
    #: Two paths of a batch are one file, as on a file system where case does not matter.
    ALIAS_CONFLICT = "ALIAS_CONFLICT"
    #: The file or its file system is write-protected, has a special mode bit, or is a pointer of Git LFS.
    READ_ONLY = "READ_ONLY"
    #: The file belongs to somebody else, and would belong to you once it is replaced.
    OWNER_CHANGE = "OWNER_CHANGE"
    #: The system does not let you read or write the file or its folder.
    PERMISSION_DENIED = "PERMISSION_DENIED", Exit.ENVIRONMENT
    # The environment.
    #: Another program, most often another mdplan, has held the lock of the root for longer than is waited.
    #: Nothing was written: try again.
    LOCK_TIMEOUT = "LOCK_TIMEOUT", Exit.ENVIRONMENT
    #: The file system, such as NFS, cannot lock folders. As a warning: a file in the state directory is
    #: locked in place of the root, so only commits with the same state directory wait for each other. As an
    #: error: that cannot be locked either.
    LOCK_UNSUPPORTED = "LOCK_UNSUPPORTED", Exit.ENVIRONMENT
    #: Another program wrote to a file at the very moment of the commit. mdplan keeps that text and undoes the
    #: commit; or, as a warning, the commit stays and the message says where the other text is.
    CONFLICT_LATE_WRITE = "CONFLICT_LATE_WRITE", Exit.STALE
    #: The disk, a quota, or the greatest size of a file is used up. mdplan undid the commit.
    NO_SPACE = "NO_SPACE", Exit.ENVIRONMENT
    #: The system failed to read or write. If this was during a commit, mdplan undid the commit.
    IO_ERROR = "IO_ERROR", Exit.ENVIRONMENT
    #: All files are new, but the disk did not confirm it: a loss of power now may undo the commit as a whole.
    #: The next commit finds out.
    COMMIT_IN_DOUBT = "COMMIT_IN_DOUBT", Exit.ENVIRONMENT
    #: A commit was cut off, and what it left must be repaired first. The next commit repairs what is in its
    #: own state directory; what another user, container or job began is for a person with `mdplan recover
    #: --adopt`. See [recovery](../../explanation/transaction-model.md#recovery).
    RECOVERY_REQUIRED = "RECOVERY_REQUIRED", Exit.ENVIRONMENT
    #: Somebody has changed a file on top of a commit that was cut off. Both texts are kept, and a person
    #: decides: `mdplan recover --keep-current` or `--restore-base`.
    RECOVERY_CONFLICT = "RECOVERY_CONFLICT", Exit.ENVIRONMENT
    #: mdplan's [store](../../explanation/transaction-model.md#the-store) is damaged, or of a newer version.
    #: mdplan never repairs or overwrites it, and commits nothing until it is set aside, as the hint says. No
    #: document is affected.
    JOURNAL_CORRUPT = "JOURNAL_CORRUPT", Exit.ENVIRONMENT
    #: The folder of the root in the state directory is not yours, or others can write into it: its content
    #: cannot be trusted.
    STATE_DIR_UNSAFE = "STATE_DIR_UNSAFE", Exit.ENVIRONMENT
    #: The file is a mount point or being executed; or, with `--git`, the branch is checked out in a work
    #: tree.
    TARGET_BUSY = "TARGET_BUSY", Exit.ENVIRONMENT
    # Warnings.
    #: A link that resolved before the edits leads nowhere after them, or a link in new text resolves to
    #: nothing. With `updateReferences` links are rewritten: see how to [keep links
    #: right](../../how-to/keep-links-right.md).
    BROKEN_LINK = "BROKEN_LINK", Exit.DONE
    #: A link still resolves after the edits, but to another place than before: a second heading of the same
    #: name now comes first, or another definition has its label. With `updateReferences` the link follows.
    LINK_RETARGETED = "LINK_RETARGETED", Exit.DONE
    #: A link does not name a file of the plan, or a changed heading in it, as it is written, but would with
    #: another case, suffix, index file or first folder. Whether it does, the rules of the site say: see how
    #: to [keep links right](../../how-to/keep-links-right.md).
    LINK_UNCERTAIN = "LINK_UNCERTAIN", Exit.DONE
    #: A file loses more than 100 lines, or more than half of its lines, that other text does not replace.
    #: That may be meant, so it is only said.
    LARGE_DELETION = "LARGE_DELETION", Exit.DONE
    #: Lists that something kept apart are one list in the result: their numbers run on, and their items are
    #: spaced alike. Or text that was next to a list is a part of it.
    LISTS_MERGED = "LISTS_MERGED", Exit.DONE
    #: `mdplan check`: the file has line ends of a kind that it did not have before the change.
    LINE_ENDS_CHANGED = "LINE_ENDS_CHANGED", Exit.DONE
    #: `mdplan check`: the byte order mark or the encoding of the file is another one than before the change.
    ENCODING_CHANGED = "ENCODING_CHANGED", Exit.DONE
    #: `mdplan check`: the line of a heading is still there, but it is text or code now.
    HEADING_LOST = "HEADING_LOST", Exit.DONE
    #: `mdplan check`: a task lost a blank of its `- [ ]`, so that it is text, or an item without a box.
    TASK_LOST = "TASK_LOST", Exit.DONE
    #: `mdplan check`: a code block, comment or HTML block is not closed, so that it contains all text to its
    #: end.
    BLOCK_UNCLOSED = "BLOCK_UNCLOSED", Exit.DONE
    #: A row of a table has more cells than the table has columns; `mdplan check` reports rows that are text
    #: now, too.
    TABLE_TORN = "TABLE_TORN", Exit.DONE
    #: A value of the front matter, or of a file of keys, has another type than before the change, such as
    #: text that became a number. It is a warning of `mdplan check` and `set_value`: send the value as JSON of
    #: the type that it should have.
    FRONT_MATTER_TYPE = "FRONT_MATTER_TYPE", Exit.DONE
    #: `mdplan check`: one of the two markers of a region is missing.
    REGION_UNBALANCED = "REGION_UNBALANCED", Exit.DONE
    #: A tag around Markdown lost its other half: a `:::` block, `<details>` or another element, a component,
    #: a Liquid block or a shortcode.
    UNBALANCED_TAG = "UNBALANCED_TAG", Exit.DONE
    #: In a sequential batch an edit changed text that an earlier edit of the batch had written.
    OVERLAPPING_EDIT = "OVERLAPPING_EDIT", Exit.DONE
    #: mdplan skipped a match because it could not prove what kind of node contains it.
    UNDECIDED_NODE = "UNDECIDED_NODE", Exit.DONE
    #: Lists or quotes are nested deeper than the parser goes; blocks after that place may be missing in what
    #: is shown.
    NESTING_LIMIT = "NESTING_LIMIT", Exit.DONE
    #: A transaction cannot be undone: the old text is not in the history any more, or could not be put there.
    #: After a commit it is a warning.
    NOT_UNDOABLE = "NOT_UNDOABLE"
    #: The file system cannot exchange two files in one step, so a write of another program at that very
    #: moment could have been lost.
    WEAK_CAS = "WEAK_CAS", Exit.DONE


# Warnings about links; a plan of more or other files can find more or fewer of them.
LINK_CODES: Final = frozenset({Code.BROKEN_LINK, Code.LINK_RETARGETED, Code.LINK_UNCERTAIN})


class Candidate(Struct, kw_only=True):
    """One place that an address could mean. Lines are 1-based and inclusive.

    Sections and keys of INI files have no ID; their path is the name of the section, and of the key.
    """

    section_id: str | None = None
    heading_path: tuple[str, ...]
    start_line: int
    end_line: int


class Diagnostic(Struct, kw_only=True):
    """One problem, or one warning.

    `message` says what and where and contains no file text; `hint` is the next step, with values that can be
    pasted. `edit_index` is 0-based through the whole batch; `place` is 1-based. `near` are the places that
    come closest to a text that was not found; None where there are none. The constructors `invalid` and
    `warning` are for mdplan itself.

    >>> error = engine.read({"file": "guide.md", "heading": "Example"}).error
    >>> error.message
    'heading path ["Example"] names 2 sections, at lines 42, 51'
    >>> [candidate.start_line for candidate in error.candidates]
    [42, 51]
    """

    code: Code
    message: str
    hint: str = ""
    severity: Severity = Severity.ERROR
    file: str | None = None
    edit_index: int | None = None
    place: Position | None = None
    candidates: tuple[Candidate, ...] = ()
    near: tuple[NearMiss, ...] | None = None

    @classmethod
    def invalid(cls, message: str, hint: str = "", **where: Unpack[Where]) -> "Diagnostic":
        """INVALID_ARGUMENT: the request itself is wrong."""
        return cls(code=Code.INVALID_ARGUMENT, message=message, hint=hint, **where)

    @classmethod
    def warning(cls, code: Code, message: str, hint: str = "", **where: Unpack[Where]) -> "Diagnostic":
        """A diagnostic that does not stop the plan."""
        return code.warning(message, hint, **where)

    def __str__(self) -> str:
        """Code, place, message and hint, in one or two lines, as a Python caller writes fields and verbs."""
        lines = f":{self.place.line}:{self.place.col}" if self.place else ""
        places = (
            self.file + lines if self.file else "",
            f"edit_index {self.edit_index}" if self.edit_index is not None else "",
        )
        place = ", ".join(filter(None, places))
        told = PythonWords().tell(self)
        text = f"{self.code}{f' ({place})' if place else ''}: {told.message}"
        return f"{text}\n  hint: {told.hint}" if told.hint else text

    def at(self, *, file: str | None = None, edit_index: int | None = None) -> "Diagnostic":
        """The same diagnostic, tied to a file or edit where it is not tied to one yet."""
        return replace(
            self,
            file=self.file if self.file is not None else file,
            edit_index=self.edit_index if self.edit_index is not None else edit_index,
        )


Problems = tuple[Diagnostic, ...]


# It also carries the problems of one edit from where they are found to where the edit is resolved.
class Refused(Exception):  # noqa: N818 (it is no error of the program)
    """The exception of `Report.unwrap` for a report that is not `ok`; `diagnostics` has all problems.

    The message has each of them with its code, place and hint, so that a traceback shows what to do.

    >>> from mdplan import Refused
    >>> try:
    ...     engine.read({"file": "guide.md", "heading": "Descale"}).unwrap()
    ... except Refused as refused:
    ...     print(refused.diagnostics[0].code)
    SECTION_NOT_FOUND
    """

    def __init__(self, *diagnostics: Diagnostic) -> None:
        self.diagnostics = diagnostics
        super().__init__(*diagnostics)

    def __str__(self) -> str:
        return "\n".join(map(str, self.diagnostics))


_Found = TypeVar("_Found")
_Other = TypeVar("_Other")


def or_problem(find: Callable[..., _Found], *args: Any, **options: Any) -> _Found | Diagnostic:  # noqa: ANN401
    """Return what `find` gives for `args`, or the problem with which it refuses them."""
    try:
        return find(*args, **options)
    except Refused as refused:
        return refused.diagnostics[0]


def or_problems(make: Callable[..., _Found], *args: Any) -> _Found | Problems:  # noqa: ANN401
    """Return what `make` gives for `args`, or all problems with which it refuses them."""
    try:
        return make(*args)
    except Refused as refused:
        return refused.diagnostics


def refuse_if(problems: Iterable[Diagnostic]) -> None:
    """Refuse with all `problems`, if there are any."""
    problems = tuple(problems)
    if problems:
        raise Refused(*problems)


def both(first: Callable[[], _Found], second: Callable[[], _Other]) -> tuple[_Found, _Other]:
    """Return what `first` and `second` give. Where either refuses, the problems of both are told together."""
    try:
        found = first()
    except Refused as refused:
        try:
            second()
        except Refused as also:
            raise Refused(*refused.diagnostics, *also.diagnostics) from None
        raise
    return found, second()


# No one reads more than these, and finding the nearest names for each takes time.
MOST_PROBLEMS: Final = 1_000
AND_MORE: Final = Diagnostic.invalid(
    f"there are more than {MOST_PROBLEMS} problems: what follows was not checked", "correct these first"
)
