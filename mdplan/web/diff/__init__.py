"""The files of a plan as the page shows them: trees, tables of lines, edits, comments, rendered sections.

All of it is made of values of `mdplan.review`, and nothing here knows of HTTP.
"""
