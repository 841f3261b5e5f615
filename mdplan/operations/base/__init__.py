"""What operations share: targets, guards, claims, resolutions."""
