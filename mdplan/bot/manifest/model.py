"""The manifest as a model: what should be true of which files.

It is strict like a batch: unknown fields are refused with the nearest name. Edits are kept as they were
written, for placeholders may be anywhere in them; `edit_checks` looks at what can be known before.
"""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from mdplan.documents.site_links import SiteLinks
from mdplan.operations.base import Ordinal, WireModel
from mdplan.requests.batch import ReferenceScope


def _as_list(given: object) -> object:
    return (given,) if isinstance(given, str) else tuple(given) if isinstance(given, list) else given


# One text, or several; in a schema both forms are.
Texts = Annotated[tuple[str, ...], BeforeValidator(_as_list, json_schema_input_type=str | list[str])]
Comment = Annotated[Any, Field(default=None, description="For people.")]


def _wire_name(name: str) -> str:
    return to_camel(name.rstrip("_"))


class ManifestPart(WireModel):
    """A part of a manifest."""

    model_config = ConfigDict(
        alias_generator=_wire_name,
        populate_by_name=True,
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
    )


class Condition(ManifestPart):
    """Conditions on a file before its edits, all of which it must fulfil. Texts may have placeholders."""

    has_section: Texts = Field(
        default=(), description='Heading path of a section that is there: "Install", or ["Guide", "Install"].'
    )
    has_text: Texts = Field(default=(), description="Texts that are all in the file, by the letter.")
    matches: str | None = Field(default=None, description="Regular expression that matches somewhere.")
    has_front_matter: Texts = Field(
        default=(), description="Keys that are all in the front matter; dotted where they lie in maps."
    )
    front_matter: dict[str, Any] | None = Field(
        default=None, description="Values of keys in the front matter: {draft: true}."
    )
    not_: "Condition | None" = Field(default=None, description="A condition that must be false.")
    any_: tuple["Condition", ...] = Field(default=(), description="At least one of these is true.")
    all_: tuple["Condition", ...] = Field(default=(), description="All of these are true.")
    comment: Comment


class Rule(ManifestPart):
    """Files, and what should be true of them."""

    file: Texts = Field(default=(), description="Paths inside the root; may have placeholders of vars.")
    glob: Texts = Field(
        default=(),
        description='Globs with git\'s rules, such as "docs/**/*.md"; files that git ignores are skipped.',
    )
    exclude: Texts = Field(default=(), description="Globs of files to skip.")
    git_ignored: bool = Field(default=False, strict=True, description="Take files that git ignores as well.")
    changed_since: str | None = Field(
        default=None,
        description="Only files that differ from this commit, branch or tag; may have placeholders of vars.",
    )
    when: Condition | None = Field(default=None, description="Only files for which this is true.")
    encoding: str | None = Field(default=None, description="Encoding, where files are not UTF-8.")
    format: Literal["markdown", "ini", "yaml", "json", "toml", "text"] | None = Field(
        default=None, description="Found when absent."
    )
    edits: Annotated[tuple[dict[str, Any], ...], BeforeValidator(_as_list)] = Field(
        min_length=1, description="Edits as in a batch, or loops of them."
    )
    comment: Comment

    @model_validator(mode="after")
    def _check_files(self) -> "Rule":
        if bool(self.file) is bool(self.glob):
            msg = "give either file or glob"
            raise ValueError(msg)
        return self


class Manifest(ManifestPart):
    """The desired state of files, which the bot reaches by one plan over all of them."""

    schema_: str | None = Field(default=None, alias="$schema", description="For editors.")
    title: str | None = Field(
        default=None, description="What the change is for, in one line; may have placeholders of vars."
    )
    description: str | None = Field(
        default=None, description="Why, and what to look at; may have placeholders of vars."
    )
    vars: dict[str, Any] = Field(
        default={}, description="Values of {{vars.NAME}}; `--var NAME=VALUE` goes before them."
    )
    data: dict[str, str] = Field(
        default={},
        description="JSON, YAML, TOML, CSV or text files next to the manifest: the values of {{data.NAME}}."
        " FILE#TAG is a part of a source file, FILE#* all of them.",
    )
    files: tuple[Rule, ...] = Field(min_length=1, description="Files, and what should be true of them.")
    max_files: Ordinal | None = Field(default=None, description="Most files that may change.")
    sequential: bool = Field(
        default=False, strict=True, description="Each edit sees the result of those before it."
    )
    update_references: ReferenceScope = Field(
        default="none", description="Keep links right: file, in these files; workspace, in all of the root."
    )
    links: SiteLinks | None = Field(
        default=None, description="How links of the site name files; goes before [links] of mdplan.toml."
    )
    allow_outline_change: bool = Field(
        default=False, strict=True, description="Accept headings that appear or vanish outside."
    )
    allow_duplicate_headings: bool = Field(
        default=False, strict=True, description="Accept heading paths that repeat more often than before."
    )
    backup: bool = Field(
        default=False, strict=True, description="Keep the old content of each file as NAME.bak."
    )
    comment: Comment

    @property
    def options(self) -> dict[str, Any]:
        """Its options under the names that a batch has for them."""
        return {
            "sequential": self.sequential,
            "updateReferences": self.update_references,
            "allowOutlineChange": self.allow_outline_change,
            "allowDuplicateHeadings": self.allow_duplicate_headings,
            "backup": self.backup,
        }
