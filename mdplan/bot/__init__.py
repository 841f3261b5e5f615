"""The bot: a manifest of edits for many files becomes one plan."""
