"""Transactions of the past: listed, undone, recovered."""
