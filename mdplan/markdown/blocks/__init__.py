"""Blocks of a document with their lines."""
