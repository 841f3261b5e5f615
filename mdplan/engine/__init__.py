"""All verbs: look, plan, commit, undo, recover, review."""
