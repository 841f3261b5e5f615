"""Thirty tasks on documents of the corpus: the calls of an agent with mdplan, and what a rival looks at.

Each task is one instruction of a person, such as "in os.md, change this phrase". The calls of mdplan are
written by hand. Those of its rivals follow from the change that they must make: see `tools.py`.
"""

from dataclasses import dataclass, field
from typing import Any, Final

ABOUT: Final = "PowerShell-Docs/reference/7.5/Microsoft.PowerShell.Core/About"
EIPS: Final = "EIPs/EIPS"
Call = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Look:
    """A search of a rival: `pattern` in `path`, a file or folder; with `names_only` only names of files."""

    pattern: str
    path: str
    names_only: bool = False


@dataclass(frozen=True)
class Task:
    """One task. `reads` are headings of sections that a rival has to read whole, by file."""

    name: str
    calls: tuple[Call, ...]
    looks: tuple[Look, ...]
    reads: tuple[tuple[str, str], ...] = ()
    renames: dict[str, str] = field(default_factory=dict)


def _apply(file: str, *edits: dict[str, Any], **options: object) -> Call:
    return "md_apply", {"file": file, "edits": list(edits), **options}


def _swap(pattern: str, replacement: str, **options: object) -> dict[str, Any]:
    return {"op": "replace_match", "pattern": pattern, "replacement": replacement, **options}


def _phrase(name: str, file: str, old: str, new: str) -> Task:
    """A phrase that the instruction quotes, and that the document has once."""
    return Task(name, (_apply(file, _swap(old, new)),), (Look(old, file),))


def _section(name: str, file: str, heading: str, old: str, new: str) -> Task:
    """A section that has to be read before it is clear what to change in it."""
    calls = (("md_read", {"file": file, "heading": heading}), _apply(file, _swap(old, new, heading=heading)))
    return Task(name, calls, (Look(heading, file),), reads=((file, heading),))


def _everywhere(name: str, folder: str, old: str, new: str, *, once: bool = False, **options: object) -> Task:
    """Replace a term in all files of a folder; if it occurs `once` in each, the edit is evidence."""
    edit = _swap(old, new, **options) if once else _swap(old, new, matchSelection="all", **options)
    look = {"filesOnly": True} if once else {"limit": 200}
    calls = (
        ("md_search", {"pattern": old, "file": folder, **look}),
        ("md_apply", {"files": f"{folder}/*.md", "edits": [edit], "expectedFiles": 0}),
    )
    return Task(name, calls, (Look(old, folder, names_only=once),))


NODE: Final = "nodejs-api"
OPERATORS: Final = f"{ABOUT}/about_Arithmetic_Operators.md"

