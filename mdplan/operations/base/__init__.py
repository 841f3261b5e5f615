"""Shared parts of operations: targets, guards, claims, resolutions."""
