"""From two versions of a document to a small batch of edits that turns one into the other."""
