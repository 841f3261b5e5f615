"""Read and parse the files of a workspace, with an outline cache and site rules."""

import re
from _thread import allocate_lock
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from functools import lru_cache
from time import thread_time
from typing import Any, Final, Self, TypeVar

from mdplan.diagnostics import Code, Diagnostic
from mdplan.documents.workspace import Workspace
from mdplan.field_names import unknown_fields
from mdplan.limits import DEFAULT_DOCUMENT_LIMITS, DocumentLimits
from mdplan.markdown.blocks import ParseTimeout, parse_time
from mdplan.markdown.format_detection import decode_document, document_format, has_mdx_name
from mdplan.markdown.headings import GITHUB, STYLES, SlugStyle
from mdplan.markdown.outline import Outline
from mdplan.markdown.paths import NO_RULES, PRESETS, SiteRules, followed
from mdplan.settings import Settings
from mdplan.storage.files import FileName
from mdplan.storage.root import Root
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.source import Source, may_contain
from mdplan.values import Struct, field
from mdplan.words import either, say

_Found = TypeVar("_Found")

# An outline with derived data takes about ten times the bytes of its document.
MAX_BYTES: Final = 8 << 20
MAX_OUTLINES: Final = 1000
# Searched files may be larger than parsed ones.
_MOST_SEARCHED: Final = 1 << 30


class OutlineCache:
    """A thread-safe LRU cache of `max_outlines` outlines, for at most `max_bytes` of documents.

    An outline of a short document takes many times its bytes.

    Outlines are immutable. A key contains everything but the document's bytes on which the outline depends.
    Only the last document with the same key and hash is kept.
    """

    def __init__(self, max_bytes: int = MAX_BYTES, max_outlines: int = MAX_OUTLINES) -> None:
        self._max_bytes, self._max_outlines = max_bytes, max_outlines
        self._bytes = 0
        self._outlines: OrderedDict[tuple[Hashable, int], Outline] = OrderedDict()
        self._lock = allocate_lock()

    def get(self, key: Hashable, data: bytes) -> Outline | None:
        """Return the cached outline of `data` under `key`, if any."""
        entry = (key, hash(data))
        with self._lock:
            outline = self._outlines.get(entry)
            if outline is None or outline.source.data != data:
                return None
            self._outlines.move_to_end(entry)
            return outline

    def version(self, key: Hashable, sha256: str) -> Outline | None:
        """Return the cached outline under `key` whose document's SHA-256 starts with `sha256`."""
        with self._lock:
            kept = [outline for (name, _), outline in self._outlines.items() if name == key]
        return next((each for each in kept if each.source.sha256.startswith(sha256)), None)

    def keep(self, key: Hashable, outline: Outline) -> None:
        """Cache `outline` unless it is too large, evicting the least recently used ones."""
        size = len(outline.source.data)
        entry = (key, hash(outline.source.data))
        with self._lock:
            if size > self._max_bytes:
                return
            replaced = self._outlines.get(entry)
            self._bytes += size - (0 if replaced is None else len(replaced.source.data))
            self._outlines[entry] = outline
            self._outlines.move_to_end(entry)
            while self._bytes > self._max_bytes or len(self._outlines) > self._max_outlines:
                _, old = self._outlines.popitem(last=False)
                self._bytes -= len(old.source.data)


