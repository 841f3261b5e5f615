"""The batch bot: one manifest says what should be true of many files, and becomes one plan."""
