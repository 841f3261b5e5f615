"""Inline content with positions: links, code, images, URLs."""
