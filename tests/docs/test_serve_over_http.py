"""The page on HTTP shows what the server does: its options, its table, its proxies."""

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.surfaces.http_calls import PING, HttpServer, http_server

PAGE = (REPOSITORY / "docs" / "how-to" / "serve-over-http.md").read_text(encoding="utf-8")
(COMMAND,) = re.findall(r"^mdplan serve (.*)$", PAGE, re.MULTILINE)
(NGINX,) = re.findall(r"^server \{\n.*?^\}\n", PAGE, re.MULTILINE | re.DOTALL)
TOKEN = "0123456789abcdef"


@pytest.fixture
def behind_a_proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HttpServer]:
    """The server of the page, with its options, on a free port."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "token").write_text(TOKEN + "\n")
    (tmp_path / "token").chmod(0o600)
    options = shlex.split(COMMAND)
    at = options.index("--http")
    assert options[at + 1] == "127.0.0.1:8080"
    del options[at : at + 2]
    paths = {"docs": str(tmp_path / "docs"), "token": str(tmp_path / "token")}
    with http_server(*(paths.get(option, option) for option in options)) as server:
        server.token = TOKEN
        yield server


def test_proxied_request_is_served(behind_a_proxy: HttpServer) -> None:
    """nginx sends `$host`, which has no port; Caddy sends the header as it came."""
    (name,) = re.findall(r"server_name (\S+);", NGINX)
    assert "proxy_set_header Host $host;" in NGINX

    for host in (name, name.upper()):
        answer = behind_a_proxy.send(json.dumps(PING).encode(), {"Host": host})
        assert answer.status == 400, "past the guard, and without a session"
    assert behind_a_proxy.send(b"{}", {"Host": f"{name}.example"}).status == 421


def test_proxy_examples_reach_the_server() -> None:
    address = shlex.split(COMMAND)[shlex.split(COMMAND).index("--http") + 1]
    (caddy,) = re.findall(r"^docs\.example\.org \{\n(.*?)^\}\n", PAGE, re.MULTILINE | re.DOTALL)

    assert f"proxy_pass http://{address};" in NGINX
    assert caddy.split() == ["reverse_proxy", "/mcp", address]


def test_http_statuses_match_the_table(behind_a_proxy: HttpServer) -> None:
    told = [int(status) for status in re.findall(r"^\| (4\d\d) \|", PAGE, re.MULTILINE)]
    given = [
        behind_a_proxy.send(b"{}", {"Host": "evil.example"}).status,
        behind_a_proxy.send(b"{}", {"Origin": "https://docs.example.org"}).status,
        behind_a_proxy.send(b"{}", {"Authorization": "Bearer wrong"}).status,
        behind_a_proxy.send(b"", {"Content-Length": str(16 * 1024 * 1024 + 1)}).status,
    ]

    assert given == told


def test_startup_output_matches_the_page(tmp_path: Path) -> None:
    shown = re.findall(r"^(?:Serving|Clients|Authorization).*\n", PAGE, re.MULTILINE)
    with http_server("--root", str(tmp_path), token=None) as server:
        said = [
            line.replace(f":{server.port}/", ":8080/").replace(server.token, "TOKEN") for line in server.said
        ]

    assert said == [re.sub(r"(?<=Bearer )\S+", "TOKEN", line) for line in shown]


def test_nginx_accepts_the_example_configuration(tmp_path: Path) -> None:
    """Uses another certificate, because the one in the example does not exist."""
    program = shutil.which("nginx")
    if program is None:
        pytest.skip("no nginx here")
    pem = tmp_path / "pem"
    made = ["openssl", "req", "-x509", "-nodes", "-newkey", "rsa:2048", "-subj", "/CN=x", "-keyout"]
    subprocess.run([*made, pem, "-out", tmp_path / "crt"], check=True, capture_output=True, timeout=60)
    text = re.sub(r"/etc/ssl/\S+\.pem", str(tmp_path / "crt"), NGINX)
    text = re.sub(r"/etc/ssl/\S+\.key", str(pem), text)
    (tmp_path / "conf").write_text(f"pid {tmp_path}/pid;\nevents {{}}\nhttp {{\n{text}}}\n")
    done = subprocess.run(
        [program, "-t", "-p", tmp_path, "-c", tmp_path / "conf"],
        capture_output=True,
        check=False,
        encoding="utf-8",
        timeout=60,
    )

    assert done.returncode == 0, done.stderr
