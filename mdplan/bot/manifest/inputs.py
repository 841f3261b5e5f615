"""What a manifest and its values are read from: the manifest's file, JSON files, options, the environment."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mdplan.bot.manifest.loading import LoadedManifest, checked, read_manifest
from mdplan.bot.manifest.model import Manifest
from mdplan.bot.manifest.placeholders import Values
from mdplan.bot.manifest.source_map import Located, read_located
from mdplan.diagnostics import Diagnostic, Problems


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What a caller gives beside a manifest.

    `variables` go before those of the manifest; of `environment` only the variables of these names can be
    used; `data` are JSON files by the name of their value.
    """

    variables: Mapping[str, str] = field(default_factory=dict)
    environment: tuple[str, ...] = ()
    data: Mapping[str, str] = field(default_factory=dict)


def load_manifest(path: str, given: Given) -> LoadedManifest | Problems:
    """The manifest in the file `path`, with its values; or all that is wrong with it, by line and column.

    Errors: INVALID_ARGUMENT, UNKNOWN_FIELD, and what the door says of edits without placeholders.
    """
    text = _text_of(path)
    located = text if isinstance(text, Diagnostic) else read_located(text, path)
    if not isinstance(located, Located):
        return (located,)
    manifest = read_manifest(path, located)
    if not isinstance(manifest, Manifest):
        return manifest
    values = _values(path, manifest, located, given)
    return checked(path, manifest, located, values) if isinstance(values, Values) else values


def _values(path: str, manifest: Manifest, located: Located, given: Given) -> Values | Problems:
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
        found = _json_of(file if is_given else str(Path(path).parent / file))
        data[name] = found
        if isinstance(found, Diagnostic) and not is_given:
            problems.append(_placed(found, path, located, name))
        elif isinstance(found, Diagnostic):
            problems.append(found)
    variables = {**manifest.vars, **given.variables}
    return tuple(problems) or Values({"vars": variables, "env": environment, "data": data})


def _placed(problem: Diagnostic, path: str, located: Located, name: str) -> Diagnostic:
    return replace(problem, file=path, place=located.place(("data", name)))


def _json_of(path: str) -> Any | Diagnostic:  # noqa: ANN401 (any JSON)
    text = _text_of(path)
    if isinstance(text, Diagnostic):
        return text
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        reason = f"{error.msg} at line {error.lineno}, column {error.colno}"
    except (RecursionError, ValueError):
        reason = "it is too deep, or a number in it too long"
    return Diagnostic.invalid(f"`{path}` is not JSON: {reason}", "data files are JSON")


def _text_of(path: str) -> str | Diagnostic:
    try:
        return Path(path).read_bytes().decode("utf-8-sig")
    except OSError as error:
        return Diagnostic.invalid(f"`{path}` cannot be read: {error.strerror}", "name a file that is there")
    except ValueError:
        return Diagnostic.invalid(f"`{path}` is not UTF-8", "write it in UTF-8")
