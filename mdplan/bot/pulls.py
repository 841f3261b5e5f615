"""Pull requests of the bot: rebuild a branch from its base, push it, and open a pull request.

Every step is repeatable: a run continues where a killed one stopped.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Final

from pathspec import GitIgnoreSpec

from mdplan.bot import commits
from mdplan.bot.bot import BotReport, EqualEdits, PullRequestPart, RunOptions
from mdplan.bot.forge import GitHub, PullText, Remote, commit_by_forge, tracking
from mdplan.bot.manifest import LoadedManifest
from mdplan.data.content import DataContent
from mdplan.diagnostics import Diagnostic
from mdplan.documents.documents import Documents
from mdplan.engine.engine import Engine
from mdplan.git.repository import BRANCHES, Commit, RepositoryLocation, find_base
from mdplan.git.tree import CommitTree
from mdplan.markdown.headings import heading_slug
from mdplan.reports.base import refusal
from mdplan.requests.verbs import OnStale
from mdplan.settings import Settings
from mdplan.storage.filesystem import StorageRefused
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.visible import code_span, counted, visible
from mdplan.values import Struct, replace

_MOST_FILES: Final = 100
_MOST_CLASSES: Final = 5
_MOST_OF_A_LINE: Final = 80
_CLOSED: Final = "The base has all of this already, so that nothing is left to merge."


class PullBranch(Struct, kw_only=True):
    """The branch of a pull request into `base`, both on `remote`.

    `forge` makes the forge from the remote's URL; None for a branch without pull request. `author` is ``Name
    <address>``, None for git's setting.
    """

    base: str
    branch: str
    remote: str = "origin"
    author: str | None = None
    forge: Callable[[str], GitHub] | None = None

    def connect(self, place: RepositoryLocation) -> tuple[Remote, GitHub | None]:
        """Return the remote of the repository at `place`, and its forge. Raise `StorageRefused`."""
        remote = Remote(place, self.remote)
        return remote, self.forge(remote.address()) if self.forge is not None else None


class PullOptions(PullBranch, kw_only=True):
    """The pull request of a manifest.

    `title` defaults to the manifest's; the name of the `part` of a split is appended. `on_stale` ``merge``
    keeps a branch with other people's commits, and merges it. `signed_by_forge`: the forge re-creates and
    signs the commit.
    """

    title: str | None = None
    part: str | None = None
    labels: Sequence[str] = ()
    on_stale: OnStale = "refuse"
    signed_by_forge: bool = False


def run_pull_request(
    engine: Engine, loaded: LoadedManifest, options: RunOptions, wanted: PullOptions
) -> BotReport:
    """Build the branch of `wanted` from its base, push it, and open or update its pull request.

    Without changes, close the pull request and delete the branch. Errors: as `apply_to_branch`;
    STALE_BASE for other people's commits or a concurrent push; IO_ERROR from git or the forge.
    """
    try:
        remote, forge = wanted.connect(RepositoryLocation.of(engine.workspace))
        pushed = remote.follow(wanted.base, wanted.branch)
        title = _title(loaded, wanted)
        commit = commits.GitCommit(
            branch=wanted.branch,
            message=_message(title, loaded, wanted),
            author=wanted.author,
            rebuilds=True,
            on_stale=wanted.on_stale,
            forge=forge.committer if forge is not None else None,
            is_by_forge=wanted.signed_by_forge,
            with_classes=forge is not None,
        )
        report = commits.apply_to_branch(
            engine, loaded, options, tracking(wanted.remote, wanted.base), commit
        )
        if not report.ok and not report.applied:
            return report
        if report.commit is None:
            return replace(report, pull_request=_close(remote, forge, wanted, pushed))
        if report.commit != pushed:
            made = report.commit
            if forge is not None and wanted.signed_by_forge:
                made = commit_by_forge(remote, forge, wanted.branch, made)
            remote.push(wanted.branch, made, pushed)
            report = replace(report, commit=made, pushed_to=wanted.remote)
        if forge is None:
            return report
        text = PullText(title=title, body=_body(loaded, report), labels=wanted.labels)
        pull = forge.find(wanted.branch)
        if pull is None:
            pull = forge.open(wanted.branch, wanted.base, text)
        else:
            forge.update(pull, text)
        return replace(report, pull_request=pull.url)
    except StorageRefused as problem:
        return refusal(BotReport, problem.problems)


class SplitBy(StrEnum):
    """The criterion that assigns a file to a part."""

    CODEOWNERS = "codeowners"
    FOLDER = "folder"
    FRONT_MATTER = "front-matter"
    FILES = "files"


class Split(Struct):
    """How to split: the criterion `by`, and its folder depth, front matter key or number of files."""

    by: SplitBy
    argument: str = ""

    @classmethod
    def read(cls, text: str) -> "Split | Diagnostic":
        """Parse ``BY`` or ``BY:ARGUMENT``. Errors: INVALID_ARGUMENT."""
        name, colon, argument = text.partition(":")
        takes = {SplitBy.FOLDER: "1", SplitBy.FRONT_MATTER: None, SplitBy.FILES: None}
        known = name in set(SplitBy) and (bool(colon) <= (name in takes))
        split = cls(SplitBy(name), argument or takes.get(SplitBy(name)) or "") if known else None
        numbered = split is not None and split.by in {SplitBy.FOLDER, SplitBy.FILES}
        if split is None or (name in takes and not split.argument) or (numbered and not split.is_positive):
            return Diagnostic.invalid(
                f"`{text[:60]}` is not a way to split",
                "write codeowners, folder, folder:DEPTH, front-matter:KEY or files:NUMBER",
            )
        return split

    @property
    def is_positive(self) -> bool:
        """True if the argument is a positive number."""
        return self.argument.isdecimal() and int(self.argument) > 0


def run_pull_requests(
    engine: Engine, loaded: LoadedManifest, options: RunOptions, wanted: PullOptions, split: Split
) -> BotReport:
    """Run `run_pull_request` for each part of the changed files, on branches `BRANCH/PART`.

    Branches of finished parts are closed. The report covers all files; a failing part does not hold up the
    others.
    """
    try:
        place = RepositoryLocation.of(engine.workspace)
        remote = Remote(place, wanted.remote)
        known = remote.branches_of(wanted.branch)
        remote.fetch(wanted.base, *(_branch_of_part(wanted, name) for name in known))
        known = [
            name
            for name in known
            if _is_own(remote, wanted, name, tracking(wanted.remote, _branch_of_part(wanted, name)))
        ]
        base = find_base(place, tracking(wanted.remote, wanted.base))
        with commits.propose_on_commit(engine, loaded, options, base.commit) as proposal:
            report = proposal.report
        if not report.ok and proposal.plan is None:
            return report
        changed = [file.file for file in report.files if file.changed]
        tree = commits.tree_of(engine, place, base)
        parts = split_files(split, changed, tree, engine.settings)
    except StorageRefused as problem:
        return refusal(BotReport, problem.problems)
    done = [
        _run_part(engine, loaded, options, wanted, name, parts.get(name, []))
        for name in sorted({*parts, *known}, key=lambda name: (name in parts, name))
    ]
    problems = tuple(part.error for part in done if part.error is not None)
    return replace(
        report,
        ok=report.ok and not problems,
        applied=any(part.commit is not None for part in done),
        error=report.error or next(iter(problems), None),
        diagnostics=(*report.diagnostics, *problems),
        pull_requests=tuple(done),
        stored=False,
        plan_id=None,
    )


def _run_part(
    engine: Engine,
    loaded: LoadedManifest,
    options: RunOptions,
    wanted: PullOptions,
    name: str,
    files: Sequence[str],
) -> PullRequestPart:
    """Run the part `name` with `files`, or close its pull request if empty. No name: the whole branch."""
    branch = _branch_of_part(wanted, name)
    report = run_pull_request(
        engine,
        loaded,
        replace(options, only=frozenset(files)),
        replace(wanted, branch=branch, part=name or None),
    )
    return PullRequestPart(
        name=name,
        branch=branch,
        files=len(files),
        commit=report.commit,
        pull_request=report.pull_request,
        error=report.error,
    )


def _branch_of_part(wanted: PullOptions, name: str) -> str:
    return f"{wanted.branch}/{name}" if name else wanted.branch


def _is_own(remote: Remote, wanted: PullOptions, part: str | None, commit: str) -> bool:
    """Return True if the branch of `part` at `commit` may be the bot's.

    Anybody may have made a branch without own commits, unless it ends with a merged commit of the bot for
    this part.
    """
    if not remote.place.is_ancestor(commit, tracking(wanted.remote, wanted.base)):
        return True
    (last,) = Commit.of(remote.place, "--no-walk", commit)
    names_part = not part or f" ({part})\n".encode("utf-8", "surrogateescape") in last.message
    return names_part and commits.plan_of(last.message) is not None


def _close(remote: Remote, forge: GitHub | None, wanted: PullOptions, pushed: str | None) -> str | None:
    """Close the open pull request, if any, and delete its branch; return the pull request's URL.

    Other people's branches stay.
    """
    if pushed is not None and not _is_own(remote, wanted, wanted.part, pushed):
        return None
    pull = forge.find(wanted.branch) if forge is not None else None
    if forge is not None and pull is not None:
        forge.close(pull, _CLOSED)
    if pushed is not None:
        remote.push(wanted.branch, "", pushed)
        remote.git("update-ref", "-d", BRANCHES + wanted.branch)
    return pull.url if pull is not None else None


def _title(loaded: LoadedManifest, wanted: PullOptions) -> str:
    title = wanted.title or loaded.intent.title or loaded.intent.description or f"Apply {_name(loaded)}"
    return f"{title.strip()} ({wanted.part})" if wanted.part is not None else title


def _message(title: str, loaded: LoadedManifest, wanted: PullOptions) -> str:
    """Return the commit message: the title, and the description unless it is the same."""
    says_more = wanted.title is None and loaded.intent.title and loaded.intent.description
    return f"{title}\n\n{loaded.intent.description}" if says_more else title


def _name(loaded: LoadedManifest) -> str:
    return visible(loaded.name.replace("\\", "/").rpartition("/")[2])


def _body(loaded: LoadedManifest, report: BotReport) -> str:
    """Return the description of a pull request: equal edits by number, files, and the identifying plan."""
    files = [file.file for file in report.files if file.changed]
    shown = [f"- {code_span(visible(file))}" for file in files[:_MOST_FILES]]
    if len(files) > _MOST_FILES:
        shown.append(f"- and {len(files) - _MOST_FILES} more")
    head = f"`mdplan bot` applied {code_span(_name(loaded))} to {counted(len(files), 'file')}"
    classes = [f"- {_equal_edits(each)}" for each in (report.classes or ())[:_MOST_CLASSES]]
    if more := (report.classes or ())[_MOST_CLASSES:]:
        places = sum(each.places for each in more)
        classes.append(f"- {counted(places, 'place')} of {len(more):,} other kinds")
    if classes and len(files) > _MOST_CLASSES:
        shown = ["<details><summary>Files</summary>", "", *shown, "", "</details>"]
    lines = [f"{head}:" if classes else f"{head}.", "", *classes, *([""] if classes else []), *shown, ""]
    if loaded.intent.description:
        lines = [loaded.intent.description, "", *lines]
    return "\n".join([*lines, f"Plan: `{report.plan_id}`. Each run builds this branch again from its base."])


def _equal_edits(edits: EqualEdits) -> str:
    """Return one line: ``old` → `new`: 12 places in 9 files``."""
    where = counted(edits.places, "place")
    if edits.files > 1 or edits.places > 1:
        where += f" in {counted(edits.files, 'file')}"
    old = f"{edits.values:,} values" if edits.values else _excerpt(edits.removed)
    if edits.added and (edits.removed or edits.values):
        return f"{old} → {_excerpt(edits.added)}: {where}"
    return f"adds {_excerpt(edits.added)}: {where}" if edits.added else f"removes {old}: {where}"


def _excerpt(text: str) -> str:
    """Return the first line of `text` that is not empty, as code."""
    first, *others = [line for line in text.split("\n") if line.strip()] or ["blank lines"]
    is_cut = bool(others) or len(first) > _MOST_OF_A_LINE
    return code_span(visible(first[:_MOST_OF_A_LINE]).replace("`", "'")) + ("…" if is_cut else "")


