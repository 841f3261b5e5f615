"""Writes schemas and reference pages.

One module per kind of page. A page is plain Markdown with relative links, which is read on GitHub and in
the site alike.
"""
