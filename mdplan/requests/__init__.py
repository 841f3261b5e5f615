"""Requests: from what callers send to values, or to everything that is wrong."""
