"""All verbs: stat, read, search, plan, apply, undo, recover, review."""
