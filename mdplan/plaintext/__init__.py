"""INI files and plain text.

Pure: it never opens a file.
"""
