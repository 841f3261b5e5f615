"""Manifests on commits of a git repository."""
