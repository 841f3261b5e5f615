"""Batches as people write them: JSON or YAML, in a file, a pipe or an argument."""
