"""Reading a file loads no lock, no globs, and nothing that is heavier."""

from tests.tidy.test_lazy_imports import HEAVY, imported_by

LATER = {"ctypes", "filelock", "hmac", "json", "pathspec", "platformdirs"}


def test_storage_loads_nothing_heavy() -> None:
    modules = ("commit", "history", "plan_store", "recovery", "workspace")
    imported = imported_by("-c", "; ".join(f"import mdplan.storage.{module}" for module in modules))

    assert imported & (HEAVY | LATER) == set()
