"""Requests: what callers send, parsed into values or a list of problems."""
