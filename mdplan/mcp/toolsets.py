"""Toolsets, one file each, and which of their tools a server has."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any, Final, Literal, Optional

from mdplan.engine.engine import Engine
from mdplan.mcp.tool import INTRODUCTIONS, ToolDefinition
from mdplan.words import snake_case

# Modules of the toolsets, each with a function `make_tools`.
_MODULES: Final[Mapping[str, str]] = {
    "md": "md_tools",
    "editor": "editor_tools",
    "text": "text_tools",
    "files": "file_tools",
}


def chosen_tools(
    engine: Engine, toolsets: Sequence[str], names: Sequence[str], *, read_only: bool
) -> tuple[ToolDefinition, ...]:
    """Return the tools of `toolsets`, only those in `names` if given; with `read_only` none that writes.

    A toolset may have a reduced tool for read-only servers.
    """
    modules = (import_module(f"mdplan.mcp.{_MODULES[toolset]}") for toolset in toolsets)
    tools = (tool for module in modules for tool in module.make_tools(engine))
    chosen = {tool.name: tool for tool in tools if not (read_only and tool.writes)}
    return tuple(tool for name, tool in chosen.items() if not names or name in names)


# --- Tools as plain functions, for agent frameworks

_TYPES: Final[Mapping[str, type]] = {"string": str, "integer": int, "number": float, "boolean": bool}


def tools(
    root: str | Path | Engine,
    *,
    toolsets: Sequence[str] = ("md",),
    names: Sequence[str] = (),
    read_only: bool = False,
) -> list[Callable[..., str]]:
    """Return the tools of a server for the folder `root` (or an `Engine`), as functions with type hints.

    Each has the name and description of its tool, takes its arguments by name in snake_case, and returns the
    text that a model reads, including refusals. `toolsets`, `names` and `read_only` select as in `mdplan
    serve`. Frameworks that read signatures and docstrings can use them directly. Raises `StorageRefused` for
    a folder that cannot be opened, `ValueError` for an unknown toolset or name.

    >>> from mdplan import tools
    >>> by_name = {tool.__name__: tool for tool in tools(".")}
    >>> "md_apply" in by_name, "Kettle guide" in by_name["md_stat"](file="guide.md")
    (True, True)
    """
    unknown = [each for each in toolsets if each not in INTRODUCTIONS]
    if unknown:
        raise ValueError(f"there is no toolset {unknown[0]!r}; there are {', '.join(INTRODUCTIONS)}")
    engine = root if isinstance(root, Engine) else Engine.open([root])
    found = chosen_tools(engine, toolsets, (), read_only=read_only)
    missing = set(names) - {tool.name for tool in found}
    if missing:
        known = ", ".join(tool.name for tool in found)
        raise ValueError(f"there is no tool {min(missing)!r} in these toolsets; there are {known}")
    return [_function(tool) for tool in found if not names or tool.name in names]


def _function(tool: ToolDefinition) -> Callable[..., str]:
    properties: Mapping[str, Any] = tool.input_schema.get("properties", {})
    required = frozenset(tool.input_schema.get("required", ()))
    wire_names = {snake_case(name): name for name in properties}

    def call(**arguments: Any) -> str:  # noqa: ANN401 (those of the schema)
        """Call the tool with the given arguments."""
        given = {wire_names.get(name, name): value for name, value in arguments.items()}
        return tool.call({name: value for name, value in given.items() if value is not None}).text

    parameters = [
        Parameter(
            snake_case(name),
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if name in required else None,
            annotation=_type(schema) if name in required else Optional[_type(schema)],  # noqa: UP045 (a value)
        )
        for name, schema in sorted(properties.items(), key=lambda item: item[0] not in required)
    ]
    call.__name__ = call.__qualname__ = tool.name
    call.__doc__ = _docstring(tool, properties)
    call.__annotations__ = {each.name: each.annotation for each in parameters} | {"return": str}
    call.__signature__ = Signature(parameters, return_annotation=str)  # type: ignore[attr-defined]
    return call


def _type(schema: Mapping[str, Any]) -> Any:  # noqa: ANN401 (a type)
    """Return the type hint of values that `schema` describes; `Any` if it allows several types."""
    if "enum" in schema:
        return Literal[tuple(schema["enum"])]
    kind = schema.get("type")
    if kind == "array":
        item = _type(schema.get("items", {}))
        return list[item]  # type: ignore[valid-type]
    if kind == "object":
        return dict[str, Any]
    return _TYPES.get(kind, Any) if isinstance(kind, str) else Any


def _docstring(tool: ToolDefinition, properties: Mapping[str, Any]) -> str:
    """Return the description, then the arguments in Google's docstring style, which frameworks know."""
    arguments = [
        f"    {snake_case(name)}: {' '.join(str(schema['description']).split())}"
        for name, schema in properties.items()
        if schema.get("description")
    ]
    return "\n".join([tool.description, *(["", "Args:", *arguments] if arguments else [])])
