"""Manifests: their model, values, conditions and placeholders."""
