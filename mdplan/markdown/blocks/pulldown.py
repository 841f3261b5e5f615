"""The Markdown parser pulldown-cmark, through its binding pyromark. No other module imports pyromark.

The parser turns a text into a flat sequence of events, each with its range in bytes of UTF-8. This module
prepares texts for the parser, stops it at the time limit, and converts ranges to offsets in code points.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Final, TypeAlias

import pyromark

from mdplan.markdown.blocks.deadline import check_deadline_often

__all__ = [
    "Event",
    "EventBatch",
    "ParserFailure",
    "PreparedText",
    "Range",
    "Tag",
    "event_batches",
    "is_nested_too_deep",
    "leading_definition",
]

# Names of types alone, whose module takes longer to import than the parser.
if TYPE_CHECKING:
    import pyromark.event
# What starts or ends: its name, or that with its data.
Tag: TypeAlias = str | Mapping[str, object]
Event: TypeAlias = "pyromark.event.Event"
Range: TypeAlias = "pyromark.event.Range"
EventBatch: TypeAlias = "tuple[tuple[Event, Range], ...]"
# Label of a reference without a definition -> whether to read it as a link.
IsLabel: TypeAlias = Callable[[str], bool]

# GitHub's extensions. Task boxes and wiki links are read elsewhere; `ENABLE_GFM` adds only alerts in quotes.
_OPTIONS: Final = (
    pyromark.Options.ENABLE_TABLES | pyromark.Options.ENABLE_FOOTNOTES | pyromark.Options.ENABLE_STRIKETHROUGH
)
# The most container markers in one line. The parser takes time for each of them in each lazy line below; and
# markdown-it-py, which then reads the file, nests as deep as twice as many: an item and its list.
MAX_MARKERS: Final = 200
_BATCH: Final = 64
_MARKERS: Final = rf"(?:[ \t]*+(?:>|(?:[-+*]|[0-9]{{1,9}}[.)])[ \t])){{{MAX_MARKERS + 1}}}"
_TOO_DEEP: Final = re.compile(rf"\n{_MARKERS}")
# The parser takes a tab for something else than white space after closing fences and in delimiter rows.
_LAST_TABS: Final = re.compile(r"(?m)\t[|: \t-]*(?=\r?$)")
_CONTAINERS: Final = r"(?:[ \t]*(?:>|(?:[-+*]|[0-9]{1,9}[.)])(?=[ \t])))*+[ \t]*"
_CLOSING_FENCE: Final = re.compile(rf"{_CONTAINERS}(?:`{{3,}}|~{{3,}})(?P<marks>[ \t]*)")
_DELIMITER_ROW: Final = re.compile(rf"{_CONTAINERS}(?P<marks>[|:-][|: \t-]*)")
_LONE_CR: Final = re.compile(r"\r(?!\n)")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_CONTINUATION_BYTES: Final = bytes(range(0x80, 0xC0))
_STEP: Final = 1024


class ParserFailure(Exception):  # noqa: N818 - Callers treat it as a result: they ask the other parser.
    """The parser failed on a text because of a bug of its own."""


class PreparedText:
    """A text as the parser takes it: the same number of code points, each in the same place.

    In `source` NUL is U+FFFD and a lone CR is LF, as CommonMark reads them. In `text`, which is for the
    parser, lone surrogates are U+FFFD, too, and a few characters that the parser reads otherwise than
    CommonMark does are replaced by others of the same meaning.
    """

    def __init__(self, text: str) -> None:
        """Prepare `text`; offsets of the result count from its start."""
        self.source = _LONE_CR.sub("\n", text).replace("\0", "\ufffd")
        self.text = _prepared(self.source)
        self._is_ascii = self.text.isascii()
        self._data = b"" if self._is_ascii else self.text.encode()
        # Code points before every `_STEP`th byte.
        self._counts = (
            [] if self._is_ascii else list(accumulate(map(_code_points, self._pieces()), initial=0))
        )

    def bounds(self, place: Range) -> tuple[int, int]:
        """Start and end of the range of an event in code points."""
        if self._is_ascii:
            return place["start"], place["end"]
        return self.offset(place["start"]), self.offset(place["end"])

    def offset(self, byte: int) -> int:
        """The code point at a byte offset of an event."""
        if self._is_ascii:
            return byte
        step = byte // _STEP
        return self._counts[step] + _code_points(self._data[step * _STEP : byte])

    def _pieces(self) -> Iterator[bytes]:
        return (self._data[start : start + _STEP] for start in range(0, len(self._data), _STEP))


def event_batches(text: str, is_label: IsLabel | None = None) -> Iterator[EventBatch]:
    """Events of `text`, which is the text of a `PreparedText`, some hundred at a time, in document order.

    `is_label` is asked about labels that `text` does not define. Raises `ParserFailure`, and `ParseTimeout`
    between two batches.
    """

    def resolve(link: "pyromark.event.BrokenLink") -> tuple[str, str] | None:
        return ("", "") if is_label is not None and is_label(link["reference"]) else None

    with _panics_caught():
        events = pyromark.events_with_range(
            text, options=_OPTIONS, broken_link_callback=resolve if is_label else None
        )
        while batch := tuple(islice(events, _BATCH)):
            check_deadline_often()
            yield batch


def leading_definition(text: str) -> int | None:
    """Where the link reference definition ends that `text`, which is prepared, begins with; None without one.

    The end is an offset in code points. Raises `ParserFailure`.
    """
    with _panics_caught():
        found = pyromark.reference_definitions(text, options=_OPTIONS)
    spans = (definition["span"] for definition in found.values())
    end = next((span["end"] for span in spans if not span["start"]), None)
    return None if end is None else len(text.encode()[:end].decode())


@contextmanager
def _panics_caught() -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        # A panic in Rust is no `Exception`, and its class cannot be imported.
        if type(error).__name__ == "PanicException":
            raise ParserFailure from error
        raise


def is_nested_too_deep(text: str) -> bool:
    """Whether a line of `text`, in LF or CRLF, has more than `MAX_MARKERS` markers of containers."""
    return _TOO_DEEP.search("\n" + text) is not None


def _prepared(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        text = _SURROGATE.sub("\ufffd", text)
    # A blank line has neither of them.
    text = text.replace("\v", "\x7f").replace("\f", "\x7f")
    return _LAST_TABS.sub(_with_spaces, text)


def _with_spaces(tabs: re.Match[str]) -> str:
    line = tabs.string[tabs.string.rfind("\n", 0, tabs.start()) + 1 : tabs.end()]
    found = _CLOSING_FENCE.fullmatch(line) or _DELIMITER_ROW.fullmatch(line)
    if found is None:
        return tabs[0]
    # Tabs before the marks are indentation.
    indentation = max(len(tabs[0]) - len(found["marks"]), 0)
    return tabs[0][:indentation] + tabs[0][indentation:].replace("\t", " ")


def _code_points(data: bytes) -> int:
    return len(data) if data.isascii() else len(data.translate(None, _CONTINUATION_BYTES))
