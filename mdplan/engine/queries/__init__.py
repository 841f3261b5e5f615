"""The verbs that only look: stat, read and search."""
