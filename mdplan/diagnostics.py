"""Diagnostics: problems as values with a code, a message with its place, and a hint at the next step."""

from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum
from typing import Final, Self, TypedDict, Unpack

from mdplan.text.lines import NearMiss, Position
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

    def warning(self, message: str, hint: str = "", **where: Unpack[Where]) -> "Diagnostic":
        """Make the warning with this code, which does not stop the plan."""
        return Diagnostic(code=self, message=message, hint=hint, severity=Severity.WARNING, **where)

    def of(self, **fields: object) -> "Diagnostic":
        """Make the error of a code that has one message, with the `fields` of that and of its hint."""
        file = str(fields["file"]) if "file" in fields else None
        return self.problem(say(self.message, **fields), say(self.hint, **fields), file=file)

    # The batch cannot be understood.
    INVALID_ARGUMENT = "INVALID_ARGUMENT", Exit.INVALID
    UNKNOWN_FIELD = "UNKNOWN_FIELD", Exit.INVALID
    INVALID_HEADING_PATH = "INVALID_HEADING_PATH", Exit.INVALID
    INVALID_REGEX = "INVALID_REGEX", Exit.INVALID
    BATCH_TOO_LARGE = "BATCH_TOO_LARGE", Exit.INVALID
    # An address names nothing, or too much.
    SECTION_NOT_FOUND = "SECTION_NOT_FOUND"
    AMBIGUOUS_HEADING = "AMBIGUOUS_HEADING"
    ANCHOR_NOT_FOUND = "ANCHOR_NOT_FOUND"
    CODE_BLOCK_NOT_FOUND = "CODE_BLOCK_NOT_FOUND"
    REGION_NOT_FOUND = "REGION_NOT_FOUND"
    TABLE_NOT_FOUND = "TABLE_NOT_FOUND"
    LIST_NOT_FOUND = "LIST_NOT_FOUND"
    FRONT_MATTER_NOT_FOUND = "FRONT_MATTER_NOT_FOUND"
    FRONT_MATTER_INVALID = "FRONT_MATTER_INVALID"
    DATA_INVALID = "DATA_INVALID"
    SCHEMA_VIOLATION = "SCHEMA_VIOLATION"
    KEY_NOT_FOUND = "KEY_NOT_FOUND"
    RANGE_OUT_OF_BOUNDS = "RANGE_OUT_OF_BOUNDS"
    # A guard does not hold.
    TEXT_MISMATCH = "TEXT_MISMATCH"
    MATCH_COUNT_MISMATCH = "MATCH_COUNT_MISMATCH"
    SECTION_CHANGED = (
        "SECTION_CHANGED",
        Exit.STALE,
        "the section at lines {first}-{last} has changed",
        "read it again; its {sectionSha256} is now {now}",
    )
    STALE_BASE = "STALE_BASE", Exit.STALE
    MERGE_CONFLICT = "MERGE_CONFLICT", Exit.STALE
    PRECONDITION_REQUIRED = "PRECONDITION_REQUIRED"
    # The edits cannot be made as asked.
    REGEX_TIMEOUT = "REGEX_TIMEOUT"
    EMPTY_CONTENT = "EMPTY_CONTENT", Exit.INVALID
    HEADING_LEVEL_OVERFLOW = "HEADING_LEVEL_OVERFLOW"
    DUPLICATE_HEADING = "DUPLICATE_HEADING"
    CONFLICTING_EDITS = "CONFLICTING_EDITS"
    OUTLINE_CHANGED = "OUTLINE_CHANGED"
    DIFF_DOES_NOT_APPLY = "DIFF_DOES_NOT_APPLY"
    FORMATTER_FAILED = "FORMATTER_FAILED"
    ENCODING_UNKNOWN = "ENCODING_UNKNOWN"
    UNENCODABLE_TEXT = "UNENCODABLE_TEXT"
    # The plan.
    PLAN_NOT_FOUND = "PLAN_NOT_FOUND"
    PLAN_TAMPERED = "PLAN_TAMPERED"
    APPROVAL_REQUIRED = "APPROVAL_REQUIRED", Exit.APPROVAL
    PLAN_REJECTED = "PLAN_REJECTED", Exit.APPROVAL
    CHANGES_REQUESTED = "CHANGES_REQUESTED", Exit.APPROVAL
    STALE_DECISION = "STALE_DECISION", Exit.APPROVAL
    # The file cannot be used.
    FILE_NOT_FOUND = "FILE_NOT_FOUND"
    FILE_EXISTS = ("FILE_EXISTS", Exit.REFUSED, "`{file}` exists already", "edit it, or choose another name")
    FILE_TOO_LARGE = "FILE_TOO_LARGE"
    PARSE_TIMEOUT = "PARSE_TIMEOUT"
    NOT_A_TEXT_FILE = "NOT_A_TEXT_FILE"
    PATH_OUTSIDE_ROOT = "PATH_OUTSIDE_ROOT"
    PATH_INVALID = "PATH_INVALID"
    SYMLINK_REFUSED = "SYMLINK_REFUSED"
    HARDLINK_REFUSED = "HARDLINK_REFUSED"
    ALIAS_CONFLICT = "ALIAS_CONFLICT"
    READ_ONLY = "READ_ONLY"
    OWNER_CHANGE = "OWNER_CHANGE"
    PERMISSION_DENIED = "PERMISSION_DENIED", Exit.ENVIRONMENT
    # The environment.
    LOCK_TIMEOUT = "LOCK_TIMEOUT", Exit.ENVIRONMENT
    LOCK_UNSUPPORTED = "LOCK_UNSUPPORTED", Exit.ENVIRONMENT
    CONFLICT_LATE_WRITE = "CONFLICT_LATE_WRITE", Exit.STALE
    NO_SPACE = "NO_SPACE", Exit.ENVIRONMENT
    IO_ERROR = "IO_ERROR", Exit.ENVIRONMENT
    COMMIT_IN_DOUBT = "COMMIT_IN_DOUBT", Exit.ENVIRONMENT
    RECOVERY_REQUIRED = "RECOVERY_REQUIRED", Exit.ENVIRONMENT
    RECOVERY_CONFLICT = "RECOVERY_CONFLICT", Exit.ENVIRONMENT
    JOURNAL_CORRUPT = "JOURNAL_CORRUPT", Exit.ENVIRONMENT
    STATE_DIR_UNSAFE = "STATE_DIR_UNSAFE", Exit.ENVIRONMENT
    TARGET_BUSY = "TARGET_BUSY", Exit.ENVIRONMENT
    # Warnings.
    BROKEN_LINK = "BROKEN_LINK", Exit.DONE
    LINK_RETARGETED = "LINK_RETARGETED", Exit.DONE
    LINK_UNCERTAIN = "LINK_UNCERTAIN", Exit.DONE
    LARGE_DELETION = "LARGE_DELETION", Exit.DONE
    LISTS_MERGED = "LISTS_MERGED", Exit.DONE
    LINE_ENDS_CHANGED = "LINE_ENDS_CHANGED", Exit.DONE
    ENCODING_CHANGED = "ENCODING_CHANGED", Exit.DONE
    HEADING_LOST = "HEADING_LOST", Exit.DONE
    TASK_LOST = "TASK_LOST", Exit.DONE
    BLOCK_UNCLOSED = "BLOCK_UNCLOSED", Exit.DONE
    TABLE_TORN = "TABLE_TORN", Exit.DONE
    FRONT_MATTER_TYPE = "FRONT_MATTER_TYPE", Exit.DONE
    REGION_UNBALANCED = "REGION_UNBALANCED", Exit.DONE
    UNBALANCED_TAG = "UNBALANCED_TAG", Exit.DONE
    OVERLAPPING_EDIT = "OVERLAPPING_EDIT", Exit.DONE
    UNDECIDED_NODE = "UNDECIDED_NODE", Exit.DONE
    NESTING_LIMIT = "NESTING_LIMIT", Exit.DONE
    NOT_UNDOABLE = "NOT_UNDOABLE"
    WEAK_CAS = "WEAK_CAS", Exit.DONE


# Warnings about links; a plan of more or other files can find more or fewer of them.
LINK_CODES: Final = frozenset({Code.BROKEN_LINK, Code.LINK_RETARGETED, Code.LINK_UNCERTAIN})


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One place that an address could mean. Lines are 1-based and inclusive.

    Sections and keys of INI files have no ID; their path is the name of the section, and of the key.
    """

    section_id: str | None = None
    heading_path: tuple[str, ...]
    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
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

    def __init__(self, diagnostics: Problems) -> None:
        self.diagnostics = diagnostics
        super().__init__(diagnostics)

    def __str__(self) -> str:
        return "\n".join(map(str, self.diagnostics))


# No one reads more than these, and finding the nearest names for each takes time.
MOST_PROBLEMS: Final = 1_000
AND_MORE: Final = Diagnostic.invalid(
    f"there are more than {MOST_PROBLEMS} problems: what follows was not checked", "correct these first"
)
