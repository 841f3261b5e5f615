"""Links and what they name."""
