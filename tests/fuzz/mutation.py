"""Changes that keep the shape of a text or of JSON, so that they lead further in than flipped bits do."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from random import Random
from typing import Any, Final, TypeAlias

Json: TypeAlias = Any
Place: TypeAlias = "tuple[dict[str, Any] | list[Any], Any]"
_LINES: Final = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
PIECES: Final[tuple[bytes, ...]] = (
    *(b"\n", b"\r\n", b"\r", b"\n\n", b" ", b"    ", b"\t", b"\xe2\x80\xa8", b"\x0c", b"\x85", b"\xc2\x85"),
    *(b"# A\n", b"## B", b"#", b"===\n", b"---\n", b"- - -\n", b"- ", b"1. ", b"* [ ] x\n", b"> ", b"a\n"),
    *(b"```\n", b"~~~", b"`", b"<!--", b"-->", b"<div>", b"</div>\n", b"<script>", b"<?", b"<![CDATA["),
    *(b"| a | b |\n|---|---|\n| 1 | 2 |\n", b"|", b"\\|", b"\\", b"&amp;", b"[a]: /u\n", b"[^1]: x\n"),
    *(b"[x](a.md#b)", b"![", b"](", b"[[a]]", b"<http://x>", b"<!-- toc:start -->\n", b"<!-- toc:end -->\n"),
    *(b"---\na: 1\n---\n", b"+++\na = 1\n+++\n", b"a: ", b"? ", b": ", b"&a ", b"*a", b"!!str ", b"|\n  x\n"),
    *(b"{", b"}", b"[", b"]", b",", b'"', b"'", b"''", b"#", b"%YAML 1.1\n", b"...\n", b"'''", b'"""', b"="),
    *(b"[s]\n", b"[[t]]\n", b"k = v\n", b"; c\n", b"a.b.c = 1\n", b"1979-05-27", b"<<: ", b"~", b"null"),
    *(
        b"@@ -1 +1 @@\n",
        b"@@ -1,2 +3,0 @@\n",
        b"--- a/x.md\n",
        b"+++ b/x.md\n",
        b"--- /dev/null\n",
        b"+",
        b"-",
    ),
    *(b"diff --git a/x b/x\n", b"\\ No newline at end of file\n", b"rename from a\nrename to b\n"),
    *(
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b"\xff",
        b"\xc3",
        b"\xed\xa0\x80",
        b"\0",
        b"\xf0\x9f\x98\x80",
        b"e\xcc\x81",
    ),
)
NUMBERS: Final = (-1, 0, 1, 2, 3, 5, 100, 2**31, 2**63, 10**30, 1.0, 1.5, 1e400, float("nan"))
TEXTS: Final = (
    *("", " ", "a", "# A", "A", "\n", "\r", "```\n", "---\n", "all", "first", "last", "2", "1-2", "yes", "é"),
    *(
        "\ud800",
        "\udc80",
        "\u2028",
        "\x00",
        "(",
        "(a+)+$",
        r"\g<0>",
        "[]",
        "{}",
        '{"a": 1}',
        "sha256-",
        "../x",
    ),
)


def mutated_text(data: bytes, dice: Random) -> bytes:
    """`data` with lines moved, copied, gone or joined, and with pieces that mean something put in."""
    for _ in range(dice.choice((1, 1, 1, 2, 3, 5))):
        data = dice.choice(_WAYS)(data, dice)
    return data


def _inserted(data: bytes, dice: Random) -> bytes:
    at = dice.randint(0, len(data))
    return data[:at] + dice.choice(PIECES) + data[at:]


def _inserted_line(data: bytes, dice: Random) -> bytes:
    lines = _LINES.findall(data)
    lines.insert(dice.randint(0, len(lines)), dice.choice(PIECES))
    return b"".join(lines)


def _cut(data: bytes, dice: Random) -> bytes:
    start = dice.randint(0, len(data))
    return data[:start] + data[start + dice.choice((1, 1, 2, 5, 40)) :]


def _without_line(data: bytes, dice: Random) -> bytes:
    lines = _LINES.findall(data)
    if lines:
        del lines[dice.randrange(len(lines))]
    return b"".join(lines)


def _copied_line(data: bytes, dice: Random) -> bytes:
    lines = _LINES.findall(data)
    if lines:
        lines.insert(dice.randint(0, len(lines)), dice.choice(lines))
    return b"".join(lines)


def _indented(data: bytes, dice: Random) -> bytes:
    lines = _LINES.findall(data)
    if lines:
        start = dice.randrange(len(lines))
        lead = dice.choice((b" ", b"  ", b"    ", b"> ", b"- ", b"\t", b"+", b"-"))
        end = start + dice.choice((1, 1, 2, 6))
        lines[start:end] = [lead + line for line in lines[start:end]]
    return b"".join(lines)


def _other_byte(data: bytes, dice: Random) -> bytes:
    at = dice.randrange(len(data) + 1)
    return data[:at] + bytes([dice.randrange(256)]) + data[at + 1 :]


def _other_line_ends(data: bytes, dice: Random) -> bytes:
    return data.replace(b"\n", dice.choice((b"\r\n", b"\r")))


_WAYS: Final[tuple[Callable[[bytes, Random], bytes], ...]] = (
    *(_inserted, _inserted, _inserted_line, _inserted_line, _cut, _without_line, _copied_line, _indented),
    *(_other_byte, _other_line_ends),
)


def mutated_json(value: Json, dice: Random, known: Sequence[Json]) -> Json:
    """Return `value` with some parts replaced, deleted, doubled or turned into text; new ones come from
    `known`.

    Objects and lists are changed in place.
    """
    for _ in range(dice.choice((1, 1, 2, 3))):
        places = list(_places(value))
        if not places:
            return dice.choice(known) if known else {}
        parent, key = dice.choice(places)
        _change(parent, key, dice, known)
    return value


def _change(parent: Any, key: Any, dice: Random, known: Sequence[Json]) -> None:
    old = parent[key]
    match dice.randrange(7):
        case 0:
            del parent[key]
        case 1 if known:
            parent[key] = deepcopy(dice.choice(known))
        case 2 if isinstance(parent, list):
            parent.insert(dice.randint(0, len(parent)), deepcopy(old))
        case 3 if isinstance(old, dict | list):
            parent[key] = json.dumps(old)
        case 4:
            parent[key] = dice.choice((None, True, False, [], {}, [old], {str(key): old}))
        case _:
            parent[key] = other_scalar(old, dice)


def other_scalar(old: Json, dice: Random) -> Json:
    """Return another value, usually of the type of `old`."""
    if isinstance(old, str) and old and dice.random() < 0.5:
        return mutated_text(old.encode("utf-8", "surrogatepass"), dice).decode("utf-8", "replace")
    if isinstance(old, int) and not isinstance(old, bool) and dice.random() < 0.7:
        return max(old + dice.choice((-1, 1, 2)), -1)
    return dice.choice(dice.choice((NUMBERS, TEXTS, TEXTS)))


def _places(value: Json) -> Iterator[Place]:
    """Every place in `value` that holds something, as what it is in and the key or index there."""
    waiting = [value]
    while waiting:
        parent = waiting.pop()
        if not isinstance(parent, dict | list):
            continue
        for key in list(parent) if isinstance(parent, dict) else range(len(parent)):
            yield parent, key
            waiting.append(parent[key])
