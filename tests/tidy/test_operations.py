"""Each operation is where the registry says."""

from importlib import import_module
from pathlib import Path

from mdplan import operations
from mdplan.operations import OPERATIONS, class_name


def test_registry_names_every_operation_and_its_module() -> None:
    loaded = {op: OPERATIONS[op] for op in OPERATIONS}
    modules = {path.stem for path in Path(operations.__file__).parent.glob("*.py")} - {"__init__"}
    declared = [
        name
        for module in modules
        for name, model in vars(import_module(f"mdplan.operations.{module}")).items()
        if isinstance(model, type) and model.__module__.endswith(module) and "example" in vars(model)
    ]

    assert sorted(declared) == sorted(model.__name__ for model in loaded.values())
    assert {op: model.__name__ for op, model in loaded.items()} == {op: class_name(op) for op in loaded}
