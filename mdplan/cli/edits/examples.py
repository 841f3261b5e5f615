"""One command for each operation, made from the example edit of its reference."""

import shlex
from collections.abc import Iterator, Mapping
from typing import Any, Final

import click

from mdplan.cli.edits.edit_options import CONTENT_FIELDS, EditOptions
from mdplan.cli.edits.field_types import NameListType
from mdplan.field_names import snake_case
from mdplan.requests.schemas import operation_reference

_WIDTH: Final = 76
PATH_JOINT: Final = " / "


def example_command(options: EditOptions) -> str:
    """``mdplan edit OP FILE --option value``, on as many lines as it needs on a narrow terminal."""
    reference = operation_reference(options.op)
    parts = _parts(options, reference.file, reference.example)
    return _wrapped(parts)


def edit_command(options: EditOptions, file: str, edit: Mapping[str, Any]) -> str:
    """The command that makes `edit`, which can have fields of its batch, in `file`."""
    return " ".join(_parts(options, shlex.quote(file), edit))


def option_words(options: EditOptions, name: str, value: Any) -> str:  # noqa: ANN401 (any JSON)
    """The option of `mdplan edit` that gives the field `name` a `value`, as it is typed."""
    flags = {option.name: option for option in options.options()}
    option = flags.get(snake_case(name))
    if option is None:
        flag = snake_case(name).replace("_", "-")
        return f"--{flag}" if isinstance(value, bool) else f"--{flag} {shlex.quote(_text(value))}"
    return " ".join(_words(name, value, option))


def _parts(options: EditOptions, file: str, edit: Mapping[str, Any]) -> list[str]:
    parts = [f"mdplan edit {options.op} {file}"]
    for name, value in edit.items():
        if name in ("heading", "headingPath", "sectionId") and options.is_about_sections:
            parts.append(f"--section {shlex.quote(_text(value, PATH_JOINT))}")
        elif name != "op":
            parts.append(option_words(options, name, value))
    return parts


def _words(name: str, value: Any, option: click.Option) -> Iterator[str]:  # noqa: ANN401 (any JSON)
    flag = next((each for each in option.opts if each == "--text"), option.opts[0])
    if isinstance(value, bool):
        yield flag if value else option.secondary_opts[0]
    elif name in CONTENT_FIELDS and "\n" in value:
        yield f"{flag} @new.{'diff' if name == 'diff' else 'md'}"
    elif isinstance(option.type, NameListType):
        yield f"{flag} {shlex.quote(','.join(value))}"
    elif option.multiple:
        yield from (f"{flag} {shlex.quote(f'{key}={_text(each)}')}" for key, each in value.items())
    else:
        joint = PATH_JOINT if name.endswith("Path") else None
        yield f"{flag} {shlex.quote(_text(value, joint))}"


def _text(value: Any, joint: str | None = None) -> str:  # noqa: ANN401 (any JSON)
    match value:
        case {"start": Mapping() as start, "end": Mapping() as end}:
            return f"{start['line']}:{start['col']}-{end['line']}:{end['col']}"
        case {"start": start, "end": end}:
            return f"{start}-{end}" if start != end else str(start)
        case Mapping():
            return str(next(iter(value.values())))
        case list() | tuple() if joint is not None:
            return joint.join(value)
        case list() | tuple():
            # Most commands give no list, and need not load this.
            import yaml

            return yaml.safe_dump(list(value), default_flow_style=True).strip()
        case _:
            return str(value)


def _wrapped(parts: list[str]) -> str:
    """`parts` as one command; a line that is full continues on the next."""
    lines = [parts[0]]
    for part in parts[1:]:
        if len(lines[-1]) + 1 + len(part) > _WIDTH:
            lines[-1] += " \\"
            lines.append(f"  {part}")
        else:
            lines[-1] += f" {part}"
    return "\n".join(lines)