# --- Merging the base of a pull request into its branch

_MARKER: Final = "<!-- mdplan-merge -->"
_CHOOSE: Final = "merge the base into the branch, and choose the text that is right"
_MOST_LISTED: Final = 100


class BranchMerged(Struct):
    """The result of merging a base into a branch: the `files` that both changed, and the report."""

    report: BotReport
    files: Sequence[str] = ()


def merge_base_into(engine: Engine, wanted: PullBranch) -> BranchMerged:
    """Merge the base into the branch, push it, and comment on conflicts in its pull request.

    Conflicts are not pushed. The commit is signed as git is configured. Errors: MERGE_CONFLICT per place or
    file; STALE_BASE for a concurrent push; INVALID_ARGUMENT, IO_ERROR.
    """
    try:
        remote, forge = wanted.connect(RepositoryLocation.of(engine.workspace))
        remote.fetch(wanted.base, wanted.branch)
        return _commented(_merged(engine, remote, wanted), forge, wanted)
    except StorageRefused as problem:
        return BranchMerged(refusal(BotReport, problem.problems))


def _merged(engine: Engine, remote: Remote, wanted: PullBranch) -> BranchMerged:
    place = remote.place
    base, branch = (
        find_base(place, tracking(wanted.remote, name)).commit for name in (wanted.base, wanted.branch)
    )
    report = BotReport(ok=True, branch=BRANCHES + wanted.branch, base_commit=base)
    if place.is_ancestor(base, branch):
        return BranchMerged(replace(report, no_op=True))
    files = _changed_in_both(place, base, branch)
    merged = commits.merge_trees(place, branch, base)
    if merged.conflicts:
        problems = tuple(commits.conflicts_of(merged, _CHOOSE))
        return BranchMerged(replace(report, ok=False, error=problems[0], diagnostics=problems), files)
    author, committer = commits.signatures(place, wanted.author)
    message = f"Merge branch '{wanted.base}' into {wanted.branch}\n".encode("utf-8", "surrogateescape")
    text = commits.CommitText(message=message, author=author, committer=committer, now=engine.clock())
    commit = commits.commit_tree(place, merged.tree, (branch, base), text)
    remote.push(wanted.branch, commit, branch)
    return BranchMerged(replace(report, applied=True, commit=commit), files)


