"""One file per command. Each is imported when it runs, and imports the engine when it needs it."""
