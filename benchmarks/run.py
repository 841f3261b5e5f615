"""`make bench`: what mdplan costs, as ratios, printed and written to `benchmarks/RESULTS.md`.

Every number is a median of rounds in which all candidates run in turns, so that a busy machine slows all of
them down alike. Milliseconds differ from machine to machine; ratios hardly do.
"""

import difflib
import hashlib
import platform
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path

from documents import MEGABYTE, Edit, corpus, document, edits
from durability import durability_sections, file_system
from markdown_it import MarkdownIt
from mdit_py_plugins.footnote import footnote_plugin
from measure import ROUNDS, in_turns, times
from structure import structure_sections

from mdplan import __version__
from mdplan.batch import Batch
from mdplan.markdown import heading_source, inline_nodes, outline, payload
from mdplan.markdown.outline import Outline
from mdplan.planning.build import Built, BuiltFile, build_file
from mdplan.planning.conflicts import find_conflicts
from mdplan.planning.derived import derive
from mdplan.planning.resolve import resolve_edits
from mdplan.planning.snapshot import SnapshotFile
from mdplan.planning.summary import plan_of, report_fields
from mdplan.planning.verify import verify
from mdplan.text.diff import unified_diff
from mdplan.text.source import Source
from mdplan.wire import read_batch
from tests.no_other_files import NoOtherFiles

RESULTS = Path(__file__).with_name("RESULTS.md")
MOST_PER_DOUBLING = 2.5
PARSES = {
    "blocks of the document": (outline, "parse_blocks"),
    "blocks with inline content of the document": (inline_nodes, "parse_inline_blocks"),
    "payloads": (payload, "parse_blocks"),
    "new titles": (heading_source, "parse_blocks"),
}

Row = tuple[str, str]


def main() -> int:
    """Measure everything; 1 when a doubling or a commit costs more than it may."""
    text = document(MEGABYTE)
    sections = [
        ("An outline of 1 MB", outline_rows(text)),
        *structure_sections(text),
        ("A plan of 1,000 edits in 1 MB", plan_rows(text)),
        *doubling_sections(text),
        ("The diff of that plan", diff_rows(text)),
        *durability_sections(),
    ]
    page = as_page(sections)
    RESULTS.write_text(page, encoding="utf-8")
    print(page)
    too_slow = [row for _, rows in sections for row in rows if row[1].endswith("(too much)")]
    return 1 if too_slow else 0


def outline_rows(text: str) -> list[Row]:
    data = text.encode()
    block = MarkdownIt("commonmark").enable("table")
    block.core.ruler.enableOnly(["normalize", "block"])
    full = MarkdownIt("commonmark").enable(["table", "strikethrough"]).use(footnote_plugin)
    taken = in_turns(
        {
            "outline": lambda: Outline(decoded(data)),
            "block": lambda: block.parse(text),
            "full": lambda: full.parse(text),
            "hash": lambda: hashlib.sha256(data).digest(),
        }
    )
    return [
        ("against markdown-it-py's block pass alone", times(taken["outline"] / taken["block"])),
        ("against its full parse, GFM with footnotes", times(taken["outline"] / taken["full"])),
        ("against SHA-256 of the bytes", times(taken["outline"] / taken["hash"])),
    ]


def plan_rows(text: str) -> list[Row]:
    thousand = edits(text, 1000)
    mixed = ", ".join(f"{count} {op}" for op, count in Counter(edit["op"] for edit in thousand).items())
    taken = in_turns(
        {"plan": lambda: plan(text, thousand), "outline": lambda: Outline(decoded(text.encode()))}
    )
    with counted() as counts:
        plan(text, thousand)
    return [
        ("edits", mixed),
        ("against one outline of the document", times(taken["plan"] / taken["outline"])),
        *((f"parses: {what}", f"{counts[what]:,}") for what in PARSES),
    ]


