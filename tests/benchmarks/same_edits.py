"""Make the same small edits with mdplan and other servers, and compare the bytes in a table.

`python tests/benchmarks/same_edits.py` prints it; `docs/explanation/comparison.md` shows it. Each server is
called as its description says: read first, then edit with the returned guard.
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rivals import Missing, filesystem_server, text_editor
from scratch import scratch_folder
from servers import Client

OURS = "mdplan"
BOM = b"\xef\xbb\xbf"
GUIDE = b"# Guide\n\nThe nightly build.\n\n## Use\n\nUse it.\n"
FENCED = b"# Guide\n\n```sh\n## Use\n```\n\n## Use\n\nUse it.\n"
TWICE = b"# Guide\n\nRun it.\n\n## Use\n\nRun it.\n"


@dataclass(frozen=True)
class Trial:
    """An edit: replace `old` with `new`; or with `heading`, put `new` below that heading.

    `line` (1-based) is its place, for callers that work by line. `expected` is the result, or None if it
    should be refused; `by_line` replaces it for callers that named the line. `meanwhile` is written by
    somebody else between read and edit. `second` is another edit in the same call.
    """

    name: str
    before: bytes
    expected: bytes | None
    old: str
    new: str
    line: int
    by_line: bytes | None = None
    heading: str | None = None
    meanwhile: bytes | None = None
    second: tuple[str, str, int] | None = None


def a_word(what: str, before: bytes) -> Trial:
    """Return a trial that replaces a word of `before`, a variant of `GUIDE` with bytes that must stay."""
    return Trial(what, before, before.replace(b"nightly", b"stable"), "nightly", "stable", 3)


TRIALS = (
    a_word("a word, in a file with CRLF", GUIDE.replace(b"\n", b"\r\n")),
    a_word("a word, in a file whose line ends are mixed", GUIDE.replace(b"Use it.\n", b"Use it.\r\n")),
    a_word("a word, after a byte order mark", BOM + GUIDE),
    Trial(
        "a word of the last line, which has no newline",
        GUIDE[:-1],
        GUIDE[:-1].replace(b"Use it.", b"Read it."),
        "Use it.",
        "Read it.",
        7,
    ),
    a_word("a word, with a byte elsewhere that is no UTF-8", GUIDE.replace(b"Use it", b"Caf\xe9")),
    Trial(
        "a line below `## Use`, which is in code too",
        FENCED,
        FENCED.replace(b"## Use\n\n", b"## Use\n\nFirst read it.\n\n"),
        "## Use\n",
        "## Use\n\nFirst read it.\n",
        7,
        heading="Use",
    ),
    Trial(
        "a text that occurs twice",
        TWICE,
        None,
        "Run it.",
        "Start it.",
        3,
        by_line=TWICE.replace(b"Run it.", b"Start it.", 1),
    ),
    Trial(
        "a word, after somebody changed another line",
        GUIDE,
        GUIDE.replace(b"nightly", b"stable").replace(b"Use it.", b"Use it well."),
        "nightly",
        "stable",
        3,
        meanwhile=GUIDE.replace(b"Use it.", b"Use it well."),
    ),
    Trial(
        "a word, after somebody changed that word",
        GUIDE,
        None,
        "nightly",
        "stable",
        3,
        meanwhile=GUIDE.replace(b"nightly", b"weekly"),
    ),
    Trial(
        "two words, of which the second is not there",
        GUIDE,
        None,
        "nightly",
        "stable",
        3,
        second=("missing", "found", 7),
    ),
)


def outcome(trial: Trial, after: bytes, *, refused: bool, by_line: bool) -> str:
    """Describe the result; callers that work by line (`by_line`) have named the line."""
    before = trial.before if trial.meanwhile is None else trial.meanwhile
    if after == before:
        return "refused, nothing written" if refused else "**nothing written, and no error**"
    if after == ((trial.by_line if by_line else None) or trial.expected):
        return "done, no other byte changed"
    faults = list(_faults(before, after)) or ["another place than meant was changed"]
    return f"**{', '.join(faults)}**"


def _faults(before: bytes, after: bytes) -> Iterator[str]:
    if before.count(b"\r") > after.count(b"\r"):
        yield "CRLF became LF"
    if before.count(b"\r") < after.count(b"\r"):
        yield "LF became CRLF"
    if before.startswith(BOM) and not after.startswith(BOM):
        yield "the mark is lost"
    if not before.endswith(b"\n") and after.endswith(b"\n"):
        yield "a newline was added at the end"
    if b"\xe9" in before and b"\xe9" not in after.replace(b"\xc3\xa9", b""):
        yield "the byte became another"
    if b"```sh\n## Use\n\n" in after:
        yield "the line in the code was taken"
    if b"Start it." in after:
        yield "the first was taken" if after.count(b"Start it.") == 1 else "both were changed"


def by_mdplan(client: Client, path: Path, trial: Trial, meanwhile: Callable[[], None]) -> bool:
    """`md_stat`, then `md_apply` with the hash of the file that it gave; whether it was refused."""
    seen = answer_of(client, "md_stat", {"file": path.name})["structuredContent"]
    meanwhile()
    batch = {"file": path.name, "baseSha256": seen["baseSha256"], "edits": _edits(trial, seen)}
    return bool(answer_of(client, "md_apply", batch).get("isError"))


def by_mdplan_without_hash(client: Client, path: Path, trial: Trial, meanwhile: Callable[[], None]) -> bool:
    """The same without that hash: the old text guards the edit, or the version that `md_stat` showed."""
    seen = answer_of(client, "md_stat", {"file": path.name})["structuredContent"]
    meanwhile()
    batch = {"file": path.name, "edits": _edits(trial, seen)}
    return bool(answer_of(client, "md_apply", batch).get("isError"))


def _edits(trial: Trial, seen: Mapping[str, Any]) -> list[dict[str, Any]]:
    if trial.heading is None:
        pairs = [(trial.old, trial.new), *([trial.second[:2]] if trial.second else [])]
        how = {"op": "replace_match", "expectedMatchCount": 1}
        return [{**how, "pattern": old, "replacement": new} for old, new in pairs]
    (section,) = [each for each in seen["sections"] if each["headingPath"][-1] == trial.heading]
    return [{"op": "prepend_to_section", "sectionId": section["sectionId"], "markdown": "First read it."}]


def by_filesystem(client: Client, path: Path, trial: Trial, meanwhile: Callable[[], None]) -> bool:
    """`read_text_file`, then `edit_file`; whether it was refused."""
    answer_of(client, "read_text_file", {"path": str(path)})
    meanwhile()
    pairs = [(trial.old, trial.new), *([trial.second[:2]] if trial.second else [])]
    edits = [{"oldText": old, "newText": new} for old, new in pairs]
    return bool(answer_of(client, "edit_file", {"path": str(path), "edits": edits}).get("isError"))


def by_text_editor(client: Client, path: Path, trial: Trial, meanwhile: Callable[[], None]) -> bool:
    """`get_text_file_contents` of the line, then a patch of it with both hashes; whether it was refused."""
    request = {"file_path": str(path), "ranges": [{"start": trial.line, "end": trial.line}]}
    answer = answer_of(client, "get_text_file_contents", {"files": [request]})
    if answer.get("isError"):
        return True
    seen = json.loads(answer["content"][0]["text"])[str(path)]
    (found,) = seen["ranges"]
    meanwhile()
    patch = {
        "start": trial.line,
        "end": trial.line,
        "contents": found["content"].replace(trial.old.rstrip("\n"), trial.new.rstrip("\n")),
        "range_hash": found["range_hash"],
    }
    patches = [patch]
    if trial.second:
        patches.append({**patch, "start": trial.second[2], "end": trial.second[2], "contents": "found\n"})
    arguments = {"file_path": str(path), "file_hash": seen["file_hash"], "patches": patches}
    answer = answer_of(client, "patch_text_file_contents", arguments)
    if answer.get("isError"):
        return True
    said = json.loads(answer["content"][0]["text"])
    return bool(said.get(str(path), said).get("result") != "ok")


def answer_of(client: Client, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The result of a call, be it an error."""
    result: dict[str, Any] = client.request("tools/call", {"name": tool, "arguments": arguments})["result"]
    return result


