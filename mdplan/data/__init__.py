"""Files of keys and values (YAML, JSON, TOML, INI), read with places and edited by cutting.

Pure: it never opens a file.
"""
