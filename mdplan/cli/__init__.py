"""The command line: arguments go to the engine, reports to a terminal or a pipe."""
