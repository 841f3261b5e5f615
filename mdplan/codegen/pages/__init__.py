"""The generated pages of the reference."""