TASKS: Final = (
    # A phrase that is known.
    _phrase("phrase in os.md", f"{NODE}/os.md", "process ID to retrieve", "process ID of which to get"),
    _phrase("phrase in path.md", f"{NODE}/path.md", "If the given `path` is", "If `path` is"),
    _phrase(
        "phrase in dns.md", f"{NODE}/dns.md", "bug in the name resolution", "fault of the name resolution"
    ),
    _phrase("phrase in tty.md", f"{NODE}/tty.md", "it is being run with a text", "it runs in a text"),
    _phrase("other phrase in os.md", f"{NODE}/os.md", "process ID to set", "process ID for which to set"),
    # A section that has to be read first.
    _section("section of os.md", f"{NODE}/os.md", "`os.uptime()`", "in number of seconds", "in seconds"),
    _section("section of path.md", f"{NODE}/path.md", "`path.sep`", "platform-specific", "own"),
    _section("section of readline.md", f"{NODE}/readline.md", "`rl.pause()`", "pauses", "suspends"),
    _section("section of v8.md", f"{NODE}/v8.md", "`v8.setFlagsFromString(flags)`", "programmatically ", ""),
    _section("section of url.md", f"{NODE}/url.md", "`url.host`", "portion of the URL", "part of the URL"),
    # The same edit in many files.
    _everywhere("term in all of Node.js", NODE, "garbage collector", "collector of garbage"),
    _everywhere("name in all of Node.js", NODE, "Node.js core", "the core of Node.js"),
    _everywhere(
        "link in about pages",
        ABOUT,
        "about_Operators.md",
        "about_All_Operators.md",
        include=["linkDestinations"],
    ),
    _everywhere(
        "schema of about pages", ABOUT, "schema: 2.0.0", "schema: 2.1.0", once=True, include=["frontMatter"]
    ),
    # Front matter.
    Task(
        "status of one proposal",
        (
            ("md_search", {"where": {"status": "Last Call"}, "file": EIPS}),
            _apply(
                f"{EIPS}/eip-7610.md",
                {"op": "set_front_matter", "key": "status", "value": "Final", "expectedValue": "Last Call"},
            ),
        ),
        (Look("status: Last Call", EIPS),),
    ),
    Task(
        "title of an about page",
        (
            ("md_read", {"file": OPERATORS, "frontMatter": True}),
            _apply(
                OPERATORS,
                {"op": "set_front_matter", "values": {"title": "about_Arithmetic", "schema": "3.0"}},
            ),
        ),
        (Look("^title:", OPERATORS), Look("^schema:", OPERATORS)),
    ),
    Task(
        "deadline of a proposal goes",
        (
            ("md_read", {"file": f"{EIPS}/eip-7610.md", "frontMatter": True}),
            _apply(f"{EIPS}/eip-7610.md", {"op": "delete_front_matter", "key": "last-call-deadline"}),
        ),
        (Look("last-call-deadline", f"{EIPS}/eip-7610.md"),),
    ),
    # Tables.
    Task(
        "cell of a table",
        (
            ("md_read", {"file": OPERATORS, "heading": "OPERATOR PRECEDENCE", "table": {"index": 0}}),
            _apply(
                OPERATORS,
                {
                    "op": "upsert_table_row",
                    "heading": "OPERATOR PRECEDENCE",
                    "keyColumn": "Operator",
                    "key": "`()`",
                    "row": {"Description": "Grouping"},
                },
            ),
        ),
        (Look("^\\| Precedence|Parentheses", OPERATORS),),
    ),
    Task(
        "term of two tables",
        (
            ("md_search", {"pattern": "Bitwise AND", "file": OPERATORS}),
            _apply(OPERATORS, _swap("Bitwise AND", "Both bits", matchSelection="all")),
        ),
        (Look("Bitwise AND", OPERATORS),),
    ),
    # Sections move and go.
    Task(
        "section moves in os.md",
        (
            ("md_stat", {"file": f"{NODE}/os.md", "detail": "brief"}),
            _apply(
                f"{NODE}/os.md",
                {
                    "op": "move_section",
                    "heading": "`os.networkInterfaces()`",
                    "toHeadingPath": ["`os.uptime()`"],
                    "position": "after",
                },
            ),
        ),
        (Look("^##", f"{NODE}/os.md"),),
        reads=((f"{NODE}/os.md", "`os.networkInterfaces()`"),),
    ),
    Task(
        "section moves in path.md",
        (
            ("md_stat", {"file": f"{NODE}/path.md", "detail": "brief"}),
            _apply(
                f"{NODE}/path.md",
                {
                    "op": "move_section",
                    "heading": "`path.parse(path)`",
                    "toHeadingPath": ["`path.sep`"],
                    "position": "before",
                },
            ),
        ),
        (Look("^##", f"{NODE}/path.md"),),
        reads=((f"{NODE}/path.md", "`path.parse(path)`"),),
    ),
    Task(
        "section goes to another file",
        (
            ("md_stat", {"file": f"{NODE}/tty.md", "detail": "brief"}),
            ("md_search", {"pattern": "## ", "file": f"{NODE}/punycode.md"}),
            _apply(
                f"{NODE}/tty.md",
                {"op": "move_section", "heading": "`tty.isatty(fd)`", "toFile": f"{NODE}/punycode.md"},
            ),
        ),
        (Look("^##", f"{NODE}/tty.md"), Look("^##", f"{NODE}/punycode.md")),
        reads=((f"{NODE}/tty.md", "`tty.isatty(fd)`"),),
    ),
    Task(
        "section is deleted",
        (
            ("md_stat", {"file": f"{NODE}/timers.md", "detail": "brief"}),
            _apply(f"{NODE}/timers.md", {"op": "delete_section", "heading": "Class: `Timeout`"}),
        ),
        (Look("^##", f"{NODE}/timers.md"),),
        reads=((f"{NODE}/timers.md", "Class: `Timeout`"),),
    ),
    Task(
        "text at the end of a section",
        (
            ("md_read", {"file": f"{NODE}/querystring.md", "heading": "`querystring.escape(str)`"}),
            _apply(
                f"{NODE}/querystring.md",
                {
                    "op": "append_to_section",
                    "heading": "`querystring.escape(str)`",
                    "markdown": "See also `encodeURIComponent`.",
                },
            ),
        ),
        (Look("^##", f"{NODE}/querystring.md"),),
        reads=((f"{NODE}/querystring.md", "`querystring.escape(str)`"),),
    ),
    # Renames and links.
    Task(
        "heading is renamed, and its links",
        (
            ("md_stat", {"file": f"{NODE}/wasi.md", "detail": "brief"}),
            _apply(
                f"{NODE}/wasi.md",
                {"op": "rename_heading", "heading": "Class: `WASI`", "newTitle": "The class `WASI`"},
                updateReferences="workspace",
            ),
        ),
        (Look("Class: `WASI`|#class-wasi", NODE),),
    ),
    Task(
        "file is renamed, and its links",
        (
            ("md_search", {"pattern": "# TTY", "file": f"{NODE}/tty.md"}),
            _apply(
                f"{NODE}/tty.md",
                {"op": "rename_file", "newFile": f"{NODE}/terminal.md"},
                updateReferences="workspace",
            ),
        ),
        (Look("tty\\.md", NODE),),
        renames={f"{NODE}/tty.md": f"{NODE}/terminal.md"},
    ),
    # Lists and tasks.
    Task(
        "tasks are done",
        (
            _apply(
                "book/TODO.md",
                {"op": "set_task", "item": "Manual regeneration", "done": True},
                {"op": "set_task", "item": "Answer all comments", "done": True},
            ),
        ),
        (Look("Manual regeneration|Answer all comments", "book/TODO.md"),),
    ),
    Task(
        "items of a list",
        (
            ("md_read", {"file": "book/TODO.md"}),
            _apply(
                "book/TODO.md",
                {"op": "add_list_item", "list": {"index": 0}, "item": "[ ] Ask a second reader"},
            ),
        ),
        (Look("\\[ \\]", "book/TODO.md"),),
    ),
    # Code and lines.
    Task(
        "code of an example",
        (
            ("md_search", {"pattern": "foo: 'bar'", "file": f"{NODE}/querystring.md"}),
            _apply(
                f"{NODE}/querystring.md",
                _swap(
                    "foo: 'bar',",
                    "foo: 'baz',",
                    include=["codeBlocks"],
                    heading="`querystring.parse(str[, sep[, eq[, options]]])`",
                ),
            ),
        ),
        (Look("foo: 'bar'", f"{NODE}/querystring.md"),),
    ),
    Task(
        "several edits of one document",
        (
            ("md_read", {"file": f"{NODE}/punycode.md", "heading": "Punycode", "subsections": False}),
            _apply(
                f"{NODE}/punycode.md",
                _swap("is being deprecated", "is discouraged"),
                {"op": "append_to_section", "heading": "`punycode.ucs2`", "markdown": "It is rarely needed."},
                {"op": "rename_heading", "heading": "Punycode", "newTitle": "The module punycode"},
            ),
        ),
        (Look("deprecated", f"{NODE}/punycode.md"), Look("^#", f"{NODE}/punycode.md")),
        reads=((f"{NODE}/punycode.md", "`punycode.ucs2`"),),
    ),
)
