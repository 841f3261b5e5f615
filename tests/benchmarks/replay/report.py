"""Write docs/explanation/replay.md from the rows of a run: `python -m tests.benchmarks.replay.report`."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from tests.benchmarks.replay.plots import stacked
from tests.benchmarks.replay.run import REPOSITORY
from tests.benchmarks.replay.sums import HERE, Sums, write_results
from tests.benchmarks.replay.tools import TOOLS
from tests.benchmarks.replay.variants import VARIANTS

PAGE = REPOSITORY / "docs" / "explanation" / "replay.md"
TEXT = HERE / "page.md"
README = REPOSITORY / "README.md"
IN_README = ("mdplan", "line-hash anchors", "search/replace, lines", "apply_patch", "git apply", "patch")
README_START, README_END = "<!-- replay:start -->\n", "<!-- replay:end -->\n"
ANCHORS = "line-hash anchors"
UNGUARDED = "whole file"
# Only this tool has the old version of the file.
BOUND = "three-way merge"
KINDS = ("right", "right elsewhere", "refused", "wrong")


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ("---",) + ("--:",) * (len(header) - 1), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


class Part:
    """What the tools make of some changes."""

    def __init__(self, sums: Sums) -> None:
        self.changes: int = sums["changes"]
        self.tools = [tool.name for tool in TOOLS if tool.name in sums["tools"]]
        self._sums: Mapping[str, Sums] = sums["tools"]

    def tokens(self, tool: str, index: int = 0, field: str = "tokens") -> int:
        return int(self._sums[tool][field][index])

    def exact(self, tool: str) -> float:
        return float(self._sums[tool]["exact"] / max(self.changes, 1))

    def ends(self, tool: str, field: str = "drift") -> Sequence[int]:
        """How often the result is right, right elsewhere, refused and wrong."""
        return [self._sums[tool][field].get(kind, 0) for kind in KINDS]

    def changed(self, tool: str) -> Sequence[int]:
        """The same where the place of the change has changed too."""
        return self.ends(tool, "driftWhereThePlaceChanged")

    def alarms(self, tool: str) -> int:
        return int(self._sums[tool]["alarms"])

    def per_tool(self, cells: Callable[[str], Sequence[str]]) -> Iterator[tuple[str, ...]]:
        for tool in self.tools:
            yield (tool, *cells(tool))


def main() -> None:
    results = write_results()
    parts = {name: Part(sums) for name, sums in results["parts"].items()}
    whole = parts["all"]
    alarms = whole.alarms("mdplan")
    fields = {
        "count": f"{whole.changes:,}",
        "repositories": ", ".join(f"{name} ({n:,})" for name, n in sorted(results["repositories"].items())),
        **{f"{name}_version": version for name, version in results["versions"].items()},
        "wins": wins(whole),
        "cost": cost(whole),
        "alarms": str(alarms),
        "alarm_share": f"{alarms / whole.changes:.2%}",
        "inexact": "\n".join(f"- {name}" for name in results["inexact"]) or "None.",
        "by_hunks": strata(parts, "hunks: "),
        "by_kind": strata(parts, "kind: "),
        "by_size": strata(parts, "size: "),
        "drift": drifted(whole),
        "changed": changed(whole),
        "branch": branches(whole),
        "variants": variants(results["variants"]),
        "commits": whole_commits(results["commits"]),
        "commit_count": str(results["commits"]["commits"]),
    }
    text = TEXT.read_text(encoding="utf-8")
    for name, value in fields.items():
        text = text.replace(f"{{{name}}}", value)
    PAGE.write_text(text, encoding="utf-8")
    README.write_text(with_summary(README.read_text(encoding="utf-8"), whole), encoding="utf-8")
    plots(whole)


def with_summary(readme: str, whole: Part) -> str:
    """`readme` with the columns that matter most, of the best-known formats."""
    before, _, rest = readme.partition(README_START)
    _, _, after = rest.partition(README_END)
    header = ("Edit format", "Exact", "Tokens of the calls", "Right after drift", "Wrong after drift")
    rows = [
        (tool, f"{whole.exact(tool):.2%}", f"{whole.tokens(tool):,}", *(f"{each:,}" for each in ends))
        for tool in IN_README
        for ends in [(whole.ends(tool)[0], whole.ends(tool)[3])]
    ]
    return f"{before}{README_START}{table(header, rows)}\n{README_END}{after}"


def wins(whole: Part) -> str:
    """The best of each column, and mdplan's number beside it."""

    def line(
        what: str, value: Callable[[str], float], *, least: bool, but: str = "", form: str = "{:,}"
    ) -> tuple[str, ...]:
        values = {tool: value(tool) for tool in whole.tools if tool != but}
        best = (min if least else max)(values.values())
        winners = ", ".join(tool for tool in values if values[tool] == best)
        return what, winners, form.format(best), form.format(values["mdplan"])

    lines = [
        line("Exact, %", lambda tool: 100 * whole.exact(tool), least=False, form="{:.2f}"),
        line("Tokens of the call, o200k", whole.tokens, least=True),
        line("Tokens of the call, cl100k", lambda tool: whole.tokens(tool, 1), least=True),
        line("Tokens to read, o200k", lambda tool: whole.tokens(tool, 0, "read"), least=True),
        line("Right after drift", lambda tool: whole.ends(tool)[0], least=False, but=BOUND),
        line("Wrong after drift", lambda tool: whole.ends(tool)[3], least=True, but=UNGUARDED),
        line(
            "Applied where the place has changed", lambda tool: whole.changed(tool)[1], least=False, but=BOUND
        ),
        line(
            "Wrong where the place has changed",
            lambda tool: whole.changed(tool)[3],
            least=True,
            but=UNGUARDED,
        ),
    ]
    return table(("Column", "Best", "Its number", "mdplan"), lines)