class OutlinedFiles(Struct):
    """Files of `workspace` as text, limited to `max_file_bytes` and `max_lines`, with cached `outlines`.

    `limits` apply within each file. `given_rules` take precedence over the site rules of the roots.
    """

    workspace: Workspace
    max_file_bytes: int
    max_lines: int
    limits: DocumentLimits = DEFAULT_DOCUMENT_LIMITS
    outlines: OutlineCache = field(default_factory=OutlineCache)
    given_rules: SiteRules | None = None

    @classmethod
    def of(cls, workspace: Workspace, settings: Settings) -> Self:
        """Return the files of `workspace` with the limits of `settings`."""
        return cls(workspace, settings.max_file_bytes, settings.max_lines, settings.of_documents)

    def read(self, name: FileName, encoding: str | None) -> Source | Diagnostic:
        """Return a decoded file. Errors: as `Workspace.read` and `decode_document`."""
        content = self.workspace.read(name, self.max_file_bytes)
        if isinstance(content, Diagnostic):
            return content
        known = self.outlines.get((str(name), encoding, None, self._slugs_of(name)), content.data)
        return self.decode(name, content.data, encoding) if known is None else known.source

    def decode(self, name: FileName, data: bytes, encoding: str | None) -> Source | Diagnostic:
        """Return the decoded bytes of a file. Errors: as `decode_document`."""
        return decode_document(str(name), data, encoding, self.max_lines)

    def may_have_any(self, name: FileName, texts: Iterable[str], encoding: str | None = None) -> bool:
        """Return True if a file may contain one of `texts`, or is unreadable, which planning reports."""
        content = self.workspace.read(name, _MOST_SEARCHED)
        if isinstance(content, Diagnostic):
            return True
        return any(may_contain(content.data, encoding, text) for text in texts)

    def open(self, name: FileName, encoding: str | None, given_format: str | None) -> Outline | Diagnostic:
        """Return a parsed file; `given_format` is the caller's, or None to detect it."""
        content = self.workspace.read(name, self.max_file_bytes)
        if isinstance(content, Diagnostic):
            return content
        key = (str(name), encoding, given_format, self._slugs_of(name))
        known = self.outlines.get(key, content.data)
        if known is not None:
            return known
        source = self.decode(name, content.data, encoding)
        if isinstance(source, Diagnostic):
            return source
        outline = self.outline(name, source, given_format)
        self.outlines.keep(key, outline)
        return outline

    def open_parsed(
        self, name: FileName, encoding: str | None = None, given_format: str | None = None
    ) -> Outline | Diagnostic:
        """Return a file with its body parsed in time. Errors: as `open`; PARSE_TIMEOUT."""

        def read() -> Outline | Diagnostic:
            outline = self.open(name, encoding, given_format)
            if isinstance(outline, Outline) and not outline.is_parsed:
                outline.parse()
            return outline

        return self.with_timeout(str(name), read)

    def version(
        self, name: FileName, encoding: str | None, given_format: str | None, sha256: str
    ) -> Outline | None:
        """Return a recently parsed version of a file by the first digits of its hash."""
        return self.outlines.version((str(name), encoding, given_format, self._slugs_of(name)), sha256)

    def prime_cache(
        self, path: str, outline: Outline, encoding: str | None, given_format: str | None
    ) -> None:
        """Cache `outline` for opening `path` with that content; other arguments as in `open`."""
        source = outline.source
        # The format may depend on the text, which an edit can change.
        if document_format(path, source.text, given_format) is outline.format:
            self.outlines.keep((path, encoding, given_format, outline.slugs), outline)

    def with_timeout(self, file: str, read: Callable[[], _Found], count: int = 1) -> _Found | Diagnostic:
        """Return the result of `read`, which parses `file`, or `count` files. Errors: PARSE_TIMEOUT."""
        seconds = self.limits.parse_seconds
        try:
            # Thread time, since other threads and disk waits are not the document's fault.
            with parse_time(seconds * count, thread_time):
                return read()
        except ParseTimeout:
            return Code.PARSE_TIMEOUT.problem(
                f"parsing `{file}` takes longer than {seconds:g} s",
                either("split the file", say("raise {--max-parse-seconds}")),
                file=file,
            )

    def outline(self, name: FileName, source: Source, given_format: str | None) -> Outline:
        """Parse the file `name` with the content `source`."""
        actual_format = document_format(str(name), source.text, given_format)
        is_mdx, slugs = has_mdx_name(str(name)), self._slugs_of(name)
        return Outline(source, actual_format, self.limits, is_mdx=is_mdx, slugs=slugs)

    def site_rules(self, root: Root) -> SiteRules | Diagnostic:
        """Return the site rules of `root`, or a warning if they are unreadable."""
        return self.given_rules or read_site_rules(root)

    def _slugs_of(self, name: FileName) -> SlugStyle:
        rules = self.site_rules(self.workspace.root_of(name))
        return rules.slugs_of(name.path) if isinstance(rules, SiteRules) else GITHUB


# --- Link rules: `[links]` of `mdplan.toml` or of `pyproject.toml`
#
# Otherwise `mkdocs.yml` and `_quarto.yml` determine anchors, and `.obsidian` makes a vault. All of these are
# part of the repository, so they are untrusted: they describe links and never widen what may be read or
# written.

