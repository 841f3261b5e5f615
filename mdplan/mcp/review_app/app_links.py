"""Where the App is, and how tools are linked with it."""

from collections.abc import Mapping
from typing import Any, Final

APP_URI: Final = "ui://mdplan/review"
APP_MIME_TYPE: Final = "text/html;profile=mcp-app"
# For a tool whose result the App shows.
SHOWS_APP: Final[Mapping[str, Any]] = {"ui": {"resourceUri": APP_URI}}
# For a tool that only the App is to call.
ONLY_FOR_APP: Final[Mapping[str, Any]] = {"ui": {"resourceUri": APP_URI, "visibility": ["app"]}}
