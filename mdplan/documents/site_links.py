"""The `[links]` configuration: how links of a site name its files."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from mdplan.markdown.headings import STYLES
from mdplan.markdown.paths import NO_RULES, PRESETS, SiteRules

_Name = Annotated[str, Field(min_length=1, max_length=255, pattern=r"^[^/\\]+$")]


class SiteLinks(BaseModel):
    """How links of a site name its files."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True)

    preset: Literal["astro", "docfx", "docusaurus", "hugo", "mkdocs", "obsidian", "vitepress"] | None = Field(
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
    slugs: (
        Literal[
            "docfx",
            "docusaurus",
            "github",
            "hugo",
            "obsidian",
            "pandoc",
            "pymdownx",
            "python-markdown",
            "python-markdown-unicode",
            "vitepress",
        ]
        | None
    ) = Field(default=None, description="How the site makes anchors of headings.")

    def rules(self) -> SiteRules:
        """Return the rules that this configuration describes."""
        preset = PRESETS[self.preset] if self.preset else NO_RULES
        return SiteRules.of(
            dict(preset.roots) if self.roots is None else self.roots,
            preset.index_names if self.index is None else self.index,
            self.locales,
            ignores_case=preset.ignores_case if self.case_sensitive is None else not self.case_sensitive,
            slugs=STYLES[self.slugs] if self.slugs else preset.slugs,
            has_page_folders=preset.has_page_folders,
        )
