"""What callers look at before they edit. Pure: it never opens a file."""
