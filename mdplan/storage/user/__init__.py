"""What is kept in the user's own state directory: plans and decisions."""
