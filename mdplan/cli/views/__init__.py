"""Text that commands print for people, of diffs, reports, outlines and past transactions."""
