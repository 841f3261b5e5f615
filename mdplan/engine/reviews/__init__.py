"""Review over one engine: pending plans, what is in them, comments and decisions."""
