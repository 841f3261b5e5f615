"""Stored plans, and plans that callers send: found by ID, checked, compared, merged."""
