"""Diagnostics: problems as values with code, message, place, and a hint for the next step."""

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
    """The severity of a diagnostic; only an error stops the plan.

    >>> [severity.value for severity in Severity]
    ['error', 'warning']
    """

    ERROR = "error"
    WARNING = "warning"


class Where(TypedDict, total=False):
    """The subject of a problem, as in `Diagnostic`."""

    file: str | None
    edit_index: int | None
    place: Position | None
    candidates: "tuple[Candidate, ...]"
    near: tuple[NearMiss, ...] | None


class Code(StrEnum):
    """The codes of problems in reports, each with the exit code of the command line.

    >>> Code.STALE_BASE.value, Code.STALE_BASE.exit.value
    ('STALE_BASE', 4)
    """

    exit: Exit
    message: str
    hint: str

    def __new__(cls, value: str, exit_code: Exit = Exit.REFUSED, message: str = "", hint: str = "") -> Self:
        """Create the member `value` with its exit code and, for some, a fixed message and hint."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.exit, member.message, member.hint = exit_code, message, hint
        return member

    def problem(self, message: str, hint: str = "", **where: Unpack[Where]) -> "Diagnostic":
        """Return an error with this code."""
        return Diagnostic(code=self, message=message, hint=hint, **where)

    def refused(self, message: str, hint: str = "", **where: Unpack[Where]) -> "Refused":
        """Return an exception with this error."""
        return Refused(Diagnostic(code=self, message=message, hint=hint, **where))

    def warning(self, message: str, hint: str = "", **where: Unpack[Where]) -> "Diagnostic":
        """Return a warning with this code, which does not stop the plan."""
        return Diagnostic(code=self, message=message, hint=hint, severity=Severity.WARNING, **where)

    def of(self, **fields: object) -> "Diagnostic":
        """Return the error of a code with a fixed message, filled in with `fields`."""
        file = str(fields["file"]) if "file" in fields else None
        return self.problem(say(self.message, **fields), say(self.hint, **fields), file=file)

    # The comment above each code describes it, and generates the error reference.

    # The batch cannot be understood.
    #: A field has an invalid value, two fields exclude each other, or one is missing. The message names the
    #: field; send the batch again with another value.
    INVALID_ARGUMENT = "INVALID_ARGUMENT", Exit.INVALID
    #: A field is unknown in this place. mdplan ignores no fields, because a dropped option would change the
    #: effect of an edit. The hint names the nearest field, or all fields.
    UNKNOWN_FIELD = "UNKNOWN_FIELD", Exit.INVALID
    #: A heading path is not a list of headings: it is empty, or has an empty element or a line break.
    INVALID_HEADING_PATH = "INVALID_HEADING_PATH", Exit.INVALID
    #: A regular expression does not compile, or the replacement refers to a missing group. See [regular
    #: expressions](../semantics-rules.md#patterns).
    INVALID_REGEX = "INVALID_REGEX", Exit.INVALID
    #: A batch has more files, edits, hunks or text than the [limits](../limits.md) allow, or a glob matches
    #: too many files. Nothing was done: split the batch, or raise the limit that the hint names.
    BATCH_TOO_LARGE = "BATCH_TOO_LARGE", Exit.INVALID
    # An address matches nothing, or too much.
    #: No section has that ID, heading or heading path. The message lists similar ones. A section ID changes
    #: when its heading or a parent is renamed: look again with `stat`.
    SECTION_NOT_FOUND = "SECTION_NOT_FOUND"
    #: A heading or heading path matches several sections, and mdplan does not pick one. All are listed with
    #: IDs and lines. See [heading paths](../semantics-rules.md#heading-paths).
    AMBIGUOUS_HEADING = "AMBIGUOUS_HEADING"
    #: No heading has that anchor. Anchors are generated as on GitHub, with `-1`, `-2` for repeated ones.
    ANCHOR_NOT_FOUND = "ANCHOR_NOT_FOUND"
    #: There is no such fenced code block, or the language matches several. Blocks are counted from 0 within
    #: the file or the given section; indented blocks have no index.
    CODE_BLOCK_NOT_FOUND = "CODE_BLOCK_NOT_FOUND"
    #: No pair of comments `<!-- NAME:start -->` and `<!-- NAME:end -->` has that name, or it occurs twice or
    #: is incomplete.
    REGION_NOT_FOUND = "REGION_NOT_FOUND"
    #: There is no such table in the file or section, or there are several and `table` selects none.
    TABLE_NOT_FOUND = "TABLE_NOT_FOUND"
    #: There is no such list in the file or section, or there are several and `list` selects none.
    LIST_NOT_FOUND = "LIST_NOT_FOUND"
    #: The file has no front matter, and the edit does not ask to create it.
    FRONT_MATTER_NOT_FOUND = "FRONT_MATTER_NOT_FOUND"
    #: The front matter cannot be parsed safely, or mdplan cannot verify that a change affects only its key:
    #: aliases, tags, duplicate keys, or invalid YAML or TOML. The rest of the file can be edited.
    FRONT_MATTER_INVALID = "FRONT_MATTER_INVALID"
    #: The YAML, JSON, TOML or INI file cannot be parsed, or mdplan cannot verify that other parsers would see
    #: exactly this change: aliases, duplicate keys, tagged values. Edit the lines instead.
    DATA_INVALID = "DATA_INVALID"
    #: The result would newly violate a JSON Schema, named by `jsonSchema` in the batch, or by the file with
    #: `$schema`, `# yaml-language-server: $schema=` or `#:schema`. mdplan fetches nothing from the web.
    SCHEMA_VIOLATION = "SCHEMA_VIOLATION"
    #: Front matter or an INI file has no such key or section, or a table has no such row or column. The hint
    #: lists the existing ones.
    KEY_NOT_FOUND = "KEY_NOT_FOUND"
    #: A line or column is beyond the end of the file or line. Lines and columns are counted from 1; see
    #: [places](../semantics-rules.md#lines-and-columns).
    RANGE_OUT_OF_BOUNDS = "RANGE_OUT_OF_BOUNDS"
    # A guard fails.
    #: The text in this place is not `expectedText` (or `expectedValue`). The report lists where the text, or
    #: similar text, occurs. Read the place again, or let `replace_match` find the text.
    TEXT_MISMATCH = "TEXT_MISMATCH"
    #: A pattern, or the name of an item or row, does not have the required number of matches: exactly one,
    #: unless the edit says otherwise. Matches in code and other [excluded
    #: nodes](../semantics-rules.md#what-matches-skip) do not count; the hint gives their number.
    MATCH_COUNT_MISMATCH = "MATCH_COUNT_MISMATCH"
    #: The section has changed since it was read: its hash is not the given `sectionSha256`. Read it again,
    #: and decide again.
    SECTION_CHANGED = (
        "SECTION_CHANGED",
        Exit.STALE,
        "the section at lines {first}-{last} has changed",
        "read it again; its {sectionSha256} is now {now}",
    )
    #: A file has changed since it was read or planned. The message names the changed sections. Plan again, or
    #: let the plan follow with `onStale: "rebase"`, which continues only if it does the same to the same
    #: text.
    STALE_BASE = "STALE_BASE", Exit.STALE
    #: With `onStale: "merge"`, the file and the change have different text in one place. The hint has both:
    #: send the right text as an edit of the current file.
    MERGE_CONFLICT = "MERGE_CONFLICT", Exit.STALE
    #: A commit needs a [guard](../semantics-rules.md#guards) for what the caller saw: a plan ID, `baseSha256`
    #: for every file, or evidence in each edit. This commit has none.
    PRECONDITION_REQUIRED = "PRECONDITION_REQUIRED"
    # The edits cannot be made as requested.
    #: A regular expression exceeded its time limit. Nested repetition, such as `(a+)+`, does that on text
    #: that nearly matches.
    REGEX_TIMEOUT = "REGEX_TIMEOUT"
    #: The new text is empty or blank. To remove something, use a delete operation.
    EMPTY_CONTENT = "EMPTY_CONTENT", Exit.INVALID
    #: A heading would be deeper than level 6, because payload headings are placed below their section, or
    #: because a section with subsections is demoted.
    HEADING_LEVEL_OVERFLOW = "HEADING_LEVEL_OVERFLOW"
    #: A heading path would occur more often than before, or a payload repeats some but not all subsections.
    #: Sections with equal paths cannot be addressed.
    DUPLICATE_HEADING = "DUPLICATE_HEADING"
    #: Two edits of a batch change the same text, or one changes text in a section that the other deletes,
    #: replaces or moves. The message names both. To apply them one after the other, send `sequential: true`.
    #: The code also means that accepted edits of a plan depend on others.
    CONFLICTING_EDITS = "CONFLICTING_EDITS"
    #: The result would gain headings, front matter or regions that no edit wrote, or lose some: an unclosed
    #: fence, comment or HTML block swallows what follows, or a line of dashes turns the line above it into a
    #: heading. Or rows would drop out of their table, or lose cells.
    OUTLINE_CHANGED = "OUTLINE_CHANGED"
    #: A hunk of `apply_diff` does not match the file. Its context must be exact; lines may have moved.
    DIFF_DOES_NOT_APPLY = "DIFF_DOES_NOT_APPLY"
    #: A whole file that came back has a change that cannot be made in the style of the file so that the
    #: result is proven to mean the same: in what its editor writes otherwise anyway, for example.
    REWRITE_UNPROVEN = "REWRITE_UNPROVEN"
    #: A whole file that came back has no longer all HTML, images, footnotes, tables or front matter of the
    #: file. Editors and models drop these, so that it may not be meant: see how to [save what an editor
    #: wrote](../../how-to/save-rewrites.md).
    REWRITE_LOSES = "REWRITE_LOSES"
    #: mdformat failed or is not installed, or its output would render differently.
    FORMATTER_FAILED = "FORMATTER_FAILED"
    #: The encoding of the file cannot be detected, or the given one does not reproduce its bytes. ASCII text
    #: can still be written; for other text give `encoding`.
    ENCODING_UNKNOWN = "ENCODING_UNKNOWN"
    #: The file's encoding cannot represent a character of the new text.
    UNENCODABLE_TEXT = "UNENCODABLE_TEXT"
    # The plan.
    #: No plan with that ID is stored for this root: it belongs to another root or user, or has expired.
    PLAN_NOT_FOUND = "PLAN_NOT_FOUND"
    #: The plan ID, a hash of the plan, does not match; or planning the edits of a plan document again gives
    #: another plan. The plan was changed, is damaged, or was made by another version.
    PLAN_TAMPERED = "PLAN_TAMPERED"
    #: A person must approve the plan before it is committed, and has not yet. See how to [review
    #: plans](../../how-to/review-plans.md).
    APPROVAL_REQUIRED = "APPROVAL_REQUIRED", Exit.APPROVAL
    #: A person has rejected the plan, or the plan it was derived from; the message has their comments. mdplan
    #: refuses it everywhere, even if no approval is required. Make another plan that heeds the comments.
    PLAN_REJECTED = "PLAN_REJECTED", Exit.APPROVAL
    #: A person has requested changes to the plan, or to the plan it was derived from; the message has their
    #: comments. mdplan refuses it everywhere, like a rejected plan. Plan the revised edits, with the ID of
    #: this plan as `revises`: the reviewer then sees the differences. See how to [review
    #: plans](../../how-to/review-plans.md).
    CHANGES_REQUESTED = "CHANGES_REQUESTED", Exit.APPROVAL
    #: Somebody else decided on the plan after this page or terminal showed it, or its approval was used.
    #: Nothing was recorded: look at the plan again, then decide.
    STALE_DECISION = "STALE_DECISION", Exit.APPROVAL
    # The file cannot be used.
    #: There is no such file in the root. Paths are relative to the root and use `/`. The hint names the
    #: nearest file.
    FILE_NOT_FOUND = "FILE_NOT_FOUND"
    #: A file to create, or the new name of a file, already exists. mdplan overwrites nothing.
    FILE_EXISTS = ("FILE_EXISTS", Exit.REFUSED, "`{file}` exists already", "edit it, or choose another name")
    #: A file has more bytes or lines than the [limits](../limits.md) allow, or would have after the edits.
    FILE_TOO_LARGE = "FILE_TOO_LARGE"
    #: Parsing the file exceeds the time limit.
    PARSE_TIMEOUT = "PARSE_TIMEOUT"
    #: The file is not text (it contains NUL bytes, or does not decode as its byte order mark says), or not a
    #: regular file.
    NOT_A_TEXT_FILE = "NOT_A_TEXT_FILE"
    #: A path leads out of the root, or `--allow` and `--deny` exclude it; for a denial, the message names the
    #: glob.
    PATH_OUTSIDE_ROOT = "PATH_OUTSIDE_ROOT"
    #: Some system would read the path as something else: it has a backslash, a Windows drive or stream, or
    #: hidden characters; on Windows also another colon, a device name, or a final dot or space. `.git` and
    #: `.mdplan` are refused too.
    PATH_INVALID = "PATH_INVALID"
    #: A file, or a folder on its path, is a symbolic link. mdplan follows no links; if the target is inside
    #: the root, the hint names it.
    SYMLINK_REFUSED = "SYMLINK_REFUSED"
    #: The file has several names (hard links). Replacing it under one name would separate them.
    HARDLINK_REFUSED = "HARDLINK_REFUSED"
    #: Two paths of a batch are the same file, as on a case-insensitive file system.
    ALIAS_CONFLICT = "ALIAS_CONFLICT"
    #: The file or its file system is write-protected, the file has a special mode bit, or it is a Git LFS
    #: pointer.
    READ_ONLY = "READ_ONLY"
    #: The file belongs to somebody else, and would belong to you after it is replaced.
    OWNER_CHANGE = "OWNER_CHANGE"
    #: The system does not allow you to read or write the file or its folder.
    PERMISSION_DENIED = "PERMISSION_DENIED", Exit.ENVIRONMENT
    # The environment.
    #: Another program, usually another mdplan, held the lock of the root beyond the timeout. Nothing was
    #: written: try again.
    LOCK_TIMEOUT = "LOCK_TIMEOUT", Exit.ENVIRONMENT
    #: The file system, such as NFS, cannot lock folders. As a warning: mdplan locks a file in the state
    #: directory instead, so only commits with the same state directory exclude each other. As an error: that
    #: file cannot be locked either.
    LOCK_UNSUPPORTED = "LOCK_UNSUPPORTED", Exit.ENVIRONMENT
    #: Another program wrote to a file at the moment of the commit. mdplan keeps that text and undoes the
    #: commit; or, as a warning, the commit stays and the message says where the other text is.
    CONFLICT_LATE_WRITE = "CONFLICT_LATE_WRITE", Exit.STALE
    #: The disk, a quota, or the maximum size of a file is exhausted. mdplan undid the commit.
    NO_SPACE = "NO_SPACE", Exit.ENVIRONMENT
    #: The system failed to read or write. If this was during a commit, mdplan undid the commit.
    IO_ERROR = "IO_ERROR", Exit.ENVIRONMENT
    #: All files are new, but the disk did not confirm it: a power loss now may undo the whole commit. The
    #: next commit finds out.
    COMMIT_IN_DOUBT = "COMMIT_IN_DOUBT", Exit.ENVIRONMENT
    #: A commit was interrupted, and its leftovers must be repaired first. The next commit repairs those in
    #: its own state directory; for a commit by another user, container or job, a person runs `mdplan recover
    #: --adopt`. See [recovery](../../explanation/transaction-model.md#recovery).
    RECOVERY_REQUIRED = "RECOVERY_REQUIRED", Exit.ENVIRONMENT
    #: Somebody has changed a file on top of an interrupted commit. mdplan keeps both texts, and a person
    #: decides: `mdplan recover --keep-current` or `--restore-base`.
    RECOVERY_CONFLICT = "RECOVERY_CONFLICT", Exit.ENVIRONMENT
    #: mdplan's [store](../../explanation/transaction-model.md#the-store) is damaged, or from a newer version.
    #: mdplan never repairs or overwrites it, and commits nothing until it is moved aside, as the hint says.
    #: No document is affected.
    JOURNAL_CORRUPT = "JOURNAL_CORRUPT", Exit.ENVIRONMENT
    #: The folder of the root in the state directory is not yours, or others can write to it: its content
    #: cannot be trusted.
    STATE_DIR_UNSAFE = "STATE_DIR_UNSAFE", Exit.ENVIRONMENT
    #: The file is a mount point or being executed; or, with `--git`, the branch is checked out in a work
    #: tree.
    TARGET_BUSY = "TARGET_BUSY", Exit.ENVIRONMENT
    #: An edit drops or changes what `keep` of the edit, the batch, the manifest or the server promises to
    #: keep; `lost` says what. Write it again, or allow it with `drop`. See [what an edit
    #: drops](../../explanation/losses.md#refuse-losses).
    CONTENT_LOST = "CONTENT_LOST"
    # Warnings.
    #: A link that resolved before the edits is broken after them, or a link in new text is broken. With
    #: `updateReferences`, mdplan rewrites links: see how to [keep links
    #: right](../../how-to/keep-links-right.md).
    BROKEN_LINK = "BROKEN_LINK", Exit.DONE
    #: A link still resolves after the edits, but to another place: a second heading with the same name now
    #: comes first, or another definition has its label. With `updateReferences` the link follows.
    LINK_RETARGETED = "LINK_RETARGETED", Exit.DONE
    #: A link does not name a file of the plan, or a changed heading in it, but would with another case,
    #: suffix, index file or first folder. The rules of the site decide: see how to [keep links
    #: right](../../how-to/keep-links-right.md).
    LINK_UNCERTAIN = "LINK_UNCERTAIN", Exit.DONE
    #: An edit that replaces text drops some of it, or gives a link or number another value: it is in no new
    #: text of the plan. See [what an edit drops](../../explanation/losses.md).
    CONTENT_DROPPED = "CONTENT_DROPPED", Exit.DONE
    #: A file loses more than 100 lines, or more than half of its lines, without replacement. This may be
    #: intended, so it is only a warning.
    LARGE_DELETION = "LARGE_DELETION", Exit.DONE
    #: Separate lists become one list in the result: their numbers continue, and their items are spaced alike.
    #: Or text next to a list becomes part of it.
    LISTS_MERGED = "LISTS_MERGED", Exit.DONE
    #: A whole file that came back writes something otherwise without another meaning. It stays as it was.
    STYLE_KEPT = "STYLE_KEPT", Exit.DONE
    #: `mdplan check`: the file has a new kind of line ending.
    LINE_ENDS_CHANGED = "LINE_ENDS_CHANGED", Exit.DONE
    #: `mdplan check`: the byte order mark or the encoding of the file has changed.
    ENCODING_CHANGED = "ENCODING_CHANGED", Exit.DONE
    #: `mdplan check`: the line of a heading still exists, but is now text or code.
    HEADING_LOST = "HEADING_LOST", Exit.DONE
    #: `mdplan check`: a task lost a space of its `- [ ]`, so it is now text, or an item without a box.
    TASK_LOST = "TASK_LOST", Exit.DONE
    #: `mdplan check`: a code block, comment or HTML block is unclosed, so it contains all following text.
    BLOCK_UNCLOSED = "BLOCK_UNCLOSED", Exit.DONE
    #: A table row has more cells than the table has columns; `mdplan check` also reports rows that became
    #: text.
    TABLE_TORN = "TABLE_TORN", Exit.DONE
    #: A value of front matter or a data file has another type than before the change, such as text that
    #: became a number. A warning of `mdplan check` and `set_value`: send the value as JSON of the intended
    #: type.
    FRONT_MATTER_TYPE = "FRONT_MATTER_TYPE", Exit.DONE
    #: `mdplan check`: one of the two markers of a region is missing.
    REGION_UNBALANCED = "REGION_UNBALANCED", Exit.DONE
    #: A tag around Markdown lost its other half: a `:::` block, `<details>` or another element, a component,
    #: a Liquid block or a shortcode.
    UNBALANCED_TAG = "UNBALANCED_TAG", Exit.DONE
    #: In a sequential batch, an edit changed text written by an earlier edit.
    OVERLAPPING_EDIT = "OVERLAPPING_EDIT", Exit.DONE
    #: mdplan skipped a match because it could not determine which kind of node contains it.
    UNDECIDED_NODE = "UNDECIDED_NODE", Exit.DONE
    #: Lists or quotes exceed the parser's nesting limit; later blocks may be missing in the output.
    NESTING_LIMIT = "NESTING_LIMIT", Exit.DONE
    #: A transaction cannot be undone: the history no longer has the old text, or could not store it. After a
    #: commit it is a warning.
    NOT_UNDOABLE = "NOT_UNDOABLE"
    #: The file system cannot exchange two files atomically, so a concurrent write by another program may have
    #: been lost.
    WEAK_CAS = "WEAK_CAS", Exit.DONE


# Warnings about links; a plan of more or other files can find more or fewer of them.
LINK_CODES: Final = frozenset({Code.BROKEN_LINK, Code.LINK_RETARGETED, Code.LINK_UNCERTAIN})


class Candidate(Struct, kw_only=True):
    """A possible target of an address. Lines are 1-based and inclusive.

    Sections and keys of INI files have no ID; their path is the name of the section, and of the key.
    """

    section_id: str | None = None
    heading_path: tuple[str, ...]
    start_line: int
    end_line: int


class Lost(Struct, kw_only=True):
    """A part of a text that an edit drops, cut at 200 characters.

    `kind` is what it is, such as ``list item`` or ``link``; of a link, `text` is where it leads. `became` is
    what stands there now, if anything.
    """

    kind: str
    text: str
    became: str | None = None


class Diagnostic(Struct, kw_only=True):
    """A problem or warning.

    `message` describes the problem without text of files; `hint` is the next step, with values to paste.
    `edit_index` is 0-based across the batch; `place` is 1-based. `near` lists text similar to a text that was
    not found, and `lost` up to 50 parts that an edit drops, or they are None. The constructors `invalid` and
    `warning` are internal.

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
    lost: tuple[Lost, ...] | None = None

    @classmethod
    def invalid(cls, message: str, hint: str = "", **where: Unpack[Where]) -> "Diagnostic":
        """Return INVALID_ARGUMENT: the request itself is wrong."""
        return cls(code=Code.INVALID_ARGUMENT, message=message, hint=hint, **where)

    @classmethod
    def warning(cls, code: Code, message: str, hint: str = "", **where: Unpack[Where]) -> "Diagnostic":
        """Return a warning, which does not stop the plan."""
        return code.warning(message, hint, **where)

    def __str__(self) -> str:
        """Return code, place, message and hint in one or two lines, in Python terms."""
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
        """Return the diagnostic with `file` and `edit_index`, unless it has them already."""
        return replace(
            self,
            file=self.file if self.file is not None else file,
            edit_index=self.edit_index if self.edit_index is not None else edit_index,
        )


