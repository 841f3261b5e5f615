"""Settings of MCP clients on the pages: the documented form of each client, and the command in it.

The forms come from the clients' documentation of November 2026; an undocumented field is a fault, so no page
shows guesses.
"""

import json
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.docs.typed_commands import fault_of

_URLS = {"http://127.0.0.1:8080/mcp", "https://docs.example.org/mcp"}


@dataclass(frozen=True)
class Shape:
    """The place of a client's servers, and the field names of a server.

    `address` is the field for a server over HTTP, `token` how a header names an environment variable. If
    `args` is None, command and arguments are one list.
    """

    servers: tuple[str, ...]
    args: str | None = "args"
    address: str = "url"
    token: str = "${MDPLAN_TOKEN}"
    fixed_local: tuple[tuple[str, str], ...] = ()
    fixed_remote: tuple[tuple[str, str], ...] = ()
    allowed: frozenset[str] = frozenset()


SHAPES = {
    ".mcp.json": Shape(("mcpServers",), fixed_remote=(("type", "http"),)),
    "claude_desktop_config.json": Shape(("mcpServers",)),
    ".vscode/mcp.json": Shape(
        ("servers",),
        fixed_local=(("type", "stdio"),),
        fixed_remote=(("type", "http"),),
        token="${input:mdplan-token}",
    ),
    ".cursor/mcp.json": Shape(("mcpServers",), token="${env:MDPLAN_TOKEN}"),
    ".codex/config.toml": Shape(("mcp_servers",)),
    ".gemini/settings.json": Shape(("mcpServers",), address="httpUrl", token="$MDPLAN_TOKEN"),
    "zed/settings.json": Shape(("context_servers",), token="TOKEN", allowed=frozenset({"env"})),
    "mcp_config.json": Shape(("mcpServers",), address="serverUrl", token="${env:MDPLAN_TOKEN}"),
    "opencode.json": Shape(
        ("mcp",),
        args=None,
        token="{env:MDPLAN_TOKEN}",
        fixed_local=(("type", "local"),),
        fixed_remote=(("type", "remote"),),
    ),
}


def is_settings(name: str) -> bool:
    """Return True if a block of this name is the settings of a client."""
    return name in SHAPES


def faults(name: str, text: str) -> Iterator[str]:
    """Return the faults of the settings `text` of the client whose file is `name`."""
    shape = SHAPES[name]
    data: dict[str, Any] = tomllib.loads(text) if name.endswith(".toml") else json.loads(text)
    entries: Any = data
    for key in shape.servers:
        entries = entries[key]
    beside = set(data) - {shape.servers[0], "$schema", *(["inputs"] if "/mcp.json" in name else [])}
    if beside:
        yield f"{name} has {sorted(beside)} beside its servers"
    for entry in entries.values():
        yield from _faults_of_entry(name, shape, entry)


def _faults_of_entry(name: str, shape: Shape, entry: dict[str, Any]) -> Iterator[str]:
    is_local = "command" in entry
    fixed = dict(shape.fixed_local if is_local else shape.fixed_remote)
    if {key: entry.get(key) for key in fixed} != fixed:
        yield f"{name} wants {fixed}"
    if is_local:
        known = {"command", *([shape.args] if shape.args else [])}
        command = entry["command"] if shape.args is None else [entry["command"], *entry[shape.args]]
        problem = fault_of(command)
        if problem:
            yield f"{name}: {problem}"
    else:
        known = {shape.address}
        if entry.get(shape.address) not in _URLS:
            yield f"{name} has another address than the page"
        if name.endswith(".toml"):
            known |= {"bearer_token_env_var"}
            token = entry.get("bearer_token_env_var") == "MDPLAN_TOKEN"
        else:
            known |= {"headers"}
            token = entry.get("headers") == {"Authorization": f"Bearer {shape.token}"}
        if not token:
            yield f"{name} does not send the token as that client documents it"
    unknown = set(entry) - known - set(fixed) - shape.allowed
    if unknown:
        yield f"{name} knows no {sorted(unknown)}"
