"""Documents in memory: the same outline, reading, searching and planning as of files, without any file."""