Problems = tuple[Diagnostic, ...]


# It also carries problems internally, from where they are found to where the edit is resolved.
class Refused(Exception):  # noqa: N818 (it is no error of the program)
    """The exception of `Report.unwrap` for a report that is not `ok`; `diagnostics` has all problems.

    The message contains code, place and hint of each, so that a traceback shows what to do.

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
    """Return the result of `find`, or the problem of its refusal."""
    try:
        return find(*args, **options)
    except Refused as refused:
        return refused.diagnostics[0]


def or_problems(make: Callable[..., _Found], *args: Any) -> _Found | Problems:  # noqa: ANN401
    """Return the result of `make`, or all problems of its refusal."""
    try:
        return make(*args)
    except Refused as refused:
        return refused.diagnostics


def refuse_if(problems: Iterable[Diagnostic]) -> None:
    """Raise `Refused` if there are `problems`."""
    problems = tuple(problems)
    if problems:
        raise Refused(*problems)


def both(first: Callable[[], _Found], second: Callable[[], _Other]) -> tuple[_Found, _Other]:
    """Return both results; raise `Refused` with the problems of both."""
    try:
        found = first()
    except Refused as refused:
        try:
            second()
        except Refused as also:
            raise Refused(*refused.diagnostics, *also.diagnostics) from None
        raise
    return found, second()


# Nobody reads more, and finding near names for each takes time.
MOST_PROBLEMS: Final = 1_000
AND_MORE: Final = Diagnostic.invalid(
    f"there are more than {MOST_PROBLEMS} problems: what follows was not checked", "correct these first"
)
