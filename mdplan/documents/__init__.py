"""Files as parsed documents, and the globs that name them."""
