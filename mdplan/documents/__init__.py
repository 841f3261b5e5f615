"""Files read and parsed, and globs that name them."""
