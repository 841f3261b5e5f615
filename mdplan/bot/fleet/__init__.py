"""One manifest on many repositories: a pull request for each, that can be resumed after a kill."""
