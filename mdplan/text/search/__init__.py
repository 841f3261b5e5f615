"""Patterns, and the text that nearly matches one."""
