"""Toolsets, one file each."""