def cost(whole: Part) -> str:
    def cells(tool: str) -> Sequence[str]:
        calls = [whole.tokens(tool, index) for index in (0, 1)]
        ratios = [f"{calls[index] / whole.tokens(ANCHORS, index):.2f}" for index in (0, 1)]
        read = whole.tokens(tool, 0, "read")
        counts = [f"{each:,}" for each in calls]
        return f"{whole.exact(tool):.2%}", *counts, *ratios, f"{read:,}", f"{calls[0] + read:,}"

    header = (
        "Tool",
        "Exact",
        "Call, o200k",
        "Call, cl100k",
        "Ratio, o200k",
        "Ratio, cl100k",
        "Read",
        "Read and call",
    )
    return table(header, whole.per_tool(cells))


_ORDER = ("1", "2-3", "4-10", "more than 10", "to 5 kB", "to 20 kB", "to 100 kB", "more than 100 kB")
_COMPARED = ("mdplan", "search/replace, words", "apply_patch", "git apply")


def strata(parts: Mapping[str, Part], title: str) -> str:
    """A row for each part: its size, and tokens, exact and drift of mdplan and of its nearest rivals."""
    found = {name.removeprefix(title): part for name, part in parts.items() if name.startswith(title)}
    order = {name: index for index, name in enumerate(_ORDER)}
    lines = []
    for name, part in sorted(found.items(), key=lambda item: (order.get(item[0], 0), -item[1].changes)):
        anchors = max(part.tokens(ANCHORS), 1)
        right = [part.ends(tool)[0] for tool in ("mdplan", "patch", "git apply")]
        lines.append(
            (
                name,
                f"{part.changes:,}",
                f"{part.exact('mdplan'):.1%}",
                *(f"{part.tokens(tool) / anchors:.2f}" for tool in _COMPARED),
                *(f"{each:,}" for each in right),
                f"{part.ends('mdplan')[3]:,}",
            )
        )
    header = (
        "Part",
        "Changes",
        "Exact",
        *(f"Tokens: {tool}" for tool in _COMPARED),
        "Right: mdplan",
        "Right: patch",
        "Right: git apply",
        "Wrong: mdplan",
    )
    return table(header, lines)


def drifted(whole: Part) -> str:
    return table(
        ("Tool", "Right", "Elsewhere", "Refused", "Wrong"),
        whole.per_tool(lambda tool: [f"{each:,}" for each in whole.ends(tool)]),
    )


def changed(whole: Part) -> str:
    return table(
        ("Tool", "Applied", "Refused", "Wrong"),
        whole.per_tool(lambda tool: [f"{each:,}" for each in whole.changed(tool)[1:]]),
    )


def branches(whole: Part) -> str:
    return table(
        ("Tool", "Right", "Elsewhere", "Refused", "Wrong"),
        whole.per_tool(lambda tool: [f"{each:,}" for each in whole.ends(tool, "branch")]),
    )


def variants(sums: Sums) -> str:
    made = [sums[name] for name in VARIANTS if name in sums]
    names = (name for name in VARIANTS if name in sums)
    lines = [
        (tool.name, *(f"{each['tools'][tool.name]['exact']}" for each in made))
        for tool in TOOLS
        if all(tool.name in each["tools"] for each in made)
    ]
    header = ("Tool", *(f"{name} ({each['changes']})" for name, each in zip(names, made, strict=True)))
    return table(header, lines)


def whole_commits(sums: Sums) -> str:
    ends = ("exact", "nothing", "a part", "all")
    lines = [
        (tool.name, *(f"{sums['tools'][tool.name].get(each, 0)}" for each in ends))
        for tool in TOOLS
        if tool.name in sums["tools"]
    ]
    return table(("Tool", "Exact", "Nothing written", "A part", "All"), lines)


def plots(whole: Part) -> None:
    shown = [tool for tool in whole.tools if tool != UNGUARDED]
    ratios = [whole.tokens(tool) / whole.tokens(ANCHORS) for tool in shown]
    folder = PAGE.parent
    stacked(
        folder / "replay-cost.svg", "Tokens of the calls; line-hash anchors are 1", shown, {"call": ratios}
    )
    counts = [whole.ends(tool) for tool in shown]
    parts = {kind: [float(found[index]) for found in counts] for index, kind in enumerate(KINDS)}
    stacked(folder / "replay-drift.svg", "The same calls on later versions of the file", shown, parts)


if __name__ == "__main__":
    main()
