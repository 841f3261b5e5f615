"""Review of a plan in a terminal: edit by edit, comments in an editor, a decision at the end."""
