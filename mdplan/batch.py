"""What a caller sends: edits of one or many files, as one batch."""

from typing import Annotated, Any, Literal

from pydantic import Field

from mdplan.operation import Wire
from mdplan.operations import AnyOperation

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-fA-F]{16,64}$")]


class FileEdits(Wire):
    """Edits of one file."""

    file: str = Field(description="Path inside the root.")
    base_sha256: Sha256 | None = Field(
        default=None, description="SHA-256 of the file as you saw it; at least 16 hex digits."
    )
    encoding: str | None = Field(
        default=None, description="Encoding, where the file is not UTF-8 and has no BOM."
    )
    format: str | None = Field(
        default=None, pattern="^(markdown|text)$", description="markdown or text; found by name when absent."
    )
    edits: tuple[AnyOperation, ...] = Field(min_length=1, description="Edits, all against the file as it is.")


class Batch(Wire):
    """Edits of one or many files of one root, applied whole or not at all."""

    files: tuple[FileEdits, ...] = Field(min_length=1, description="Each file once.")
    dry_run: bool = Field(default=False, description="Plan only.")
    sequential: bool = Field(
        default=False,
        description="Each edit sees the result of those before it, so that one can build on another.",
    )
    accept: tuple[Annotated[int, Field(strict=True, ge=0)], ...] | None = Field(
        default=None, description="Make the plan of these edits only (0-based, through the whole batch)."
    )
    on_stale: Literal["refuse", "rebase"] = Field(
        default="refuse",
        description="rebase: where baseSha256 does not hold, go on if the edits' own evidence does.",
    )
    allow_outline_change: bool = Field(
        default=False, description="Accept headings that appear or vanish outside of the written text."
    )
    allow_duplicate_headings: bool = Field(
        default=False, description="Accept heading paths that repeat more often than before."
    )

    @property
    def options(self) -> dict[str, bool]:
        """Options that decide what the plan is, by their wire names; only those that are on."""
        given = {
            "sequential": self.sequential,
            "allowOutlineChange": self.allow_outline_change,
            "allowDuplicateHeadings": self.allow_duplicate_headings,
        }
        return {name: value for name, value in given.items() if value}

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
    return tuple(
        {"op": edit.op, **edit.model_dump(mode="json", by_alias=True, exclude_defaults=True)}
        for edit in file.edits
    )
