"""The list of operations is that of their files."""

from pathlib import Path

from mdplan import operations
from mdplan.operations import OPERATIONS

FILES = {path.stem for path in Path(operations.__file__).parent.glob("*.py")} - {"__init__"}


def test_each_operation_has_its_file_and_each_file_is_listed() -> None:
    assert sorted(OPERATIONS) == sorted(FILES)
    assert {op: model.__module__.rpartition(".")[2] for op, model in OPERATIONS.items()} == {
        op: op for op in OPERATIONS
    }
