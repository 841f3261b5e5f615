"""Bytes, lines, edits and diffs.

A leaf: it knows nothing of Markdown or of files.
"""
