"""Files below a root, reached without following links."""
