"""The host as a test drives it: the page in a browser, and the client that it passes calls on to."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from mcp.client.extension import advertise
from mcp.server.apps import APP_MIME_TYPE, EXTENSION_ID

from tests.surfaces.mcp_calls import Calls, calls_to, process

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Frame, Page, Route

MODULES: Final = Path(__file__).parents[1] / "node_modules"
_HOST: Final = Path(__file__).with_name("host.html")
_ORIGIN: Final = "http://host.test/"
_IMPORTED: Final = (
    "@modelcontextprotocol/ext-apps/app-bridge",
    "@modelcontextprotocol/client",
    "@modelcontextprotocol/client/_shims",
    "@modelcontextprotocol/core",
    "@modelcontextprotocol/core/internal",
    "eventsource",
    "eventsource-parser",
    "eventsource-parser/stream",
    "jose",
    "pkce-challenge",
    "zod/v4",
)
# What the specification asks of a host for an App that names no domains.
_POLICY: Final = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; media-src 'self' data:; connect-src 'none'"
)
APPS: Final = advertise(EXTENSION_ID, {"mimeTypes": [APP_MIME_TYPE]})


@dataclass(frozen=True)
class Host:
    """A host with one server: `model` is what the model can do, `page` what the user sees."""

    model: Calls
    page: "Page"
    called: list[tuple[str, dict[str, Any]]]

    def show(self, tool: str, arguments: dict[str, Any], **context: object) -> "Frame":
        """Let the model call `tool`, and show its App with the result; the frame of the App."""
        listed = next(each for each in self.model.tools() if each["name"] == tool)
        content = self.model.read(listed["_meta"]["ui"]["resourceUri"])
        html: str = content.text  # type: ignore[union-attr]
        policy = f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        html = html.replace("<head>", f"<head>{policy}", 1)
        result = self.call(tool, arguments)
        given = [html, arguments, result, {"theme": "light", "displayMode": "inline", **context}]
        self.page.evaluate("(given) => showApp(...given)", given)
        element = self.page.query_selector("#app")
        frame = element.content_frame() if element else None
        assert frame is not None
        return frame

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The whole result of a call, as it is on the wire."""
        result = self.model.portal.call(self.model.client.call_tool, tool, arguments)
        decoded: dict[str, Any] = result.model_dump(mode="json", by_alias=True, exclude_none=True)
        return decoded

    @property
    def chat(self) -> list[str]:
        """What the App said to the model, as the page shows it."""
        return self.page.locator("#chat li").all_text_contents()


@contextmanager
def host(browser: "Browser", root: Path, *options: str, width: int = 900) -> Iterator[Host]:
    """A host with `mdplan serve OPTIONS` over `root`; skips where its packages are missing."""
    if not (MODULES / "@modelcontextprotocol" / "ext-apps").is_dir():
        pytest.skip("no @modelcontextprotocol/ext-apps (npm install --prefix tests/browser)")
    called: list[tuple[str, dict[str, Any]]] = []
    with calls_to(process("--root", str(root), *options), "auto", extensions=[APPS]) as model:
        context = browser.new_context(viewport={"width": width, "height": 1000})
        page = context.new_page()
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.route(f"{_ORIGIN}**", _serve)
        shown = Host(model, page, called)

        def call_server(method: str, params: str) -> str:
            given = json.loads(params)
            called.append((given["name"], given.get("arguments", {})))
            assert method == "tools/call"
            return json.dumps(shown.call(given["name"], given.get("arguments", {})))

        page.expose_function("callServer", call_server)
        page.goto(_ORIGIN)
        page.wait_for_function("window.isReady")
        try:
            yield shown
        finally:
            context.close()
        assert errors == []


def _serve(route: "Route") -> None:
    path = route.request.url.removeprefix(_ORIGIN)
    if path == "":
        imports = {name: f"/{_resolved(name)}" for name in _IMPORTED}
        imported = f'<script type="importmap">{json.dumps({"imports": imports})}</script>'
        html = _HOST.read_text(encoding="utf-8").replace("<!-- IMPORT MAP -->", imported)
        route.fulfill(body=html, content_type="text/html")
    elif (file := MODULES / path).is_file():
        route.fulfill(path=file, content_type="text/javascript")
    else:
        route.fulfill(status=404)


def _resolved(name: str) -> str:
    """The file that a browser imports as `name`, below the folder of packages."""
    parts = name.split("/")
    n_parts = 2 if name.startswith("@") else 1
    package, inner = "/".join(parts[:n_parts]), "/".join([".", *parts[n_parts:]])
    facts = json.loads((MODULES / package / "package.json").read_text(encoding="utf-8"))
    exported = facts["exports"].get(inner)
    assert exported is not None, f"{name} is not exported"
    return f"{package}/{_browser_file(exported).removeprefix('./')}"


def _browser_file(exported: "str | Mapping[str, Any]") -> str:
    while not isinstance(exported, str):
        exported = next(
            exported[each] for each in ("browser", "import", "module", "default") if each in exported
        )
    return exported
