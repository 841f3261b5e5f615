"""The call that a thread runs: its client, its progress, and what it was shown before."""