ASKED: Mapping[str, Callable[[Client, Path, Trial, Callable[[], None]], bool]] = {
    OURS: by_mdplan,
    f"{OURS}, without the hash": by_mdplan_without_hash,
    "server-filesystem": by_filesystem,
    "mcp-text-editor": by_text_editor,
}


def outcomes(server: str, command: Sequence[str], root: Path) -> list[str]:
    """What becomes of each trial, by the `server` that `command` starts over the folder `root`."""
    client = Client(command)
    told = []
    try:
        for number, trial in enumerate(TRIALS):
            path = root / f"{server.replace(', ', '-').replace(' ', '-')}-{number}.md"
            path.write_bytes(trial.before)
            written = path.write_bytes
            meanwhile = trial.meanwhile

            def others(write: Callable[[bytes], int] = written, data: bytes | None = meanwhile) -> None:
                if data is not None:
                    write(data)

            refused = ASKED[server](client, path, trial, others)
            by_line = server == "mcp-text-editor"
            told.append(outcome(trial, path.read_bytes(), refused=refused, by_line=by_line))
    finally:
        client.close()
    return told


def own_command(root: Path) -> list[str]:
    """What starts our own server over `root`."""
    return [sys.executable, "-m", "mdplan", "serve", "--root", str(root)]


def main() -> None:
    """Print the table, and below it the versions."""
    with scratch_folder() as root:
        rivals = {"server-filesystem": filesystem_server(root), "mcp-text-editor": text_editor()}
        columns = {name: outcomes(name, own_command(root), root) for name in ASKED if name.startswith(OURS)}
        versions: dict[str, str] = {}
        for name, rival in rivals.items():
            if isinstance(rival, Missing):
                columns[name] = [f"not here: {rival.reason}"] * len(TRIALS)
            else:
                columns[name] = outcomes(name, rival.command, root)
                versions |= rival.versions
    print("\n".join(table(columns)))
    print(f"\n{', '.join(f'{name} {version}' for name, version in versions.items())}")


def table(columns: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The lines of the table, a row for each trial."""
    yield f"| Edit | {' | '.join(columns)} |"
    yield "|---" * (len(columns) + 1) + "|"
    for number, trial in enumerate(TRIALS):
        yield f"| {trial.name} | {' | '.join(column[number] for column in columns.values())} |"


if __name__ == "__main__":
    main()
