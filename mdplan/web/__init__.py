"""The page on which people look at plans and decide, served over HTTP."""
