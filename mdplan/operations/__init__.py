"""One module for each operation.

This list is the registry: alphabetical, and complete by a test.
"""

from typing import Annotated, Final

from pydantic import Field

from mdplan.operations.add_list_item import AddListItem
from mdplan.operations.add_to_front_matter_list import AddToFrontMatterList
from mdplan.operations.append_to_file import AppendToFile
from mdplan.operations.append_to_section import AppendToSection
from mdplan.operations.apply_diff import ApplyDiff
from mdplan.operations.base.operation import Operation
from mdplan.operations.create_file import CreateFile
from mdplan.operations.delete_file import DeleteFile
from mdplan.operations.delete_front_matter import DeleteFrontMatter
from mdplan.operations.delete_ini_key import DeleteIniKey
from mdplan.operations.delete_lines import DeleteLines
from mdplan.operations.delete_section import DeleteSection
from mdplan.operations.delete_table_row import DeleteTableRow
from mdplan.operations.format_section import FormatSection
from mdplan.operations.insert_lines import InsertLines
from mdplan.operations.insert_section import InsertSection
from mdplan.operations.move_section import MoveSection
from mdplan.operations.prepend_to_section import PrependToSection
from mdplan.operations.preview_match import PreviewMatch
from mdplan.operations.remove_from_front_matter_list import RemoveFromFrontMatterList
from mdplan.operations.remove_list_item import RemoveListItem
from mdplan.operations.rename_file import RenameFile
from mdplan.operations.rename_heading import RenameHeading
from mdplan.operations.replace_code_block import ReplaceCodeBlock
from mdplan.operations.replace_ini_section import ReplaceIniSection
from mdplan.operations.replace_lines import ReplaceLines
from mdplan.operations.replace_match import ReplaceMatch
from mdplan.operations.replace_range import ReplaceRange
from mdplan.operations.replace_region import ReplaceRegion
from mdplan.operations.replace_section import ReplaceSection
from mdplan.operations.set_front_matter import SetFrontMatter
from mdplan.operations.set_heading_level import SetHeadingLevel
from mdplan.operations.set_ini_key import SetIniKey
from mdplan.operations.set_task import SetTask
from mdplan.operations.update_toc import UpdateToc
from mdplan.operations.upsert_section import UpsertSection
from mdplan.operations.upsert_table_row import UpsertTableRow

AnyOperation = Annotated[
    AddListItem
    | AddToFrontMatterList
    | AppendToFile
    | AppendToSection
    | ApplyDiff
    | CreateFile
    | DeleteFile
    | DeleteFrontMatter
    | DeleteIniKey
    | DeleteLines
    | DeleteSection
    | DeleteTableRow
    | FormatSection
    | InsertLines
    | InsertSection
    | MoveSection
    | PrependToSection
    | PreviewMatch
    | RemoveListItem
    | RemoveFromFrontMatterList
    | RenameFile
    | RenameHeading
    | ReplaceCodeBlock
    | ReplaceIniSection
    | ReplaceLines
    | ReplaceMatch
    | ReplaceRange
    | ReplaceRegion
    | ReplaceSection
    | SetFrontMatter
    | SetHeadingLevel
    | SetIniKey
    | SetTask
    | UpdateToc
    | UpsertSection
    | UpsertTableRow,
    Field(discriminator="op"),
]

OPERATIONS: Final[dict[str, type[Operation]]] = {
    "add_list_item": AddListItem,
    "add_to_front_matter_list": AddToFrontMatterList,
    "append_to_file": AppendToFile,
    "append_to_section": AppendToSection,
    "apply_diff": ApplyDiff,
    "create_file": CreateFile,
    "delete_file": DeleteFile,
    "delete_front_matter": DeleteFrontMatter,
    "delete_ini_key": DeleteIniKey,
    "delete_lines": DeleteLines,
    "delete_section": DeleteSection,
    "delete_table_row": DeleteTableRow,
    "format_section": FormatSection,
    "insert_lines": InsertLines,
    "insert_section": InsertSection,
    "move_section": MoveSection,
    "prepend_to_section": PrependToSection,
    "preview_match": PreviewMatch,
    "remove_list_item": RemoveListItem,
    "remove_from_front_matter_list": RemoveFromFrontMatterList,
    "rename_file": RenameFile,
    "rename_heading": RenameHeading,
    "replace_code_block": ReplaceCodeBlock,
    "replace_ini_section": ReplaceIniSection,
    "replace_lines": ReplaceLines,
    "replace_match": ReplaceMatch,
    "replace_range": ReplaceRange,
    "replace_region": ReplaceRegion,
    "replace_section": ReplaceSection,
    "set_front_matter": SetFrontMatter,
    "set_heading_level": SetHeadingLevel,
    "set_ini_key": SetIniKey,
    "set_task": SetTask,
    "update_toc": UpdateToc,
    "upsert_section": UpsertSection,
    "upsert_table_row": UpsertTableRow,
}
