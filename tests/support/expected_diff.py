"""The shortest unified diff of two trees, made by `difflib`: the expected diff of a plan."""

from collections.abc import Iterator
from difflib import SequenceMatcher

from tests.support.patches import Tree, lf_lines

_CONTEXT = 3
_NO_NEWLINE = b"\n\\ No newline at end of file\n"


def expected_diff(before: Tree, after: Tree) -> bytes:
    """Return the diff of all files, sorted by path. A rename is a deletion and a creation."""
    return b"".join(
        _file_diff(path, before.get(path), after.get(path)) for path in sorted({**before, **after})
    )


def _file_diff(path: str, old: bytes | None, new: bytes | None) -> bytes:
    if old == new:
        return b""
    name = path.encode()
    lines = [b"diff --git a/%s b/%s\n" % (name, name)]
    if old is None:
        lines.append(b"new file mode 100644\n")
    if new is None:
        lines.append(b"deleted file mode 100644\n")
    hunks = list(_hunks(lf_lines(old or b""), lf_lines(new or b"")))
    if hunks:
        lines.append(b"--- a/%s\n" % name if old is not None else b"--- /dev/null\n")
        lines.append(b"+++ b/%s\n" % name if new is not None else b"+++ /dev/null\n")
    return b"".join(lines + hunks)


def _hunks(old: list[bytes], new: list[bytes]) -> Iterator[bytes]:
    for group in SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(_CONTEXT):
        first, last = group[0], group[-1]
        yield b"@@ -%s +%s @@\n" % (_range(first[1], last[2]), _range(first[3], last[4]))
        for tag, old_start, old_end, new_start, new_end in group:
            if tag == "equal":
                yield from (_line(b" ", line) for line in old[old_start:old_end])
            else:
                yield from (_line(b"-", line) for line in old[old_start:old_end])
                yield from (_line(b"+", line) for line in new[new_start:new_end])


def _range(start: int, end: int) -> bytes:
    return b"%d,%d" % (start + (end > start), end - start)


def _line(mark: bytes, line: bytes) -> bytes:
    return mark + (line if line.endswith(b"\n") else line + _NO_NEWLINE)