def doubling_sections(text: str) -> Iterator[tuple[str, list[Row]]]:
    counts = [125, 250, 500, 1000, 2000]
    batches = {count: edits(text, count) for count in counts}
    yield (
        "Twice the edits, in 1 MB",
        doublings({f"{count:,} edits": planner(text, batches[count]) for count in counts}),
    )
    texts = [document(size) for size in (MEGABYTE // 4, MEGABYTE // 2, MEGABYTE, 2 * MEGABYTE)]
    yield (
        "Twice the document, with 250 edits",
        doublings({f"{len(each) / MEGABYTE:.2f} MB": planner(each, edits(each, 250)) for each in texts}),
    )


def doublings(actions: dict[str, Callable[[], object]]) -> list[Row]:
    """What each action costs against the one before it."""
    taken = in_turns(actions, rounds=5)
    rows: list[Row] = []
    for before, after in pairwise(actions):
        ratio = taken[after] / taken[before]
        rows.append(
            (f"{after} against {before}", times(ratio) + (" (too much)" if ratio > MOST_PER_DOUBLING else ""))
        )
    return rows


def diff_rows(text: str) -> list[Row]:
    built = plan(text, edits(text, 1000))
    base, result = (each.source.text.split("\n") for each in (built.base, built.result))
    taken = in_turns(
        {
            "edits": lambda: unified_diff("a.md", built.base.source.data, built.byte_edits),
            "texts": lambda: list(difflib.unified_diff(base, result)),
        },
        rounds=5,
    )
    return [("difflib.unified_diff of both texts, against it", times(taken["texts"] / taken["edits"]))]


# The subject.


def planner(text: str, batch: list[Edit]) -> Callable[[], object]:
    return lambda: plan(text, batch)


def plan(text: str, batch: list[Edit]) -> BuiltFile:
    """What the engine does with a batch on one file, from decoded JSON to the report, without the disk."""
    source = decoded(text.encode())
    request = read_batch({"file": "a.md", "baseSha256": source.sha256, "edits": batch})
    assert isinstance(request, Batch), request
    file = SnapshotFile(
        path="a.md", relative="a.md", requested=request.files[0], outline=Outline(source), first_edit=0
    )
    resolved, problems = resolve_edits(file)
    assert (problems, find_conflicts(file, resolved)) == ((), ())
    built = build_file(file, resolved)
    assert isinstance(built, BuiltFile), built
    assert verify(built, request) == ()
    made = derive([built], "none", NoOtherFiles())
    assert isinstance(made, Built), made
    assert report_fields(plan_of(made, request), built.diff)["edits_applied"] == len(batch)
    return built


def decoded(data: bytes) -> Source:
    source = Source.decode(data)
    assert isinstance(source, Source)
    return source


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """Count the parses inside of the block, by what is parsed."""
    counts = Counter[str]()

    def counting(what: str, original: Callable[..., object]) -> Callable[..., object]:
        def count(*arguments: object) -> object:
            counts[what] += 1
            return original(*arguments)

        return count

    originals = {what: getattr(module, name) for what, (module, name) in PARSES.items()}
    for what, (module, name) in PARSES.items():
        setattr(module, name, counting(what, originals[what]))
    try:
        yield counts
    finally:
        for what, (module, name) in PARSES.items():
            setattr(module, name, originals[what])


# The page.


def as_page(sections: list[tuple[str, list[Row]]]) -> str:
    packages = ", ".join(
        f"{name} {version(name)}" for name in ("markdown-it-py", "mdit-py-plugins", "pydantic")
    )
    text = "real documents, joined" if corpus() else "generated prose"
    how = (
        "Written by `make bench`. Each number is a ratio of median processor times; all candidates of a part "
        f"run in turns, {ROUNDS} rounds each, or 5 for doublings and diffs. Commits are measured by the "
        "clock, since most of their time is waiting for the disk."
    )
    lines = [
        "# What mdplan costs",
        "",
        how,
        "",
        f"- mdplan {__version__}, {packages}",
        f"- {platform.python_implementation()} {platform.python_version()}, {machine()}",
        f"- text: {text}; commits: documents of 10 KB on {file_system()}",
        "",
        "| | |",
        "|---|---|",
    ]
    for title, rows in sections:
        lines.append(f"| **{title}** | |")
        lines += (f"| {what} | {number} |" for what, number in rows)
    return "\n".join(lines) + "\n"


def machine() -> str:
    """The processor by its name, where the system tells it."""
    try:
        facts = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return f"{platform.system()} on {platform.machine()}"
    names = [line.partition(":")[2].strip() for line in facts.split("\n") if line.startswith("model name")]
    return f"{platform.system()} on {len(names)} × {names[0]}" if names else platform.machine()


if __name__ == "__main__":
    raise SystemExit(main())
