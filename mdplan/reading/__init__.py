"""Read and search documents.

Pure: never opens a file.
"""
