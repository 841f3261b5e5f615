"""`make bench`: what mdplan costs, as ratios, printed and written to `tests/benchmarks/RESULTS.md`.

Every number is the median of the ratios of rounds in which all candidates run in turns, so that a busy
machine slows all of them down alike. Milliseconds differ from machine to machine; ratios hardly do.

`python tests/benchmarks/run.py NAME …` measures only the groups of these names, and writes nothing.
"""

import platform
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

from bot import bot_parts
from documents import MEGABYTE, corpus, document
from durability import durability_parts
from measure import Measure, Part, short
from pages import page_parts
from process_startup import starting_parts
from review import review_parts
from rivals import Missing, filesystem_server, parsers, text_editor
from scratch import file_system
from servers import server_parts
from structure import structure_parts
from verbs import verb_parts

from mdplan import __version__

RESULTS = Path(__file__).with_name("RESULTS.md")
OURS = ("mcp", "pydantic", "click", "pyromark", "markdown-it-py", "mdit-py-plugins")


def main(names: Sequence[str]) -> None:
    """Measure everything, and tell which bars are not met."""
    parts = []
    for part in all_parts(names):
        parts.append(part)
        print("\n".join([f"\n{part.title}", *map(line, part.measures)]), flush=True)
    if not names:
        RESULTS.write_text(as_page(parts), encoding="utf-8")
    missed = [
        each.what for part in parts for each in part.measures if each.bar is not None and not each.is_met
    ]
    print("\n".join(["", f"Bars that are not met: {len(missed)}", *missed]))


def all_parts(names: Sequence[str]) -> Iterator[Part]:
    """Every part, measured as it comes."""
    text = document(MEGABYTE)
    groups: dict[str, Iterable[Part]] = {
        "start": starting_parts(),
        "servers": server_parts(),
        "outlines": structure_parts(text, parsers()),
        "verbs": verb_parts(text),
        "durability": durability_parts(),
        "bot": bot_parts(),
        "pages": page_parts(),
        "review": review_parts(),
    }
    for name, parts in groups.items():
        if not names or name in names:
            yield from parts


def line(measure: Measure) -> str:
    return f"  {measure.what}: {cells(measure)[1]} (at most {cells(measure)[0] or '-'}) {cells(measure)[2]}"


def cells(measure: Measure) -> tuple[str, str, str]:
    """Bar, ratio and verdict of a row."""
    bar = f"{measure.bar:g}" if measure.bar is not None else ""
    if measure.ratio is None:
        return bar, "–", f"not measured: {measure.missing}"
    verdict = "" if measure.bar is None else "met" if measure.is_met else "**not met**"
    return bar, short(measure.ratio), verdict


def as_page(parts: Sequence[Part]) -> str:
    return "\n".join([*heading(parts), *table(parts), *notes(parts)]) + "\n"


def heading(parts: Sequence[Part]) -> Iterator[str]:
    barred = [each for part in parts for each in part.measures if each.bar is not None]
    met = sum(each.is_met for each in barred)
    yield from ("# What mdplan costs", "")
    yield (
        "Written by `make bench`. Each number is a ratio: the median of five rounds or more in one run, in "
        "which all candidates take turns. A bar is the most that it may be; rows without one are for "
        "comparison. "
        f"{met} of {len(barred)} bars are met."
    )
    packages = ", ".join(f"{name} {version(name)}" for name in OURS)
    yield from (
        "",
        f"- mdplan {__version__}; {packages}",
        f"- rivals: {'; '.join(rivals())}",
        f"- {platform.python_implementation()} {platform.python_version()}, {machine()}, {file_system()}",
        f"- documents: {'real ones, joined' if corpus() else 'generated prose'}; the changelog is generated",
        "",
    )


def rivals() -> Iterator[str]:
    for rival in (parsers(), filesystem_server(Path()), text_editor()):
        if isinstance(rival, Missing):
            yield f"one is missing: {rival.reason}"
        else:
            yield ", ".join(f"{name} {number}" for name, number in rival.versions.items())


def table(parts: Sequence[Part]) -> Iterator[str]:
    yield from ("| Measure | Bar | Ratio | |", "|---|---|---|---|")
    for part in parts:
        yield f"| **{part.title}** | | | |"
        for measure in part.measures:
            bar, ratio, verdict = cells(measure)
            yield f"| {measure.what} | {bar} | {ratio} | {verdict} |"


def notes(parts: Sequence[Part]) -> Iterator[str]:
    yield from ("", "How it was measured:", "")
    yield from (f"- {part.title}: {part.how}." for part in parts)


def machine() -> str:
    """Return the name of the processor, if the system reports it."""
    try:
        facts = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return f"{platform.system()} on {platform.machine()}"
    names = [line.partition(":")[2].strip() for line in facts.split("\n") if line.startswith("model name")]
    return f"{platform.system()} on {len(names)} × {names[0]}" if names else platform.machine()


if __name__ == "__main__":
    main(sys.argv[1:])
