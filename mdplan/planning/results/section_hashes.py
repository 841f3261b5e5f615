"""The hashes of all sections of a base, which a plan has, and a commit of it seldom needs."""

from collections.abc import ItemsView, Iterator, Mapping
from functools import cached_property

from mdplan.markdown.outline.outline import Outline


class SectionHashes(Mapping[str, str]):
    """Hash of each top-level section's own text, by section ID, of `outline`; made when one is asked for."""

    def __init__(self, outline: Outline) -> None:
        self._outline = outline

    @cached_property
    def _hashes(self) -> dict[str, str]:
        return self._outline.own_hashes()

    def __getitem__(self, section_id: str) -> str:
        return self._hashes[section_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._hashes)

    def __len__(self) -> int:
        return len(self._hashes)

    def items(self) -> ItemsView[str, str]:
        """All of them at once; `Mapping` would ask for one after the other."""
        return self._hashes.items()

    def __reduce__(self) -> tuple[type[dict[str, str]], tuple[dict[str, str]]]:
        # Another process gets the hashes, and not the document that they are of.
        return dict, (self._hashes,)
