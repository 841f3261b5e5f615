"""The toolset `editor`: tools that edit by lines."""
