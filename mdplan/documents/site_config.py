"""Rules for links, as a repository configures them: `[links]` of `mdplan.toml`, or of `pyproject.toml`.

They come with the repository, so that a stranger may have written them: they describe links, and can never
widen what may be read or written.
"""

import tomllib
from typing import Any, Final

from mdplan.diagnostics import Code, Diagnostic
from mdplan.markdown.links.site_rules import NO_RULES, SiteRules
from mdplan.storage.fs.root import Root

FILE: Final = "mdplan.toml"
_PROJECT: Final = "pyproject.toml"
_MOST_BYTES: Final = 1 << 20


def read_site_rules(root: Root) -> SiteRules | Diagnostic:
    """The rules of the site in `root`, none where nothing configures them; a warning about wrong ones.

    `mdplan.toml` goes before `[tool.mdplan]` of `pyproject.toml`.
    """
    for name, table in ((FILE, ("links",)), (_PROJECT, ("tool", "mdplan", "links"))):
        found = root.read(name, _MOST_BYTES)
        if isinstance(found, Diagnostic):
            continue
        try:
            value: Any = tomllib.loads(found.data.decode())
            for key in table:
                value = value.get(key) if isinstance(value, dict) else None
        except (ValueError, RecursionError) as error:
            # Another program reads all of pyproject.toml; what it says of us is not there.
            if name == FILE:
                return _wrong(name, f"it is no TOML: {error}")
            continue
        if value is not None:
            return _rules_of(value, name, table)
    return NO_RULES


def _rules_of(value: object, file: str, table: tuple[str, ...]) -> SiteRules | Diagnostic:
    """The rules that `value` says, which `table` of `file` has."""
    # Few repositories configure links: the others need no pydantic to plan.
    from pydantic import ValidationError

    from mdplan.documents.site_links import SiteLinks

    try:
        return SiteLinks.model_validate(value).rules()
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, (*table, *first["loc"])))
        return _wrong(file, f"`{place}`: {first['msg']}")


def _wrong(name: str, reason: str) -> Diagnostic:
    return Diagnostic.warning(
        Code.INVALID_ARGUMENT,
        f"the rules for links in `{name}` are ignored: {reason}",
        "see how to keep links right for what they may say",
        file=name,
    )
