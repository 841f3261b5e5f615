"""Lists, tables and kinds of inline nodes, read from a document."""
