"""Three-way merge of documents: pure functions on texts."""
