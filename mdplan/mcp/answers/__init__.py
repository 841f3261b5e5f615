"""Reports as answers of tools, within the size that clients take."""
