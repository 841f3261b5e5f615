"""`mdplan`, which tells at once how far a call is, however short it is."""

from mdplan.__main__ import main
from mdplan.mcp import adapter

setattr(adapter, "PROGRESS_SECONDS", 0.0)  # noqa: B010 (it is final for everybody else)
main()
