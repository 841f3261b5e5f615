"""The words of each verb, for its command, its tool, the library and the reference pages.

Fields of a request are described at their declaration; see `described`. This module imports nothing of the
engine, so the program can list its commands without it.
"""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from inspect import cleandoc
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeVar

from mdplan.limits import BATCHES, COMMITS, FILES, HISTORY, PATTERNS, LimitOption

# What a commit does if files have changed since they were planned.
OnStale: TypeAlias = Literal["refuse", "rebase", "merge"]
Function = TypeVar("Function", bound=Callable[..., Any])
_PLANNING: Final = (*FILES, *PATTERNS, *BATCHES)


class Verb(NamedTuple):
    """A verb: its `summary`, `examples`, and `rare` options; `title` and `tool` address agents.

    Every request of a model pays for each word of `tool`. `report` names the class of the result, and
    `requests` those of the input, whose fields are options of the command. `limits` can be set for the verb:
    by default those of a commit.
    """

    summary: str
    examples: tuple[str, ...]
    rare: tuple[str, ...] = ()
    title: str = ""
    tool: str = ""
    report: str = "reports.plan.ApplyReport"
    requests: tuple[str, ...] = ()
    limits: tuple[LimitOption, ...] = (*_PLANNING, *COMMITS, *HISTORY)

    @property
    def report_class(self) -> Any:  # noqa: ANN401 (of a module that need not be loaded here)
        """The class that `report` names."""
        return _class_of(self.report)

    @property
    def request_classes(self) -> Iterator[type[Any]]:
        """The classes that `requests` name."""
        return map(_class_of, self.requests)


def _class_of(name: str) -> Any:  # noqa: ANN401 (of any module)
    module, _, own = name.rpartition(".")
    return getattr(import_module(f"mdplan.{module}"), own)


_BOT_REPORT: Final = "bot.bot.BotReport"
_RARE_OF_BOTS: Final = ("jobs", "executor", "progress", "sarif")
_RARE_OF_BATCHES: Final = ("allow_outline_change", "allow_duplicate_headings", "description", "revises")

