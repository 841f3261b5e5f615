"""mdplan: a transactional edit-plan engine for Markdown and plain-text files."""

__version__ = "0.1.0"
