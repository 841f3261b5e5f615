"""The outline of an INI file: its sections and keys, and what they are called."""

from collections import defaultdict
from collections.abc import Collection, Iterator
from functools import cached_property
from itertools import islice
from typing import Final

from mdplan.plaintext.ini_reader import read_sections
from mdplan.plaintext.ini_section import IniKey, IniSection
from mdplan.text.lines import Span
from mdplan.text.source import Source, sha256_hex

_SHORT_HASH: Final = 16
_FIRST: Final = 10


class IniOutline:
    """Sections and keys of one source, in order. Never changes; derived parts are made on demand.

    What `configparser` refuses is kept: keys before the first section, and names that repeat. The name of a
    section counts by the letter, that of a key by the letter and then in any case.
    """

    def __init__(self, source: Source) -> None:
        """Read `source` once."""
        self.source = source
        self.sections: tuple[IniSection, ...] = read_sections(source)

    def every_key(self) -> Iterator[IniKey]:
        """Keys of all sections, in order."""
        for section in self.sections:
            yield from section.keys

    def text_of(self, span: Span) -> str:
        """Text of `span`."""
        return self.source.text[span.start : span.end]

    def sections_named(self, name: str | None) -> tuple[IniSection, ...]:
        """Sections of that name; None is that of what is before the first header."""
        return self._by_name.get(name, ())

    def keys_named(self, section: str | None, key: str) -> tuple[IniKey, ...]:
        """Keys called `key` in all sections called `section`."""
        return self._by_key.get((section, key)) or self._by_folded_key.get((section, key.casefold()), ())

    def section_sha256(self, section: IniSection) -> str:
        """First 16 hex digits of SHA-256 over the bytes of the whole section."""
        return self._digest(section)[:_SHORT_HASH]

    def has_sha256(self, section: IniSection, expected: str) -> bool:
        """Whether SHA-256 over the bytes of the whole section begins with the hex digits `expected`."""
        return self._digest(section).startswith(expected.lower())

    @cached_property
    def first_keys(self) -> tuple[IniKey, ...]:
        """The first key of each of the first sections that have one: so the file is written."""
        return tuple(islice((section.keys[0] for section in self.sections if section.keys), _FIRST))

    @property
    def section_names(self) -> Collection[str | None]:
        """Names of sections, each once; None is that of what is before the first header."""
        return self._by_name.keys()

    def key_names(self, section: str | None) -> Collection[str]:
        """Names of the keys of all sections called `section`, each once."""
        return dict.fromkeys(key.name for each in self.sections_named(section) for key in each.keys)

    @cached_property
    def _by_name(self) -> dict[str | None, tuple[IniSection, ...]]:
        found: defaultdict[str | None, list[IniSection]] = defaultdict(list)
        for section in self.sections:
            found[section.name].append(section)
        return {name: tuple(sections) for name, sections in found.items()}

    @cached_property
    def _by_key(self) -> dict[tuple[str | None, str], tuple[IniKey, ...]]:
        found: defaultdict[tuple[str | None, str], list[IniKey]] = defaultdict(list)
        for key in self.every_key():
            found[self.sections[key.section].name, key.name].append(key)
        return {name: tuple(keys) for name, keys in found.items()}

    @cached_property
    def _by_folded_key(self) -> dict[tuple[str | None, str], tuple[IniKey, ...]]:
        found: defaultdict[tuple[str | None, str], list[IniKey]] = defaultdict(list)
        for key in self.every_key():
            found[self.sections[key.section].name, key.name.casefold()].append(key)
        return {name: tuple(keys) for name, keys in found.items()}

    def _digest(self, section: IniSection) -> str:
        start, end = self._bounds[section.span.start], self._bounds[section.span.end]
        return sha256_hex(self.source.data[start:end])

    @cached_property
    def _bounds(self) -> dict[int, int]:
        """Byte offset of every place at which a section starts or ends."""
        offsets = sorted({at for section in self.sections for at in (section.span.start, section.span.end)})
        return dict(zip(offsets, self.source.byte_offsets(offsets), strict=True))