def _changed_in_both(place: RepositoryLocation, base: str, branch: str) -> tuple[str, ...]:
    first = place.text("merge-base", base, branch).split()[0]
    changed = [set(place.diff("--name-only", first, side)) for side in (base, branch)]
    return tuple(sorted(changed[0] & changed[1]))


def _commented(made: BranchMerged, forge: GitHub | None, wanted: PullBranch) -> BranchMerged:
    pull = forge.find(wanted.branch) if forge is not None else None
    if forge is None or pull is None:
        return made
    if not made.report.no_op:
        forge.comment(pull, _MARKER, _comment(made, wanted))
    return replace(made, report=replace(made.report, pull_request=pull.url))


def _comment(made: BranchMerged, wanted: PullBranch) -> str:
    base = code_span(visible(wanted.base))
    if made.report.ok:
        listed = [code_span(visible(file)) for file in made.files] or ["No file was changed on both sides."]
        head = f"`mdplan` merged {base} into this branch: {made.report.commit}. Both sides changed:"
    else:
        listed = [code_span(each.message.replace("`", "")) for each in made.report.diagnostics]
        head = f"{base} was not merged into this branch. A person must decide:"
    more = [f"and {len(listed) - _MOST_LISTED} more"] if len(listed) > _MOST_LISTED else []
    return "\n".join([head, "", *(f"- {each}" for each in (*listed[:_MOST_LISTED], *more))]) + "\n"


