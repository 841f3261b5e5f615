"""System errors as diagnostics, and the exception that carries diagnostics out of a commit."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from mdplan.diagnostics import Code, Diagnostic, Problems

_CODES: Final = {
    errno.ENOSPC: (Code.NO_SPACE, "free some space and try again"),
    errno.EDQUOT: (Code.NO_SPACE, "your disk quota is used up; free some space and try again"),
    errno.EFBIG: (Code.NO_SPACE, "the limit on file size (`ulimit -f`) or of the file system is reached"),
    errno.EACCES: (Code.PERMISSION_DENIED, "check the permissions of the file and of its folder"),
    errno.EPERM: (Code.PERMISSION_DENIED, "check owner, permissions and the immutable flag (`lsattr`)"),
    errno.EROFS: (Code.READ_ONLY, "the file system is mounted read-only"),
    errno.EBUSY: (Code.TARGET_BUSY, "the file is a mount point or in use; edit it where it is not"),
    errno.EXDEV: (Code.TARGET_BUSY, "the file is a mount point; edit it where it is not"),
    errno.ETXTBSY: (Code.TARGET_BUSY, "the file is being executed"),
    errno.ENOENT: (Code.FILE_NOT_FOUND, "check that the folder exists"),
    errno.ELOOP: (Code.SYMLINK_REFUSED, "name the file that the link points to"),
    errno.ENAMETOOLONG: (Code.PATH_INVALID, "use a shorter name"),
    errno.EMFILE: (Code.IO_ERROR, "raise the limit of open files (`ulimit -n`), or send a smaller batch"),
    errno.ENFILE: (Code.IO_ERROR, "the system has too many open files; try again"),
}


class StorageRefused(Exception):  # noqa: N818 - It is an answer of the environment, not a bug.
    """A commit or the opening of a root was refused; `problems` says why, errors before warnings.

    The constructor `of` is for mdplan itself.

    >>> try:
    ...     Engine.open(["missing"])
    ... except StorageRefused as refused:
    ...     print(refused.problems[0].code.value)
    FILE_NOT_FOUND
    """

    def __init__(self, problems: Problems) -> None:
        super().__init__("; ".join(problem.message for problem in problems))
        self.problems = problems

    @classmethod
    def of(cls, code: Code, message: str, hint: str, *, file: str | None = None) -> "StorageRefused":
        """The exception with one problem."""
        return cls((Diagnostic(code=code, message=message, hint=hint, file=file),))


def of_error(error: OSError, shown: str, doing: str) -> Diagnostic:
    """The diagnostic for `error`, met while `doing` something (an -ing word) to the file `shown`."""
    code, hint = _CODES.get(error.errno or 0, (Code.IO_ERROR, "check the disk and try again"))
    reason = os.strerror(error.errno) if error.errno else type(error).__name__
    return Diagnostic(code=code, message=f"{doing} `{shown}` failed: {reason}", hint=hint, file=shown)


@contextmanager
def storage_errors(shown: str, doing: str) -> Iterator[None]:
    """Turn an `OSError` of the block into a `StorageRefused` about the file `shown`."""
    try:
        yield
    except OSError as error:
        raise StorageRefused((of_error(error, shown, doing),)) from error
