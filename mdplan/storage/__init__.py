"""Files, store, commits, history.

What a caller's path or file gets wrong is returned as a diagnostic (`locate`, `read`, `write_refusal`).
What stops a commit (`locked`, `stage`, `publish`) or the opening of a root is raised as
`StorageRefused`, because locks and staged files have to be taken back on the way out. `OSError` does not
leave this package.
"""