# --- Splitting the files of a manifest into parts, each with its own branch and pull request

# Where GitHub, in this order, and GitLab look for it.
_CODEOWNERS: Final = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS")
_OTHERS: Final = "other"
_MOST_BYTES: Final = 3 << 20
_COMMENT: Final = lazy_pattern(r"(?:^|(?<!\\)\s)#.*")
_BLANKS: Final = lazy_pattern(r"(?<!\\)\s+")

# Unlike `.gitignore`, GitHub ignores rules with these; in GitLab they start a section.
_NO_PATTERN: Final = lazy_pattern(r"!|.*[\[\]]")


def split_files(
    split: Split, files: Sequence[str], tree: CommitTree, settings: Settings
) -> dict[str, list[str]]:
    """Group `files` (paths from the root) into parts by name; names are valid in branch names."""
    if split.by is SplitBy.FILES:
        size = int(split.argument)
        chunks = (files[start : start + size] for start in range(0, len(files), size))
        return {str(number): list(chunk) for number, chunk in enumerate(chunks, 1)}
    keys = _keys(split, files, tree, settings)
    parts: defaultdict[str, list[str]] = defaultdict(list)
    for file, key in zip(files, keys, strict=True):
        parts[heading_slug(key.replace("/", "-")).strip("-.") or _OTHERS].append(file)
    return dict(sorted(parts.items()))


