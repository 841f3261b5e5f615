"""The user's state directory: plans and decisions."""
