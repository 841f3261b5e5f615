"""Commit, restore and recovery of files as one transaction."""
