"""Reading a file loads no lock, no globs, and nothing that is heavier."""

from tests.tidy.test_lazy_imports import HEAVY, imported_by

LATER = {"ctypes", "filelock", "hmac", "json", "pathspec", "platformdirs"}


def test_storage_loads_nothing_heavy() -> None:
    modules = (
        "mdplan.storage.transaction.commit",
        "mdplan.storage.transaction.transaction_log",
        "mdplan.storage.user.plan_store",
        "mdplan.storage.transaction.recovery",
        "mdplan.storage.workspace",
    )
    imported = imported_by("-c", "; ".join(f"import {module}" for module in modules))

    assert imported & (HEAVY | LATER) == set()
