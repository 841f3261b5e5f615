"""All targets, in the order in which `make fuzz` runs them."""

from typing import Final

from tests.fuzz import (
    batch_reader,
    diff_reader,
    edit_resolver,
    front_matter,
    inline_nodes,
    line_index,
    outline,
)
from tests.fuzz.target import Target

TARGETS: Final[dict[str, Target]] = {
    module.TARGET.name: module.TARGET
    for module in (line_index, outline, inline_nodes, front_matter, diff_reader, batch_reader, edit_resolver)
}
