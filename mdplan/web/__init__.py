"""The review page and the HTTP server."""
