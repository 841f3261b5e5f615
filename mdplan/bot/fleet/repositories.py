"""The list of repositories that a fleet works on."""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mdplan.bot.manifest.source_map import Path as Place
from mdplan.bot.manifest.source_map import SourceMap, read_source_map
from mdplan.diagnostics import Code, Diagnostic, Problems

_FIELDS: Final = frozenset({"address", "name", "base", "github"})
_HINT: Final = "write `repositories:` and below it `- address: ADDRESS`, with `name`, `base` or `github`"
_PLAIN: Final = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetMember:
    """A repository: its `name` in reports, the `address` that git clones, and the branch to merge into.

    `github` is ``OWNER/NAME`` where that is not in the address.
    """

    name: str
    address: str
    base: str
    github: str | None = None

    @property
    def folder(self) -> str:
        """The name of its clone, which no other address has."""
        digest = hashlib.sha256(self.address.encode()).hexdigest()[:12]
        return f"{_PLAIN.sub('-', self.name)[:60]}-{digest}"


def read_repositories(path: str, base: str) -> tuple[FleetMember, ...] | Problems:
    """The repositories that the YAML or JSON file `path` lists; `base` where one names no branch.

    Errors: FILE_NOT_FOUND, NOT_A_TEXT_FILE, INVALID_ARGUMENT.
    """
    try:
        text = Path(path).read_bytes().decode("utf-8")
    except OSError as error:
        reason = error.strerror or "it cannot be read"
        return (Diagnostic(code=Code.FILE_NOT_FOUND, message=f"`{path}`: {reason}", hint=_HINT),)
    except UnicodeDecodeError:
        return (Diagnostic(code=Code.NOT_A_TEXT_FILE, message=f"`{path}` is not UTF-8", hint=_HINT),)
    located = read_source_map(text, path, "the list of repositories", _HINT)
    if isinstance(located, Diagnostic):
        return (located,)
    listed = located.data.get("repositories") if isinstance(located.data, dict) else None
    if not isinstance(listed, list) or not listed or set(located.data) != {"repositories"}:
        return (_problem("the list names no repositories", located, (), path),)
    members: list[FleetMember] = []
    problems: list[Diagnostic] = []
    for index, given in enumerate(listed):
        found = _member(given, base)
        if isinstance(found, str):
            problems.append(_problem(found, located, ("repositories", index), path))
        elif found.name in {each.name for each in members}:
            reason = f"`{found.name}` is there twice"
            problems.append(_problem(reason, located, ("repositories", index), path))
        else:
            members.append(found)
    return tuple(problems) or tuple(members)


def _member(given: Any, base: str) -> FleetMember | str:  # noqa: ANN401 (any JSON)
    """The repository that an entry gives, or what is wrong with it."""
    fields = {"address": given} if isinstance(given, str) else given
    if not isinstance(fields, dict) or not all(isinstance(value, str) and value for value in fields.values()):
        return "an entry is an address, or a map of texts"
    if unknown := sorted(set(fields) - _FIELDS):
        return f"an entry has no field `{unknown[0]}`"
    address = fields.get("address", "")
    if not address or address.startswith("-"):
        return "an entry has no address"
    name = fields.get("name") or "/".join(re.split(r"[/:]", address.removesuffix(".git").rstrip("/"))[-2:])
    return FleetMember(name=name, address=address, base=fields.get("base", base), github=fields.get("github"))


def _problem(reason: str, located: SourceMap, place: Place, file: str) -> Diagnostic:
    return Diagnostic.invalid(reason, _HINT, file=file, place=located.place(place))
