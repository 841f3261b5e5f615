"""The edit operations, one file each. This list is the registry: alphabetical, and complete by a test."""

from typing import Annotated, Final

from pydantic import Field

from mdplan.operation import Operation
from mdplan.operations.append_to_section import AppendToSection
from mdplan.operations.rename_heading import RenameHeading
from mdplan.operations.replace_match import ReplaceMatch
from mdplan.operations.replace_range import ReplaceRange

AnyOperation = Annotated[
    AppendToSection | RenameHeading | ReplaceMatch | ReplaceRange,
    Field(discriminator="op"),
]

OPERATIONS: Final[dict[str, type[Operation]]] = {
    "append_to_section": AppendToSection,
    "rename_heading": RenameHeading,
    "replace_match": ReplaceMatch,
    "replace_range": ReplaceRange,
}
