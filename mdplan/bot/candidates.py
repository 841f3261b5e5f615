"""The files that a manifest names, in order, found without reading them."""

from collections.abc import Iterator
from typing import Final

from mdplan.bot.job import CandidateFile, Tree
from mdplan.bot.manifest.expansion import ManifestProblem
from mdplan.bot.manifest.loading import LoadedManifest
from mdplan.bot.manifest.model import Rule
from mdplan.bot.manifest.placeholders import filled, misuse
from mdplan.bot.manifest.source_map import Path
from mdplan.diagnostics import Diagnostic, Problems
from mdplan.documents.documents import files_of
from mdplan.storage.filesystem import StorageRefused
from mdplan.storage.names import FileName
from mdplan.storage.root import Workspace

_ONE_ROOT: Final = "write one manifest for each root"


def find_candidates(
    loaded: LoadedManifest, workspace: Workspace, tree: Tree
) -> list[CandidateFile] | Problems:
    """The files of `workspace` that the rules of a manifest name, sorted by path, each once.

    `tree` says which of them changed. Errors: INVALID_ARGUMENT for globs that are none and for a name of no
    commit, those of `Workspace.iter_files` and `locate`.
    """
    rules: dict[FileName, list[int]] = {}
    problems: list[Diagnostic] = []
    for number, rule in enumerate(loaded.manifest.files):
        changed = _changed(rule, ("files", number), loaded, tree)
        if isinstance(changed, ManifestProblem):
            problems.append(loaded.problem(changed))
            continue
        for found in _files_of(rule, ("files", number), loaded, workspace):
            if isinstance(found, ManifestProblem):
                problems.append(loaded.problem(found))
            elif (changed is None or found.path in changed) and number not in rules.setdefault(found, []):
                rules[found].append(number)
    if len({name.root for name in rules}) > 1:
        several = misuse("the manifest names files of several roots, and a commit lives in one", _ONE_ROOT)
        problems.append(loaded.problem(ManifestProblem(several, ("files",))))
    return tuple(problems) or [CandidateFile(str(name), tuple(rules[name])) for name in sorted(rules)]


def _changed(
    rule: Rule, path: Path, loaded: LoadedManifest, tree: Tree
) -> frozenset[str] | ManifestProblem | None:
    """The files to which `changedSince` limits `rule`; None without it."""
    if rule.changed_since is None:
        return None
    reference = filled(rule.changed_since, loaded.values)
    if not isinstance(reference, str):
        problem = (
            reference
            if isinstance(reference, Diagnostic)
            else misuse("a name is needed here", "write a text")
        )
        return ManifestProblem(problem, (*path, "changedSince"))
    try:
        return tree.changed_since(reference)
    except StorageRefused as refused:
        return ManifestProblem(refused.problems[0], (*path, "changedSince"))


def _files_of(
    rule: Rule, path: Path, loaded: LoadedManifest, workspace: Workspace
) -> Iterator[FileName | ManifestProblem]:
    texts: dict[str, list[str]] = {"file": [], "glob": [], "exclude": []}
    for field_name, found in texts.items():
        for index, text in enumerate(getattr(rule, field_name)):
            given = filled(text, loaded.values)
            if isinstance(given, str):
                found.append(given)
                continue
            problem = (
                given if isinstance(given, Diagnostic) else misuse("a path is needed here", "write a text")
            )
            yield ManifestProblem(problem, (*path, field_name, index))
    for index, file in enumerate(texts["file"]):
        name = workspace.locate(file)
        yield ManifestProblem(name, (*path, "file", index)) if isinstance(name, Diagnostic) else name
    for index, glob in enumerate(texts["glob"]):
        names = files_of(workspace, glob, exclude=texts["exclude"], git_ignored=rule.git_ignored)
        if isinstance(names, Diagnostic):
            yield ManifestProblem(names, (*path, "glob", index))
        else:
            yield from names
