"""Inputs of a manifest: its own file, data files, options, and environment variables."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mdplan.bot.manifest.data_files import read_data
from mdplan.bot.manifest.input_files import InputFiles
from mdplan.bot.manifest.loading import LoadedManifest, checked, read_manifest
from mdplan.bot.manifest.model import Manifest
from mdplan.bot.manifest.placeholders import Values, with_templates
from mdplan.bot.manifest.snippets import split_name
from mdplan.bot.manifest.source_map import SourceMap, read_source_map
from mdplan.diagnostics import Diagnostic, Problems


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestInputs:
    """Options and data that a caller passes with a manifest.

    `variables` go before those of the manifest; of `environment` only the variables of these names can be
    used; `data` are data files by the name of their value.
    """

    variables: Mapping[str, str] = field(default_factory=dict)
    environment: tuple[str, ...] = ()
    data: Mapping[str, str] = field(default_factory=dict)


def load_manifest(
    path: str, given: ManifestInputs, files: InputFiles | None = None
) -> LoadedManifest | Problems:
    """The manifest in the file `path`, with its values; or all its problems, by line and column.

    `files` reads it and its data; without it, they are read below the folder of the manifest. Errors:
    INVALID_ARGUMENT, UNKNOWN_FIELD, and those of `read_batch` for edits without placeholders.
    """
    files = files or InputFiles()
    text = files.read(path)
    located = text if isinstance(text, Diagnostic) else read_source_map(text, path)
    if not isinstance(located, SourceMap):
        return (located,)
    manifest = read_manifest(path, located)
    if not isinstance(manifest, Manifest):
        return manifest
    values = _values(path, manifest, located, given, files)
    return checked(path, manifest, located, values) if isinstance(values, Values) else values


def _values(
    path: str, manifest: Manifest, located: SourceMap, given: ManifestInputs, files: InputFiles
) -> Values | Problems:
    problems: list[Diagnostic] = []
    environment: dict[str, str] = {}
    for name in given.environment:
        if name in os.environ:
            environment[name] = os.environ[name]
        else:
            problems.append(
                Diagnostic.invalid(f"the environment has no variable `{name}`", "set it, or leave --env out")
            )
    data: dict[str, Any] = {}
    for name, file in {**manifest.data, **given.data}.items():
        is_given = name in given.data
        source, snippet = split_name(file)
        text = files.read(source) if is_given else files.read_relative(path, source)
        found = text if isinstance(text, Diagnostic) else read_data(text, source, snippet)
        data[name] = found
        if isinstance(found, Diagnostic) and not is_given:
            problems.append(_placed(found, path, located, name))
        elif isinstance(found, Diagnostic):
            problems.append(found)
    variables = {**with_templates(manifest.vars), **given.variables}
    return tuple(problems) or Values({"vars": variables, "env": environment, "data": data})


def _placed(problem: Diagnostic, path: str, located: SourceMap, name: str) -> Diagnostic:
    return replace(problem, file=path, place=located.place(("data", name)))
