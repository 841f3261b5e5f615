"""The bytes of a file, asked what it may say before it is decoded or parsed.

Every answer "no" is certain; "yes" only means that a closer look is needed.
"""

import codecs
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from mdplan.text.line_end_view import to_lf

_NO_ASCII: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_ATX: Final = re.compile(rb"#[ \t]([^\n]*)")
_UNDERLINE: Final = re.compile(rb"^[ \t>]*(?:=+|-+)[ \t]*$", re.MULTILINE)
_FRONT_MATTER: Final = re.compile(rb"---[ \t]*\n(?![ \t]*\n).*?\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_PLAIN: Final = re.compile(r"[^a-z0-9]+")
# A title with these may be markup, whose letters no heading needs to have.
_MARKUP: Final = frozenset("[]<>&\\")
# What may represent letters of ASCII: entities, and two letters whose lower case has one.
_STAND_INS: Final = re.compile("&|\u212a|\u0130".encode())


@dataclass(frozen=True)
class BytePrefilter:
    """`data` of a file that is read in `encoding`, None for the one that is found."""

    data: bytes
    encoding: str | None = None

    @cached_property
    def is_readable(self) -> bool:
        """Whether its ASCII characters are bytes of the same number, and all others none of these."""
        return self.encoding is None and not self.data.startswith(_NO_ASCII)

    @cached_property
    def may_have_front_matter(self) -> bool:
        """Whether it may begin with front matter."""
        return not self.is_readable or self.data.removeprefix(codecs.BOM_UTF8)[:3] in (b"---", b"+++")

    def may_have(self, text: str) -> bool:
        """Whether it may contain `text`, by the letter but for line ends."""
        if not self.is_readable:
            return True
        # Line ends may be others in the file: the longest line decides.
        line = max(to_lf(text).split("\n"), key=len)
        return line.encode("utf-8", "surrogateescape") in self.data

    def may_have_section(self, title: str) -> bool:
        """Whether it may have a heading that is rendered as `title`, in whatever case and markup.

        Markup adds characters to the letters of a title and takes none away, but for entities.
        """
        letters = _PLAIN.sub("", title.lower()).encode("ascii")
        if not letters or not self.is_readable or not _MARKUP.isdisjoint(title):
            return True
        return self._has_underlines or any(_contains(line, letters) for line in self._headings)

    @cached_property
    def _headings(self) -> list[bytes]:
        """What is after the marks of lines that may be ATX headings, in lower case."""
        return [line.lower() for line in _ATX.findall(self._lines)]

    @cached_property
    def _has_underlines(self) -> bool:
        """Whether there may be setext headings; the fences of front matter are none."""
        front_matter = _FRONT_MATTER.match(self._lines)
        return _UNDERLINE.search(self._lines, front_matter.end() if front_matter else 0) is not None

    @cached_property
    def _lines(self) -> bytes:
        return self.data.removeprefix(codecs.BOM_UTF8).replace(b"\r", b"\n")


def _contains(line: bytes, letters: bytes) -> bool:
    """Whether `line` has all `letters` in their order, or something that may stand for any of them."""
    at = -1
    for letter in letters:
        at = line.find(letter, at + 1)
        if at < 0:
            return _STAND_INS.search(line) is not None
    return True
