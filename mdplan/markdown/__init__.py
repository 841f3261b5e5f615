"""Markdown: blocks, outline, names of sections, inline nodes. The only package that knows the parser."""
