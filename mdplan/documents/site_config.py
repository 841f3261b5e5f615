"""Rules for links, as a repository configures them: `[links]` of `mdplan.toml`, or of `pyproject.toml`.

Without them `mkdocs.yml` says how MkDocs makes anchors. All of these come with the repository, so that a
stranger may have written them: they describe links, and can never widen what may be read or written.
"""

import re
from functools import lru_cache
from typing import Any, Final

from mdplan.diagnostics import Code, Diagnostic
from mdplan.field_names import unknown_fields
from mdplan.markdown.headings import STYLES
from mdplan.markdown.paths import NO_RULES, SiteRules, followed
from mdplan.storage.fs.root import Root

FILE: Final = "mdplan.toml"
_TABLES: Final = ((FILE, ("links",)), ("pyproject.toml", ("tool", "mdplan", "links")))
_MKDOCS: Final = "mkdocs.yml"
_HINT: Final = "see how to keep links right for what they may say"
_MOST_BYTES: Final = 1 << 20
_DOCS_FOLDER: Final = re.compile(r"""^docs_dir:[ \t]*["']?([^"'#\r\n]+)""", re.MULTILINE)
# What the table of contents is told to make slugs with, for lack of a reader of all YAML tags.
_SLUGS: Final = {
    "pymdownx": re.compile(r"^[ \t]*slugify:.*\bpymdownx\.slugs\.", re.MULTILINE),
    "python-markdown-unicode": re.compile(r"^[ \t]*slugify:.*\bslugify_unicode\b", re.MULTILINE),
}


def read_site_rules(root: Root) -> SiteRules | Diagnostic:
    """The rules of the site in `root`, none where nothing configures them; a warning about wrong ones.

    `mdplan.toml` goes before `[tool.mdplan]` of `pyproject.toml`, and that before `mkdocs.yml`.
    """
    for name, table in _TABLES:
        data = _data(root, name)
        # Most projects in Python say nothing of links, and to read TOML takes long.
        has_rules = data is not None and (name == FILE or b"links" in data)
        rules = _rules_in(name, data, table) if data is not None and has_rules else None
        if rules is not None:
            return rules
    mkdocs = _data(root, _MKDOCS)
    return NO_RULES if mkdocs is None else _rules_of_mkdocs(mkdocs)


def _data(root: Root, name: str) -> bytes | None:
    """The content of the file `name` of `root`; None where it cannot be read."""
    try:
        # Cheap, and most roots have no such file.
        root.filesystem.status_of(root.descriptor, name)
    except OSError:
        return None
    located = root.locate(name)
    found = located if isinstance(located, Diagnostic) else root.read(located, _MOST_BYTES)
    return None if isinstance(found, Diagnostic) else found.data


# Every document that is opened asks for the rules: what did not change is read once.
@lru_cache(maxsize=16)
def _rules_in(name: str, data: bytes, table: tuple[str, ...]) -> SiteRules | Diagnostic | None:
    """The rules that `table` of the file `name` contains; None where it contains none."""
    import tomllib

    try:
        value: Any = tomllib.loads(data.decode())
        for key in table:
            value = value.get(key) if isinstance(value, dict) else None
    except (ValueError, RecursionError) as error:
        # Another program reads all of pyproject.toml; what it says of us is not there.
        return _wrong(name, f"it is no TOML: {error}") if name == FILE else None
    return None if value is None else _rules_of(value, name, table)


@lru_cache(maxsize=16)
def _rules_of_mkdocs(data: bytes) -> SiteRules:
    """How MkDocs makes the anchors of its pages: what its links mean, mdplan is not told."""
    text = data.decode("utf-8", "replace")
    folder = found[1].strip() if (found := _DOCS_FOLDER.search(text)) else "docs"
    name = next((name for name, pattern in _SLUGS.items() if pattern.search(text)), "python-markdown")
    return SiteRules(slugs=STYLES[name], slug_folders=(followed("", folder),))


def _rules_of(value: object, file: str, table: tuple[str, ...]) -> SiteRules | Diagnostic:
    """The rules that `value` says, which `table` of `file` has."""
    # Few repositories configure links: the others need no pydantic to plan.
    from pydantic import ValidationError

    from mdplan.documents.site_links import SiteLinks
    from mdplan.requests.model_reader import wire_names

    try:
        return SiteLinks.model_validate(value).rules()
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        *parents, last = map(str, (*table, *first["loc"]))
        if first["type"] == "extra_forbidden":
            inside = f"`{'.'.join(parents)}`"
            problem = next(unknown_fields({last: None}, wire_names(SiteLinks), inside))
            return _wrong(file, problem.message, problem.hint)
        return _wrong(file, f"`{'.'.join([*parents, last])}`: {first['msg']}")


def _wrong(name: str, reason: str, hint: str = _HINT) -> Diagnostic:
    return Diagnostic.warning(
        Code.INVALID_ARGUMENT,
        f"the rules for links in `{name}` are ignored: {reason}",
        hint,
        file=name,
    )
