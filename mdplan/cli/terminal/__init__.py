"""The terminal of a person: streams and colours, a pager, progress, a browser."""
