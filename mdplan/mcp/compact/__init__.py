"""Answers that say each thing once, which is what tools give unless `verbosity` is ``full``."""
