"""Merge of what is a tree: documents by their sections, items and rows, data by their keys."""
