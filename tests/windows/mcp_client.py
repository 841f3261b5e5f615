# ruff: noqa: T201 - People read what it prints.
"""Speak MCP over standard streams with the server under `python-win`: read, plan, apply, and leave."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any


def main(python: str) -> int:
    """Return 0 if every answer was the expected one, in lines without CR."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "page.md")
        page.write_bytes(b"# Title\r\n\r\nold text\r\n")
        server = subprocess.Popen(
            [python, "-m", "mdplan", "serve", "--root", "Z:" + folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

        def ask(number: int, method: str, **parameters: Any) -> dict[str, Any]:
            assert server.stdin is not None
            assert server.stdout is not None
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}
            server.stdin.write(json.dumps(message).encode() + b"\n")
            server.stdin.flush()
            line = server.stdout.readline()
            assert b"\r" not in line, line
            answer: dict[str, Any] = json.loads(line)
            return answer["result"]

        client = {"name": "trial", "version": "1"}
        ask(1, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
        edit = {"op": "replace_match", "pattern": "old text", "replacement": "né"}
        calls = (
            ("md_stat", {"file": "page.md"}, False),
            ("md_stat", {"file": "PAGE.md"}, True),
            ("md_apply", {"file": "page.md", "edits": [edit]}, False),
        )
        answers = [
            ask(number, "tools/call", name=name, arguments=arguments)["isError"] is fails
            for number, (name, arguments, fails) in enumerate(calls, start=2)
        ]
        assert server.stdin is not None
        server.stdin.close()
        code = server.wait(30)
        written = page.read_bytes()
    is_right = all(answers) and code == 0 and written == "# Title\r\n\r\nné\r\n".encode()
    print(f"mcp client: {sum(answers)} of {len(answers)} answers right, exit code {code}, {written!r}")
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
