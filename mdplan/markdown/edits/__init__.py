"""Text edits of Markdown: spacing, lists, tables, code, matches."""
