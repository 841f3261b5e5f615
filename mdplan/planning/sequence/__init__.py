"""Sequential batches: each edit on the result of those before it."""
