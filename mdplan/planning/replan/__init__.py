"""Plans made from plans: rebase, subset, merge, undo, replay."""
