"""Files, store, commits, history.

Problems with a caller's path or file are returned as diagnostics (`locate`, `read`, `write_refusal`).
Failures of a commit (`locked`, `stage`, `publish`) or of opening a root are raised as `StorageRefused`,
because locks and staged files must be cleaned up. `OSError` never leaves this package.
"""
