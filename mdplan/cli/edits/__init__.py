"""One edit from the shell: its fields as options, its text, the diff, the question."""
