"""The structure of INI files and of plain text. Pure: it never opens a file."""
