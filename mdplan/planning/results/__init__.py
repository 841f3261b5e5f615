"""The results that a plan reports: sections after the edits, hashes, summaries."""
