"""Reads and searches documents.

Pure: it never opens a file.
"""
