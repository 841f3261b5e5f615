"""The tools of the toolset `md`: what they are called and take, and what a call does."""
