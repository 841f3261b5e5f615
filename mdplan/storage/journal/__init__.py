"""The journal of a root: records, history, the lock."""
