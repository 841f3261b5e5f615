"""Decisions and comments on plans, and the approval gate before a commit."""
