"""What callers can send, described: JSON Schemas and operations."""
