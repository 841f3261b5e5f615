"""Links that change because headings or files moved."""
