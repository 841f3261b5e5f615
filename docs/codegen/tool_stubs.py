"""Stubs of the toolset `md` for scripts in TypeScript and Python, made of the published schemas."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from docs.codegen.tool_schemas import tool_schemas
from mdplan.mcp.tool import tool_names

Schema = Mapping[str, Any]
_NAMES: Final = {
    "ts": {"string": "string", "integer": "number", "number": "number", "boolean": "boolean"},
    "py": {"string": "str", "integer": "int", "number": "float", "boolean": "bool"},
}
_TYPESCRIPT: Final = """\
// Calls of mdplan's tools with types; `make schemas` writes this file.
// `call` sends a call of a tool and returns its structured content.
export type Call = (tool: string, args: object) => Promise<unknown>;
"""
_MODULE: Final = """\
// Calls of mdplan's tools; `make schemas` writes this file.
const names = [{names}];
export const tools = (call) => Object.fromEntries(names.map((name) => [name, (args) => call(name, args)]));
"""
_PYTHON: Final = '''\
"""Calls of mdplan's tools with types; `make schemas` writes this file."""

from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol, TypedDict, cast

'''
_PYTHON_END: Final = '''

def tools(call: Callable[[str, Mapping[str, Any]], Any]) -> Tools:
    """Return the tools; `call` sends a call of a tool and returns its structured content."""
    calls = {name: lambda arguments, name=name: call(name, arguments) for name in NAMES}
    return cast("Tools", type("Calls", (), {name: staticmethod(each) for name, each in calls.items()}))
'''


def stub_files(folder: str) -> dict[str, str]:
    """Return the stubs by their paths in `folder`."""
    names = tool_names(["md"])
    schemas = {name: schema for name, schema in tool_schemas().items() if name in names}
    listed = ", ".join(f'"{name}"' for name in names)
    made, types = {language: dict[str, str]() for language in _NAMES}, dict[str, str]()
    for name in names:
        title = "".join(part.title() for part in name.split("_"))
        for kind, side in (("Arguments", "inputSchema"), ("Answer", "outputSchema")):
            types[f"{title}{kind}"] = name
            for language, declared in made.items():
                _type(language, schemas[name][side], f"{title}{kind}", declared)
    typescript = (f"export interface {name} {body}\n" for name, body in made["ts"].items())
    methods = "".join(
        f"  {name}(args: {title}Arguments): Promise<{title}Answer>;\n" for title, name in _titles(types)
    )
    python = (f'{name} = TypedDict("{name}", {body}, total=False)\n' for name, body in made["py"].items())
    functions = "".join(
        f"    def {name}(self, arguments: {title}Arguments, /) -> {title}Answer: ...\n"
        for title, name in _titles(types)
    )
    end = f"export interface Tools {{\n{methods}}}\nexport function tools(call: Call): Tools;\n"
    protocol = f"NAMES = ({listed})\n\n\nclass Tools(Protocol):\n{functions}"
    return {
        f"{folder}/tools.d.mts": _TYPESCRIPT + "".join(typescript) + end,
        f"{folder}/tools.mjs": _MODULE.replace("{names}", listed),
        f"{folder}/tools.py": _PYTHON + "".join(python) + protocol + _PYTHON_END,
    }


def _titles(types: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for title, name in types.items():
        if title.endswith("Answer"):
            yield title.removesuffix("Answer"), name


def _type(language: str, schema: Schema, name: str, made: dict[str, str]) -> str:
    """Return the type of `schema`; that of an object is `made` under `name`, if it has named fields."""
    kind = schema.get("type")
    if "enum" in schema:
        values = [json.dumps(value) for value in schema["enum"]]
        return " | ".join(values) if language == "ts" else f"Literal[{', '.join(values)}]"
    if kind == "array":
        items = _type(language, schema["items"], name, made)
        return f"{items}[]" if language == "ts" else f"list[{items}]"
    if kind == "object" and "properties" in schema:
        required, fields = set(schema.get("required", ())), dict[str, str]()
        for field, inner in schema["properties"].items():
            own = f"{name}{field[0].upper()}{field[1:].removesuffix('s')}"
            fields[field] = _type(language, inner, own, made)
        made[name] = (
            "{ " + " ".join(f"{f}{'' if f in required else '?'}: {t};" for f, t in fields.items()) + " }"
            if language == "ts"
            else "{" + ", ".join(f'"{field}": {given}' for field, given in fields.items()) + "}"
        )
        return name
    if kind == "object":
        return "Record<string, any>" if language == "ts" else "Mapping[str, Any]"
    return _NAMES[language].get(kind or "", "any" if language == "ts" else "Any")
