"""Bytes, lines, edits and diffs.

A leaf package without knowledge of Markdown or files.
"""
