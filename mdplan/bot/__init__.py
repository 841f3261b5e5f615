"""The bot: turn a manifest of edits for many files into one plan."""
