"""What people decide and say about plans, and the gate before a commit that asks for it."""
