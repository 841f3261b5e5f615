"""Turns edits into a plan.

Pure: it never opens a file.
"""