FILE: Final = "mdplan.toml"
_TABLES: Final = ((FILE, ("links",)), ("pyproject.toml", ("tool", "mdplan", "links")))
_MKDOCS: Final = "mkdocs.yml"
_QUARTO: Final = "_quarto.yml"
_VAULT: Final = ".obsidian"
_HINT: Final = "see how to keep links right for what they may say"
_MOST_BYTES: Final = 1 << 20
_DOCS_FOLDER: Final = lazy_pattern(r"""^docs_dir:[ \t]*["']?([^"'#\r\n]+)""", re.MULTILINE)

# Slug functions in the table of contents settings, found by pattern because YAML tags cannot be parsed.
_SLUGS: Final = {
    "pymdownx": lazy_pattern(r"^[ \t]*slugify:.*\bpymdownx\.slugs\.", re.MULTILINE),
    "python-markdown-unicode": lazy_pattern(r"^[ \t]*slugify:.*\bslugify_unicode\b", re.MULTILINE),
}


def read_site_rules(root: Root) -> SiteRules | Diagnostic:
    """Return the site rules of `root` (none without configuration), or a warning if they are invalid.

    `mdplan.toml` takes precedence over `[tool.mdplan]` in `pyproject.toml`, then generators' files.
    """
    for name, table in _TABLES:
        data = _content_of(root, name)
        # Most Python projects configure no links, and parsing TOML is slow.
        has_rules = data is not None and (name == FILE or b"links" in data)
        rules = _rules_in(name, data, table) if data is not None and has_rules else None
        if rules is not None:
            return rules
    mkdocs = _content_of(root, _MKDOCS)
    if mkdocs is not None:
        return _rules_of_mkdocs(mkdocs)
    if _content_of(root, _QUARTO) is not None:
        return SiteRules(slugs=STYLES["pandoc"])
    return PRESETS["obsidian"] if root.filesystem.has(root.descriptor, _VAULT) else NO_RULES


def _content_of(root: Root, name: str) -> bytes | None:
    """Return the content of the file `name` of `root`; None if unreadable."""
    try:
        # Cheap, and most roots have no such file.
        root.filesystem.status_of(root.descriptor, name)
    except OSError:
        return None
    located = root.locate(name)
    content = located if isinstance(located, Diagnostic) else root.read(located, _MOST_BYTES)
    return None if isinstance(content, Diagnostic) else content.data


# Opening any document needs the rules, so unchanged files are parsed once.
@lru_cache(maxsize=16)
def _rules_in(name: str, data: bytes, table: tuple[str, ...]) -> SiteRules | Diagnostic | None:
    """Return the rules in `table` of the file `name`; None if it is missing."""
    import tomllib

    try:
        value: Any = tomllib.loads(data.decode())
        for key in table:
            value = value.get(key) if isinstance(value, dict) else None
    except (ValueError, RecursionError) as error:
        # Other programs own pyproject.toml; a broken one has no settings for us.
        return _ignored_rules(name, f"it is no TOML: {error}") if name == FILE else None
    return None if value is None else _rules_of(value, name, table)


@lru_cache(maxsize=16)
def _rules_of_mkdocs(data: bytes) -> SiteRules:
    """Return the anchor style of an MkDocs site; its link rules are not configurable."""
    text = data.decode("utf-8", "replace")
    folder = match[1].strip() if (match := _DOCS_FOLDER.search(text)) else "docs"
    name = next((name for name, pattern in _SLUGS.items() if pattern.search(text)), "python-markdown")
    return SiteRules(slugs=STYLES[name], slug_folders=(followed("", folder),))


def _rules_of(value: object, file: str, table: tuple[str, ...]) -> SiteRules | Diagnostic:
    """Parse the rules `value` from `table` of `file`."""
    # Few repositories configure links; avoid loading pydantic for the others.
    from pydantic import ValidationError

    from mdplan.documents.site_links import SiteLinks
    from mdplan.requests.batch import wire_names

    try:
        return SiteLinks.model_validate(value).rules()
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        *parents, last = map(str, (*table, *first["loc"]))
        if first["type"] == "extra_forbidden":
            inside = f"`{'.'.join(parents)}`"
            problem = next(unknown_fields({last: None}, wire_names(SiteLinks), inside))
            return _ignored_rules(file, problem.message, problem.hint)
        return _ignored_rules(file, f"`{'.'.join([*parents, last])}`: {first['msg']}")


def _ignored_rules(name: str, reason: str, hint: str = _HINT) -> Diagnostic:
    return Code.INVALID_ARGUMENT.warning(
        f"the rules for links in `{name}` are ignored: {reason}", hint, file=name
    )
