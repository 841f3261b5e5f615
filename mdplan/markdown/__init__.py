"""Markdown: blocks, inline nodes, outline, front matter, links.

The only package that knows the parser.
"""
