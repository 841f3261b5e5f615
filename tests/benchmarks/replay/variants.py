"""Real changes in other bytes: line ends, byte order mark, last line end, encoding, a large file."""

from collections.abc import Callable, Iterator, Sequence

from mdplan.markdown.format_detection import document_format
from mdplan.markdown.outline import Outline
from mdplan.text.source import Source
from tests.benchmarks.replay.changes import Change, Repository
from tests.benchmarks.replay.tools import Tool, derived_call, planned

_LARGE = 1_000_000
_LATIN_1 = "latin-1"


def _large(text: str) -> str:
    """`text` in the middle of a file of a megabyte, among sections that are alike."""
    section = (
        "## Part {}\n\n" + "This line is number {} of a part that is like many others in a long file.\n" * 40
    )
    count = max((_LARGE - len(text)) // len(section) // 2, 1)
    parts = [section.format(number, *[number] * 40) for number in range(2 * count)]
    return "\n".join((*parts[:count], text, *parts[count:]))


VARIANTS: dict[str, Callable[[str], bytes]] = {
    "CRLF": lambda text: text.replace("\n", "\r\n").encode(),
    "byte order mark": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "no final newline": lambda text: text.rstrip("\n").encode(),
    "Latin-1": lambda text: f"{text}\nÄ ö ü ß é\n".encode(_LATIN_1),
    "1 MB": lambda text: _large(text).encode(),
}


def variant_rows(change: Change, repository: Repository, tools: Sequence[Tool]) -> dict[str, dict[str, bool]]:
    """Return, for each possible variant of `change`, which `tools` make it byte for byte."""
    texts = [repository.blob(name) for name in (change.old, change.new)]
    found: dict[str, dict[str, bool]] = {}
    for name, transcode in VARIANTS.items():
        try:
            old, new = (transcode(data.decode()) for data in texts)
        except UnicodeError:
            continue
        if old != new:
            found[name] = dict(_results(tools, change.path, old, new, name))
    return found


def _results(
    tools: Sequence[Tool], path: str, old: bytes, new: bytes, variant: str
) -> Iterator[tuple[str, bool]]:
    encoding = _LATIN_1 if variant == "Latin-1" else "utf-8"
    for tool in tools:
        if tool.name == "mdplan":
            yield tool.name, _by_mdplan(path, old, new, _LATIN_1 if encoding == _LATIN_1 else None)
        elif encoding == "utf-8" or tool.takes_bytes:
            yield tool.name, _by(tool, path, old, new)
        else:
            # It reads files as UTF-8.
            yield tool.name, False


def _by_mdplan(path: str, old: bytes, new: bytes, encoding: str | None) -> bool:
    before, after = (_outline(path, data, encoding) for data in (old, new))
    call = derived_call(path, before, after, encoding)
    made = planned(call, before) if call is not None else None
    return made is not None and made.source.data == new


def _outline(path: str, data: bytes, encoding: str | None) -> Outline:
    source = Source.decode(data, encoding)
    assert isinstance(source, Source)
    return Outline(source, document_format(path, source.text))


def _by(tool: Tool, path: str, old: bytes, new: bytes) -> bool:
    before, after = (data.decode("utf-8", "surrogateescape") for data in (old, new))
    call = tool.write(path, before, after)
    return call is not None and tool.apply(call, path, before, before) == after
