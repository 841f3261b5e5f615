"""The commands that take a manifest: `mdplan bot` and `mdplan fleet`."""