def _keys(split: Split, files: Sequence[str], tree: CommitTree, settings: Settings) -> list[str]:
    """Return the text that names the part of each file."""
    match split.by:
        case SplitBy.FOLDER:
            depth = int(split.argument)
            return ["/".join(PurePosixPath(file).parts[:-1][:depth]) for file in files]
        case SplitBy.CODEOWNERS:
            return _owners(files, tree)
        case _:
            with tree.open() as workspace:
                documents = Documents.of(workspace, settings)
                return [_value(documents, file, split.argument) for file in files]


def _value(documents: Documents, file: str, key: str) -> str:
    """Return the value of `key` in the front matter of `file`, or empty."""
    name = documents.workspace.locate(file)
    outline = name if isinstance(name, Diagnostic) else documents.open(name, None, None)
    content = None if isinstance(outline, Diagnostic) else outline.front_matter_content
    value = content.values.get(key) if isinstance(content, DataContent) else None
    return "" if value is None else str(value)


def _owners(files: Sequence[str], tree: CommitTree) -> list[str]:
    """Return the owners of each file by CODEOWNERS: the last matching rule wins."""
    rules: list[tuple[_OwnedFiles, str]] = []
    for pattern, *owners in _rules(tree):
        # Forges ignore invalid rules.
        with suppress(ValueError):
            rules.append((_OwnedFiles.of(pattern), " ".join(owners)))
    owners_by_file: list[str] = []
    for file in files:
        path = f"{tree.place.below}/{file}".lstrip("/")
        owners_by_file.append(next((owners for owned, owners in reversed(rules) if owned.has(path)), ""))
    return owners_by_file


class _OwnedFiles(Struct):
    """The files of a CODEOWNERS pattern: as in `.gitignore`, but ``docs/*`` is one level."""

    spec: GitIgnoreSpec
    is_one_level: bool

    @classmethod
    def of(cls, pattern: str) -> "_OwnedFiles":
        is_one_level = pattern.endswith("/*") and not pattern.endswith("**/*")
        return cls(GitIgnoreSpec.from_lines([pattern]), is_one_level)

    def has(self, path: str) -> bool:
        """Return True if it matches `path`, from the top of the repository."""
        folder = path.rpartition("/")[0]
        return self.spec.match_file(path) and not (self.is_one_level and self.spec.match_file(folder))


def _rules(tree: CommitTree) -> list[list[str]]:
    """Return the lines of CODEOWNERS as words: a pattern and its owners."""
    with tree.of_repository().open() as workspace:
        for path in _CODEOWNERS:
            name = workspace.locate(path)
            read = name if isinstance(name, Diagnostic) else workspace.read(name, _MOST_BYTES)
            if not isinstance(read, Diagnostic):
                lines = read.data.decode("utf-8", "replace").splitlines()
                rules = (_BLANKS.split(_COMMENT.sub("", line).strip()) for line in lines)
                return [words for words in rules if words[0] and not _NO_PATTERN.match(words[0])]
    return []
