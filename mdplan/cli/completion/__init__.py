"""What the tab key offers, in every shell."""
