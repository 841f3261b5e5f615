"""Batches: edits of one or many files."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, InstanceOf, model_validator

from mdplan.operations.base import FileEffect, Operation, WireModel
from mdplan.plan import MOST_DESCRIPTION, MOST_TITLE, Intent, one_line, plain_text

OnStale = Literal["refuse", "rebase", "merge"]
ReferenceScope = Literal["none", "file", "workspace"]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-fA-F]{16,64}$")]


def _one_line(given: object) -> object:
    return one_line(given) if isinstance(given, str) else given or ""


def _plain(given: object) -> object:
    return plain_text(given) if isinstance(given, str) else given or ""


class FileEdits(WireModel):
    """Edits of one file."""

    file: str = Field(description="Path inside the root.")
    base_sha256: Sha256 | None = Field(
        default=None, description="SHA-256 of the file as you saw it; at least 16 hex digits."
    )
    encoding: str | None = Field(
        default=None, description="Encoding, where the file is not UTF-8 and has no BOM."
    )
    format: str | None = Field(
        default=None,
        pattern="^(markdown|ini|yaml|json|toml|text)$",
        description="markdown, ini, yaml, json, toml or text; found when absent.",
    )
    # The model that `op` names has validated each edit: those of other operations are not loaded.
    edits: tuple[InstanceOf[Operation], ...] = Field(
        min_length=1, description="Edits, all against the file as it is."
    )

    @classmethod
    def none_of(cls, file: str) -> "FileEdits":
        """A file that no edit of the batch names, and the engine changes besides."""
        return cls.model_construct(file=file, base_sha256=None, encoding=None, format=None, edits=())

    @property
    def file_effect(self) -> FileEffect:
        """What the edits do to the file as a whole."""
        # Of a thousand edits most are of the same few kinds.
        effects = {kind.file_effect for kind in {type(edit) for edit in self.edits}} - {"edit"}
        return next(iter(effects), "edit")

    @property
    def new_file(self) -> str | None:
        """The path that the edits give the file."""
        return next((edit.new_path for edit in self.edits if edit.new_path is not None), None)

    @model_validator(mode="after")
    def _check_file_operations(self) -> "FileEdits":
        whole = [edit.op for edit in self.edits if edit.file_effect != "edit"]
        if len(whole) > 1:
            msg = f"one operation on the file as a whole is possible, not {' and '.join(whole)}"
            raise ValueError(msg)
        if self.file_effect in {"create", "delete"} and len(self.edits) > 1:
            msg = f"{whole[0]} must be alone: no other edit of the file goes with it"
            raise ValueError(msg)
        if self.file_effect == "create" and self.base_sha256 is not None:
            msg = "baseSha256 is of a file that exists, and create_file makes one that does not"
            raise ValueError(msg)
        return self


class GlobEdits(FileEdits):
    """Edits for each file that the glob `file` matches."""

    def of_file(self, file: str) -> FileEdits:
        """The edits of one of these files."""
        return FileEdits.model_construct(
            file=file, base_sha256=None, encoding=self.encoding, format=self.format, edits=self.edits
        )


class MatchingEdits(GlobEdits):
    """Edits for each file that the glob `file` matches and that contains the text that the edits look for."""


class Batch(WireModel):
    """Edits of one or many files of one root, applied whole or not at all."""

    files: tuple[FileEdits, ...] = Field(min_length=1, description="Each file once.")
    expected_files: Annotated[int, Field(strict=True, ge=1)] | None = Field(
        default=None,
        description="How many files the batch is for, where a glob names them; else it is refused.",
    )
    title: Annotated[str, Field(max_length=MOST_TITLE), BeforeValidator(_one_line)] = Field(
        default="", description="What the change is for, in one line, for who reviews it."
    )
    description: Annotated[str, Field(max_length=MOST_DESCRIPTION), BeforeValidator(_plain)] = Field(
        default="", description="Why, and what to look at."
    )
    revises: str | None = Field(
        default=None,
        min_length=1,
        description="Plan in whose place this one is made; reviewers see what differs.",
    )
    dry_run: bool = Field(default=False, description="Plan only.")
    sequential: bool = Field(
        default=False,
        description="Each edit sees the result of those before it, so that one can build on another.",
    )
    accept: tuple[Annotated[int, Field(strict=True, ge=0)], ...] | None = Field(
        default=None, description="Make the plan of these edits only (0-based, through the whole batch)."
    )
    on_stale: OnStale = Field(
        default="refuse",
        description="Where baseSha256 differs. rebase: go on if the edits' own evidence fits; merge: "
        "merge the change into the file as it is now, as a new plan.",
    )
    backup: bool = Field(default=False, description="Keep the old content of every changed file as NAME.bak.")
    update_references: ReferenceScope = Field(
        default="none",
        description="Keep links to what this batch renames, moves or deletes right: file, in its own files; "
        "workspace, in all.",
    )
    json_schema: Annotated[str, Field(min_length=1)] | None = Field(
        default=None,
        description="JSON Schema file that no file of the batch may newly violate.",
    )
    allow_outline_change: bool = Field(
        default=False, description="Allow edits that add or remove headings outside the written text."
    )
    allow_duplicate_headings: bool = Field(
        default=False, description="Accept heading paths that repeat more often than before."
    )

    @property
    def intent(self) -> Intent:
        """What the plan is for."""
        return Intent(self.title, self.description)

    @property
    def options(self) -> dict[str, bool | str]:
        """Options that decide what the plan is, by their wire names; only those that are on."""
        given = {
            "sequential": self.sequential,
            "backup": self.backup,
            "allowOutlineChange": self.allow_outline_change,
            "allowDuplicateHeadings": self.allow_duplicate_headings,
        }
        options: dict[str, bool | str] = {name: value for name, value in given.items() if value}
        if self.update_references != "none":
            options["updateReferences"] = self.update_references
        if self.json_schema is not None:
            options["jsonSchema"] = self.json_schema
        return options

    def without_bases(self) -> "Batch":
        """The same batch on files of any hash."""
        files = tuple(file.model_copy(update={"base_sha256": None}) for file in self.files)
        return self.model_copy(update={"files": files})

    @property
    def edit_count(self) -> int:
        """Number of edits in all files."""
        return sum(len(file.edits) for file in self.files)


def normalized_edits(file: FileEdits) -> tuple[dict[str, Any], ...]:
    """The edits of `file` with wire names and without defaults, so that equal requests are equal."""
    return tuple(edit.wire_form for edit in file.edits)
