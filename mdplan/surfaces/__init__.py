"""The ways in: each a thin adapter onto the engine. They do not know each other."""