VERBS: Final[Mapping[str, Verb]] = {
    "outline": Verb(
        "Show the sections of a file, or the files of a folder.",
        ("mdplan outline guide.md", "mdplan outline docs", "mdplan outline guide.md --under Install"),
        ("links", "include"),
        "Structure of a file",
        """\
Structure of a file, not its content: baseSha256 and sections (sectionId, headingPath, lines), above 40 a \
line each: first line, heading, ID if it repeats. Of a folder (recursive) or glob: a line for each file.""",
        report="reports.stat.StatReport",
        requests=("requests.queries.StatRequest",),
        limits=FILES,
    ),
    "read": Verb(
        "Read a section, lines or another part of a file.",
        ("mdplan read guide.md --section Install",),
        ("anchor", "occurrence", "context", "until", "start_line", "max_characters", "match_type"),
        "Text of a place",
        """\
Text of a file or of a place in it, or of several (targets). codeBlock, table or list may go with a section. \
Long text is cut: nextCursor.""",
        report="reports.read.ReadReport",
        requests=("requests.read.ReadTarget", "requests.read.ReadRequest"),
        limits=(*FILES, *PATTERNS),
    ),
    "search": Verb(
        "Find text in files, by section.",
        ("mdplan search nightly docs", "mdplan search --regex 'v[0-9]+' guide.md"),
        (),
        "Find text",
        """\
Find text: matches by section. Literal and case-sensitive by default. where, has and min choose files by \
front matter, also without pattern; filesOnly names files.""",
        report="reports.read.SearchReport",
        requests=("requests.search.SearchRequest",),
        limits=(*FILES, *PATTERNS),
    ),
    "set": Verb(
        "Set keys of front matter, or of a YAML, JSON, TOML or INI file.",
        ("mdplan set guide.md draft=false 'tags=[tea, hot]'",),
    ),
    "replace": Verb(
        "Replace OLD by NEW wherever it occurs in the text of files.",
        ("mdplan replace nightly stable guide.md --in Install",),
    ),
    "append": Verb(
        "Append TEXT to the section under HEADING.", ("mdplan append guide.md Install 'Restart the kettle.'",)
    ),
    "tick": Verb("Tick the boxes of tasks, named by their text.", ("mdplan tick todo.md 'Buy tea'",)),
    "mv": Verb(
        "Give files another name or folder, or a section another place.",
        ("mdplan mv guide.md docs/manual.md", "mdplan mv guide.md Install --after Use"),
    ),
    "rename": Verb("Give a heading another text.", ("mdplan rename guide.md Install Setup",)),
    "rm": Verb("Delete files, or a section.", ("mdplan rm old.md", "mdplan rm guide.md Install")),
    "save": Verb(
        "Take the changes of a whole file that an editor or a model wrote.",
        ("mdplan save guide.md from-editor.md --serialized untouched-save.md",),
    ),
    "edit": Verb(
        "Make any other edit, such as upsert_table_row.",
        ("mdplan edit rename_heading guide.md --section Install --new-title Setup",),
    ),
    "validate": Verb(
        "Check a batch and report every problem.",
        ("mdplan validate batch.yaml",),
        _RARE_OF_BATCHES,
        "Preview edits",
        "Preview md_apply, same arguments: all problems, or a planId and a diff (verbosity brief: none).",
        report="reports.plan.PlanReport",
        limits=_PLANNING,
    ),
    "plan": Verb(
        "Show what a batch of edits would change, and save the plan.",
        ("mdplan plan batch.yaml",),
        _RARE_OF_BATCHES,
        report="reports.plan.PlanReport",
        limits=_PLANNING,
    ),
    "apply": Verb(
        "Apply a plan, or a batch with guards; fail if a file has changed.",
        ("mdplan apply", "mdplan apply 3f058f21"),
        _RARE_OF_BATCHES,
        "Apply edits",
        """\
Edit one file (file, edits), several (files), or apply previews (planId, planIds): all edits or none.

- Edits address the file as you saw it, not each other's results, unless sequential. None may overlap.
- A write needs to know what you saw: look first (md_stat, md_read, md_search), or give baseSha256, planId, \
or in each edit expectedText, expectedValue, line hashes, sectionSha256 or a literal, case-sensitive \
replace_match with an exact count, by default 1.
- replace_match wants one match unless matchSelection or expectedMatchCount differ, and skips code, \
link targets and the like unless include names them.
- dryRun: true gives a diff and planId, unguarded.

Example: {"file": "README.md", "edits": [{"op": "replace_match", "heading": "Install", "pattern": "1.0", \
"replacement": "2.0"}]}""",
    ),
    "discard": Verb(
        "Discard saved plans.",
        ("mdplan discard 3f058f21", "mdplan discard --all"),
        report="reports.plan.PlanReport",
        limits=FILES,
    ),
    "show": Verb(
        "Show a saved plan again, or the only pending plan.",
        ("mdplan show 3f058f21",),
        report="reports.plan.PlanReport",
        limits=FILES,
    ),
    "review": Verb(
        "Review pending plans: approve or reject them, or single edits.",
        ("mdplan review", "mdplan review 3f058f21 --terminal"),
        ("override_rejection", "host", "port", "no_browser", "limit"),
    ),
    "history": Verb(
        "List past transactions, the newest first, or show one.",
        ("mdplan history", "mdplan history guide.md"),
        (),
        "Past commits",
        "Past commits, newest first; with transaction its diff, with planId its review.",
        report="reports.history.HistoryReport",
        limits=(*COMMITS, *HISTORY),
    ),
    "undo": Verb(
        "Undo or redo a transaction, by default your last one.",
        ("mdplan undo", "mdplan undo 5507ccd771c6bc5d --dry-run"),
        (),
        "Past commits, undo",
        """\
action undo takes a whole one back (by default your last), unless a file changed since.""",
        limits=(*FILES, *COMMITS, *HISTORY),
    ),
    "check": Verb(
        "Report what a change by any tool broke in documents.",
        ("mdplan check --since main docs", "mdplan check old.md new.md"),
        ("hook",),
        report="reports.history.CheckReport",
        limits=FILES,
    ),
    "links": Verb(
        "List links that lead to nothing, or repair them.",
        ("mdplan links docs", "mdplan links --fix"),
        ("unused",),
        report="reports.history.LinksReport",
    ),
    "merge": Verb(
        "Merge two versions of a document, also as git's merge driver.",
        (
            "mdplan merge base.md ours.md theirs.md -o merged.md",
            "mdplan merge --install          let git merge *.md of this repository with it",
            "mdplan merge --uninstall        let git merge them itself again",
        ),
    ),
    "bot": Verb(
        "Make many files match a manifest of edits, once or every night.",
        ("mdplan bot plan manifest.yaml", "mdplan bot apply manifest.yaml"),
    ),
    "bot plan": Verb(
        "Show what MANIFEST would change, and save it as one plan; the files stay unchanged.",
        ("mdplan bot plan manifest.yaml --var version=1.2",),
        _RARE_OF_BOTS,
        report=_BOT_REPORT,
        limits=_PLANNING,
    ),
    "bot check": Verb(
        "Check whether the files match MANIFEST: exit with 0, or with 1 if something would change.",
        ("mdplan bot check manifest.yaml",),
        _RARE_OF_BOTS,
        report=_BOT_REPORT,
        limits=_PLANNING,
    ),
    "bot explain": Verb(
        "Show which rules of MANIFEST apply to which files, or to FILE, and why.",
        ("mdplan bot explain manifest.yaml", "mdplan bot explain manifest.yaml docs/guide.md"),
        report="bot.explain.ExplainReport",
        limits=_PLANNING,
    ),
    "bot init": Verb(
        "Write a first manifest from answers or options.",
        ("mdplan bot init", "mdplan bot init words.yaml --chore words --answer old=1.0 --answer new=1.1"),
        limits=(),
    ),
    "bot apply": Verb(
        "Apply MANIFEST in one transaction.",
        ("mdplan bot apply manifest.yaml", "mdplan bot apply manifest.yaml --git main -m 'Bump version'"),
        (*_RARE_OF_BOTS, "branch", "rebuild", "author", "on_stale"),
        report=_BOT_REPORT,
    ),
    "bot pr": Verb(
        "Open, update or close the pull request of MANIFEST.",
        ("mdplan bot pr manifest.yaml --base main --label docs",),
        (*_RARE_OF_BOTS, "ref", "branch", "remote", "author", "on_stale"),
        report=_BOT_REPORT,
    ),
    "bot merge": Verb(
        "Merge the base into BRANCH of a pull request, and push it.",
        ("mdplan bot merge docs-update --base main",),
        report=_BOT_REPORT,
        limits=FILES,
    ),
    "fleet": Verb(
        "Apply a manifest to many repositories, each with a pull request.",
        ("mdplan fleet open manifest.yaml repos.yaml", "mdplan fleet status"),
    ),
    **{
        f"fleet {name}": Verb(
            summary,
            (f"mdplan fleet {name} manifest.yaml repos.yaml",),
            ("environment", "data", "executor", "progress", "work", "state", "per_hour"),
            report="bot.fleet.FleetReport",
            limits=_PLANNING,
        )
        for name, summary in {
            "open": "Open or update all pull requests, and close those with nothing left to do.",
            "merge": "Merge the open pull requests whose branches are as the last run left them.",
            "close": "Close all pull requests of the fleet and delete its branches.",
        }.items()
    },
    "fleet status": Verb(
        "Show what the last runs left of each repository, without asking any of them.",
        ("mdplan fleet status", "mdplan fleet status shard-*.jsonl"),
        report="bot.fleet.FleetReport",
        limits=(),
    ),
    "fleet matrix": Verb(
        "Divide a list of repositories into shards for the jobs of a CI.",
        ("mdplan fleet matrix repos.yaml",),
        report="bot.fleet.FleetReport",
        limits=(),
    ),
    "recover": Verb(
        "Recover from an interrupted transaction.",
        ("mdplan recover",),
        report="reports.history.RecoverReport",
        limits=COMMITS,
    ),
    "doctor": Verb(
        "Check that this folder supports safe edits, and suggest fixes.",
        ("mdplan doctor",),
        report="reports.history.DoctorReport",
        limits=HISTORY,
    ),
    "schema": Verb(
        "Print the JSON Schema of a batch, plan, report or operation.",
        (
            "mdplan schema                   what `plan`, `validate` and `apply` take",
            "mdplan schema plan              what `plan --output` writes",
            "mdplan schema report apply      what --json prints, of stat, plan or apply",
            "mdplan schema op replace_match  one edit",
            "mdplan schema manifest          what `bot` takes",
        ),
    ),
    "help": Verb(
        "Explain an operation or a command, with an example.",
        ("mdplan help append_to_section", "mdplan help batch"),
    ),
    "completion": Verb(
        "Print tab completion for a shell.",
        (
            "bash:  echo 'eval \"$(mdplan completion bash)\"' >> ~/.bashrc",
            "zsh:   echo 'eval \"$(mdplan completion zsh)\"' >> ~/.zshrc",
            "fish:  mdplan completion fish > ~/.config/fish/completions/mdplan.fish",
        ),
    ),
    "serve": Verb(
        "Serve agents over MCP.",
        ("mdplan serve --root docs",),
        ("tools", "mode", "log_file", "allowed_hosts", "allowed_origins", "max_body"),
    ),
}


def verb(name: str) -> Callable[[Function], Function]:
    """Let the docstring of a function begin with the summary of the verb `name`."""

    def decorate(function: Function) -> Function:
        function.__doc__ = f"{VERBS[name].summary}\n\n{cleandoc(function.__doc__ or '')}"
        return function

    return decorate
