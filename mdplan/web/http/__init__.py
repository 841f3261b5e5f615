"""HTTP: the server, its connections and options, and the guard before every route."""
