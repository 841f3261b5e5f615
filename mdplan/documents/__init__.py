"""Files as parsed documents, and the globs that match them."""
