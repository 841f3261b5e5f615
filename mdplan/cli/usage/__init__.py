"""How commands are called: their help, and what is said of a call that is wrong."""
