"""The pull request of a manifest: its branch on a remote, and what the forge shows of it."""
