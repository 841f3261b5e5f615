"""Rules for links, as a repository configures them: `[links]` of `mdplan.toml`, or of `pyproject.toml`.

They come with the repository, so that a stranger may have written them: they describe links, and can never
widen what may be read or written.
"""

import tomllib
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from mdplan.diagnostics import Code, Diagnostic
from mdplan.markdown.links.site_rules import NO_RULES, PRESETS, SiteRules
from mdplan.storage.fs.root import Root

FILE: Final = "mdplan.toml"
_PROJECT: Final = "pyproject.toml"
_MOST_BYTES: Final = 1 << 20
_Name = Annotated[str, Field(min_length=1, max_length=255, pattern=r"^[^/\\]+$")]


class SiteLinks(BaseModel):
    """How links of a site name its files."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True)

    preset: Literal["astro", "docfx", "docusaurus", "hugo", "mkdocs", "vitepress"] | None = Field(
        default=None, description="Rules of a site generator; the other fields replace what it says."
    )
    roots: dict[str, str] | None = Field(
        default=None, description='Folders that links from the root mean: {"/docs": "docs"}.'
    )
    index: tuple[_Name, ...] | None = Field(
        default=None, description='Files that a link to their folder names, without suffix: ["index"].'
    )
    locales: tuple[_Name, ...] = Field(
        default=(), description='First components of links that are no folder: ["en", "fr"].'
    )
    case_sensitive: bool | None = Field(default=None, description="false: case makes no difference in paths.")

    def rules(self) -> SiteRules:
        """The rules that it describes."""
        preset = PRESETS[self.preset] if self.preset else NO_RULES
        return SiteRules.of(
            dict(preset.roots) if self.roots is None else self.roots,
            preset.index_names if self.index is None else self.index,
            self.locales,
            ignores_case=preset.ignores_case if self.case_sensitive is None else not self.case_sensitive,
        )


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
            if value is None:
                continue
            return SiteLinks.model_validate(value).rules()
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(map(str, (*table, *first["loc"])))
            return _wrong(name, f"`{place}`: {first['msg']}")
        except (ValueError, RecursionError) as error:
            # Another program reads all of pyproject.toml; what it says of us is not there.
            if name == FILE:
                return _wrong(name, f"it is no TOML: {error}")
    return NO_RULES


def _wrong(name: str, reason: str) -> Diagnostic:
    return Diagnostic.warning(
        Code.INVALID_ARGUMENT,
        f"the rules for links in `{name}` are ignored: {reason}",
        "see how to keep links right for what they may say",
        file=name,
    )
