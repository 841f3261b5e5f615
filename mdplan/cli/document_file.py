"""A document that a command reads by its path, from inside or outside the root."""

from pathlib import Path
from typing import TYPE_CHECKING

from mdplan.cli.terminal.console import shown
from mdplan.diagnostics import Diagnostic

# Commands with wrong arguments do not load the parser.
if TYPE_CHECKING:
    from mdplan.markdown.outline.outline import Outline


def read_document(path: str, like: str, encoding: str | None = None) -> "Outline | Diagnostic":
    """The document in the file `path`, in the format that the file `like` has.

    Errors: INVALID_ARGUMENT for a file that cannot be read; those of `decode_document`.
    """
    from mdplan.markdown.format_detection import document_format
    from mdplan.markdown.outline.outline import Outline
    from mdplan.reading.open_document import decode_document
    from mdplan.settings import DEFAULT_SETTINGS

    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        return Diagnostic.invalid(f"there is no file `{shown(path)}`", "give two files that exist", file=path)
    except OSError as error:
        return Diagnostic.invalid(
            f"`{shown(path)}` cannot be read: {error.strerror}", "give two files that exist", file=path
        )
    source = decode_document(path, data, encoding, DEFAULT_SETTINGS.max_lines)
    if isinstance(source, Diagnostic):
        return source
    return Outline(source, document_format(like, source.text), DEFAULT_SETTINGS.of_documents)
