"""From edits and outlines to a plan, or to everything that is wrong. Pure: it never opens a file."""
