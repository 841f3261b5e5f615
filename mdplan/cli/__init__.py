"""The command line: a thin adapter from arguments to the engine, and from reports to a terminal or a pipe."""
