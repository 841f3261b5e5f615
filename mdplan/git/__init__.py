"""Read git repositories: names of commits, files of a commit, and changes."""
