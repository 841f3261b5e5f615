"""Sections of a document: headings, paths, IDs, anchors, regions."""
