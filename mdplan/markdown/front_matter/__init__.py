"""Front matter in YAML and TOML: keys, values, and edits that keep every other byte."""
