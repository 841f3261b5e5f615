"""Unified diffs, and the lines that changed."""
