"""A plan prepared for display."""
