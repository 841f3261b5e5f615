"""Options of `mdplan serve --http`, validated before listening."""

import os
import re
import secrets
import socket
from collections.abc import Callable, Mapping
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final, TypeVar

import click
from click.core import ParameterSource

from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.values import Struct, field, replace

TOKEN_VARIABLE: Final = "MDPLAN_TOKEN"  # noqa: S105 (the name of a variable)
_ADDRESS: Final = lazy_pattern(r"(?P<host>\[[0-9a-fA-F:.]+\]|[^\s:/\[\]]+):(?P<port>\d{1,5})")
_HOST: Final = lazy_pattern(r"(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(:\d{1,5})?")
_ORIGIN: Final = lazy_pattern(r"[a-z][a-z0-9+.-]*://(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(:\d{1,5})?")

# RFC 6750 section 2.1, and long enough to be unguessable.
_TOKEN: Final = lazy_pattern(r"[A-Za-z0-9._~+/-]{16,1024}=*")
_ONLY_WITH_HTTP: Final = ("allow_hosts", "allow_origins", "token_file", "max_body")
Command = TypeVar("Command", bound=Callable[..., Any])


class HttpOptions(Struct, kw_only=True):
    """Where to listen, and what the guard admits.

    `address` is the socket address, `host` the user's name for it. `hosts` are listed ones; `allowed_hosts`
    adds the implied ones.
    """

    host: str
    family: socket.AddressFamily
    address: tuple[Any, ...]
    max_body: int
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    token: str = field(default_factory=partial(secrets.token_urlsafe, 32))
    token_is_new: bool = True

    @property
    def is_loopback(self) -> bool:
        """True if only this machine can reach the address."""
        # Ignore an IPv6 zone; IPv4 may be mapped to IPv6.
        return ip_address(str(self.address[0]).partition("%")[0]).is_loopback

    def allowed_hosts(self, port: int) -> frozenset[str]:
        """Return the Host headers of this server listening on `port`."""
        own = ("127.0.0.1", "localhost", "[::1]", self.host.lower()) if self.is_loopback else ()
        ends = ("", f":{port}") if port == 80 else (f":{port}",)
        return frozenset({*self.hosts, *(name + end for name in own for end in ends)})


def with_http_options(command: Command) -> Command:
    """Add the HTTP options to `command`."""
    for option in reversed(
        (
            click.option(
                "--http",
                metavar="HOST:PORT",
                help="Serve over HTTP instead, at http://HOST:PORT/mcp. Port 0 chooses a free port.",
            ),
            click.option(
                "--allow-host",
                "allow_hosts",
                multiple=True,
                metavar="NAME[:PORT]",
                help="HTTP: accept this name in the Host header, too. Repeatable.",
            ),
            click.option(
                "--allow-origin",
                "allow_origins",
                multiple=True,
                metavar="ORIGIN",
                help="HTTP: accept requests from web pages of this origin. Repeatable.",
            ),
            click.option(
                "--token-file",
                type=click.Path(exists=True, dir_okay=False, path_type=Path),
                metavar="FILE",
                help=f"HTTP: the token that clients send; else {TOKEN_VARIABLE}; else a new one is shown.",
            ),
            click.option(
                "--max-body",
                type=click.IntRange(min=1),
                default=16 * 1024 * 1024,
                envvar="MDPLAN_MAX_BODY",
                metavar="BYTES",
                help="HTTP: maximum size of a request body.  [MDPLAN_MAX_BODY; default: 16 MiB]",
            ),
        )
    ):
        command = option(command)
    return command


def read_http_options(given: Mapping[str, Any]) -> HttpOptions | None:
    """Return the validated options in `given`; None without `--http`. Raise a click usage error."""
    if given["http"] is None:
        source_of = click.get_current_context().get_parameter_source
        for name in _ONLY_WITH_HTTP:
            if source_of(name) is ParameterSource.COMMANDLINE:
                option = "--" + name.removesuffix("s").replace("_", "-")
                raise click.UsageError(f"{option} is only for --http HOST:PORT")
        return None
    options = _resolved(given["http"], "--http", given["max_body"])
    token = _given_token(given["token_file"])
    hosts = tuple(_checked("--allow-host", _HOST, name, "docs.example.org") for name in given["allow_hosts"])
    if not options.is_loopback and (token is None or not hosts):
        raise click.BadParameter(
            f"`{options.host}` can be reached from other machines: that needs a token (--token-file FILE or "
            f"{TOKEN_VARIABLE}) and each name by which clients call it (--allow-host NAME:PORT). "
            "Or listen on 127.0.0.1, behind a proxy with TLS",
            param_hint="--http",
        )
    origins = (
        _checked("--allow-origin", _ORIGIN, origin, "https://docs.example.org")
        for origin in given["allow_origins"]
    )
    options = replace(options, hosts=hosts, origins=tuple(origins))
    return options if token is None else replace(options, token=token, token_is_new=False)


def local_options(host: str, port: int, max_body: int) -> HttpOptions:
    """Return options with a new token for a loopback server. Raise a click usage error."""
    named = f"[{host}]" if ":" in host and not host.startswith("[") else host
    options = _resolved(f"{named}:{port}", "--host", max_body)
    if not options.is_loopback:
        raise click.BadParameter(
            f"`{host}` can be reached from other machines. To look from another one, listen on 127.0.0.1 and "
            "carry the port there (`ssh -L`), or use `mdplan serve --http`",
            param_hint="--host",
        )
    return options


def _resolved(text: str, option: str, max_body: int) -> HttpOptions:
    """Return options for the host and its resolved address, with a new token."""
    found = _ADDRESS.fullmatch(text)
    if found is None or int(found["port"]) > 65_535:
        port = text.removeprefix(":")
        port = port if port.isdecimal() and int(port) <= 65_535 else "8080"
        raise click.BadParameter(f"`{text}` is not an address; write 127.0.0.1:{port}", param_hint=option)
    host = found["host"]
    try:
        candidates = socket.getaddrinfo(
            host.strip("[]"), int(found["port"]), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except (OSError, UnicodeError):
        raise click.BadParameter(f"`{host}` leads to no address", param_hint=option) from None
    family, _, _, _, address = min(candidates, key=lambda each: each[0] != socket.AF_INET)
    return HttpOptions(host=host, family=family, address=address, max_body=max_body)


def _given_token(file: Path | None) -> str | None:
    """Return the token from `file` or the environment, or None."""
    if file is None:
        text, source = os.environ.get(TOKEN_VARIABLE), TOKEN_VARIABLE
        if text is None:
            return None
    else:
        text, source = file.read_bytes()[:4096].decode("utf-8", "replace"), "--token-file"
    token = text.strip()
    if _TOKEN.fullmatch(token) is None:
        # Do not print the token: it may be a real one with a typo.
        raise click.BadParameter(
            "a token is one line of 16 or more letters, digits and -._~+/", param_hint=source
        )
    return token


def _checked(option: str, pattern: re.Pattern[str], value: str, example: str) -> str:
    """Return `value` in lower case; raise a usage error for wildcards and paths."""
    folded = value.lower()
    if pattern.fullmatch(folded) is None:
        message = f"`{value}` cannot be compared; write it whole, without path or wildcard: {example}"
        raise click.BadParameter(message, param_hint=option)
    return folded
