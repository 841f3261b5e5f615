"""Key-value files (YAML, JSON, TOML, INI): parse them with positions, and edit them in place.

Pure: never opens a file.
"""
