"""A proxy that adds a token: what stands before a server whose clients cannot send one themselves."""

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECONDS = 60


class _Forwarding(BaseHTTPRequestHandler):
    """Passes a request on as it is, with the token, and streams the answer back."""

    upstream = 0
    token = ""

    def _forward(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        connection = http.client.HTTPConnection("127.0.0.1", self.upstream, timeout=SECONDS)
        with suppress(BrokenPipeError, ConnectionResetError, TimeoutError, http.client.IncompleteRead):
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in {"connection", "authorization"}:
                    connection.putheader(name, value)
            connection.putheader("Authorization", f"Bearer {self.token}")
            connection.endheaders(body)
            answer = connection.getresponse()
            self.send_response_only(answer.status, answer.reason)
            for name, value in answer.getheaders():
                if name.lower() not in {"connection", "transfer-encoding"}:
                    self.send_header(name, value)
            self.end_headers()
            while chunk := answer.read1(65_536):
                self.wfile.write(chunk)
                self.wfile.flush()
        connection.close()

    do_GET = do_POST = do_DELETE = do_PUT = do_OPTIONS = _forward  # noqa: N815 (the names that http.server calls)

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@contextmanager
def token_proxy(listen: int, upstream: int, token: str) -> Iterator[None]:
    """A proxy on port `listen` of this machine, before the one on `upstream`."""
    names = {"upstream": upstream, "token": token}
    proxy = ThreadingHTTPServer(("127.0.0.1", listen), type("Forwarding", (_Forwarding,), names))
    thread = threading.Thread(target=proxy.serve_forever, daemon=True)
    thread.start()
    try:
        yield
    finally:
        proxy.shutdown()
        proxy.server_close()
        thread.join(SECONDS)
