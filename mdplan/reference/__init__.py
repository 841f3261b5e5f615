"""Schemas and operation reference."""
