"""The system call `renameat2`, which Python does not have: rename with flags."""

import errno
import os
import sys
from collections.abc import Callable
from functools import cache
from typing import Any, Final

NO_REPLACE: Final = 1
EXCHANGE: Final = 2

# For C libraries without the function. A 32-bit process on a 64-bit system has other numbers; the name of the
# machine does not distinguish it, so it goes without.
CALL_NUMBERS: Final = {
    "x86_64": 316,
    "aarch64": 276,
    "riscv64": 276,
    "loongarch64": 276,
    "ppc64le": 357,
    "ppc64": 357,
    "s390x": 347,
}

Call = Callable[[int, bytes, int, bytes, int], int]


def rename_with(flags: int, directory: int, name: str, target_directory: int, target: str) -> None:
    """Rename `name` in `directory` to `target` in `target_directory` with `flags`.

    Raises `OSError`, with ENOSYS where the system has no such call and EINVAL where the file system does not.
    """
    call = system_call()
    if call is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), name)
    if call(directory, os.fsencode(name), target_directory, os.fsencode(target), flags) != 0:
        import ctypes

        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), name)


@cache
def system_call() -> Call | None:
    """The function of the C library, else the system call by its number, else nothing."""
    if sys.platform != "linux":
        return None
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    arguments: list[Any] = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
    function = getattr(library, "renameat2", None)
    if function is not None:
        function.argtypes = arguments
        return lambda *given: int(function(*given))
    number = CALL_NUMBERS.get(os.uname().machine) if sys.maxsize > 1 << 32 else None
    if number is None:
        return None
    library.syscall.restype = ctypes.c_long
    library.syscall.argtypes = [ctypes.c_long, *arguments]
    return lambda *given: int(library.syscall(number, *given))
