"""How GitHub and site generators make the anchor of a heading from its text."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from typing import Final

# GitHub keeps letters, marks, decimal digits, connector punctuation, hyphens and spaces.
_DROPPED_ASCII: Final = re.compile(r"[^A-Za-z0-9_\- ]")
_GITHUB: Final = r"[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\- ]"
# What goldmark and Markdig keep: marks are no letters to them.
_LETTERS_AND_DIGITS: Final = r"[^\p{L}\p{Nd}_\- ]"
# Code, escapes, and hyphens elsewhere.
_DASHES: Final = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)|\\.|---?")
# @mdit-vue/shared, `slugify`.
_VUE_ACCENTS: Final = re.compile(r"[\u0300-\u036f\x00-\x1f]")
_VUE_SPECIAL: Final = re.compile(r"(?:[^\S\x85]|[\ufeff~`!@#$%^&*()\-_+=\[\]{}|\\;:\"'“”‘’<>,.?/])+")  # noqa: RUF001 (quotes)
# Python-Markdown and its extensions.
_NO_WORD: Final = re.compile(r"[^\w\s-]")
_TAG: Final = re.compile(r"</?[^>]*>")
_BLANKS: Final = re.compile(r"[-\s]+")
_COUNTED: Final = re.compile(r"(.*)_([0-9]+)", re.DOTALL)
_LAST_BMP: Final = "\uffff"


class OwnIds(Enum):
    """Which IDs that headings give themselves are taken for the slugs of others."""

    NONE = auto()
    ABOVE = auto()
    ALL = auto()


@dataclass(frozen=True, slots=True)
class SlugStyle:
    """How anchors of headings are made: `slug` of the rendered title, then a suffix where that is taken.

    `prepared` changes the raw inline text of a heading before that is rendered. With `has_images` the
    alternative text of images is a part of the title. `fallback` takes the place of an empty slug.
    `is_counted_up` says that a suffix is ``_1``, and that one more is added to one that is there.
    """

    slug: Callable[[str], str]
    has_images: bool = False
    prepared: Callable[[str], str] = str
    own_ids: OwnIds = OwnIds.NONE
    fallback: str = ""
    is_counted_up: bool = False

    def anchors(self, titles: Iterable[str], ids: Iterable[str]) -> Iterator[str]:
        """Anchor of each heading: its own one of `ids` where that is not empty, else a slug of its own.

        `titles` are all rendered titles of a document in order.
        """
        own = list(ids)
        taken: set[str] = set(own) if self.own_ids is OwnIds.ALL else set()
        repeats: dict[str, int] = {}
        for title, own_id in zip(titles, own, strict=True):
            if own_id:
                taken |= {own_id} if self.own_ids is OwnIds.ABOVE else set()
                yield own_id
                continue
            slug = self.slug(title) or self.fallback
            anchor = slug
            while anchor in taken or (self.is_counted_up and not anchor):
                anchor, repeats[slug] = self._repeated(slug, repeats.get(slug, 0) + 1)
            taken.add(anchor)
            yield anchor

    def _repeated(self, slug: str, count: int) -> tuple[str, int]:
        """The anchor of the `count`-th repetition of `slug`, and that count."""
        if not self.is_counted_up:
            return f"{slug}-{count}", count
        counted = _COUNTED.fullmatch(slug)
        base, start = (counted[1], int(counted[2])) if counted else (slug, 0)
        return f"{base}_{start + count}", count


@lru_cache(maxsize=4096)
def heading_slug(title: str) -> str:
    """GitHub's slug of one rendered heading, without the suffix of a repeated one."""
    return _kept(title.lower(), _GITHUB)


def _goldmark_text(content: str) -> str:
    """Goldmark takes the last line of a heading; hyphens that Hugo makes dashes of go."""
    return _DASHES.sub(
        lambda found: "" if found[0].startswith("--") else found[0], content.rsplit("\n", maxsplit=1)[-1]
    )


def _goldmark(title: str) -> str:
    return _lowered(_kept(title.strip(), _LETTERS_AND_DIGITS))


def _markdig(title: str) -> str:
    # It looks at UTF-16 code units, of which those of a pair are no letters.
    return _lowered(_kept("".join(each for each in title if each <= _LAST_BMP), _LETTERS_AND_DIGITS))


def _vue(title: str) -> str:
    plain = _VUE_ACCENTS.sub("", unicodedata.normalize("NFKD", title))
    slug = _VUE_SPECIAL.sub("-", plain).strip("-")
    return (f"_{slug}" if "0" <= slug[:1] <= "9" else slug).lower()


def _python_markdown(title: str) -> str:
    return _python_markdown_unicode(
        unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode("ascii")
    )


def _python_markdown_unicode(title: str) -> str:
    return _BLANKS.sub("-", _NO_WORD.sub("", " ".join(title.split())).strip().lower())


def _pymdownx(title: str) -> str:
    # What looks like a tag in code goes too.
    text = _TAG.sub("", unicodedata.normalize("NFC", " ".join(title.split()))).strip()
    return _NO_WORD.sub("", text.lower()).replace(" ", "-")


def _kept(title: str, dropped: str) -> str:
    """`title` without what the pattern `dropped` matches, and with hyphens for spaces."""
    if title.isascii():
        return _DROPPED_ASCII.sub("", title).replace(" ", "-")
    # Python's own patterns cannot name these classes of characters: `\w` has no marks, and has `²`.
    import regex

    return regex.sub(dropped, "", title).replace(" ", "-")


def _lowered(title: str) -> str:
    """`title` in lower case, character by character."""
    return title.lower() if title.isascii() else "".join(each.lower()[0] for each in title)


GITHUB: Final = SlugStyle(heading_slug)
STYLES: Final[Mapping[str, SlugStyle]] = {
    "docfx": SlugStyle(_markdig, has_images=True, fallback="section"),
    "docusaurus": SlugStyle(heading_slug, has_images=True),
    "github": GITHUB,
    "hugo": SlugStyle(
        _goldmark, has_images=True, prepared=_goldmark_text, own_ids=OwnIds.ABOVE, fallback="heading"
    ),
    "pymdownx": SlugStyle(_pymdownx, own_ids=OwnIds.ALL, is_counted_up=True),
    "python-markdown": SlugStyle(_python_markdown, own_ids=OwnIds.ALL, is_counted_up=True),
    "python-markdown-unicode": SlugStyle(_python_markdown_unicode, own_ids=OwnIds.ALL, is_counted_up=True),
    "vitepress": SlugStyle(_vue, own_ids=OwnIds.ABOVE),
}
