"""The reference of manifests, made from its models and from the examples in `manifest.yaml`."""

import inspect
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from docs.codegen.pages import fenced, page, table
from mdplan.bot.expansion import ABOUT_EDITS, FILTERS, PLACEHOLDERS
from mdplan.bot.manifest import Condition, Manifest, ManifestPart, Rule, manifest_schema
from mdplan.operations import OPERATIONS
from mdplan.operations.base import Operation

EXAMPLES: Final[Mapping[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("manifest.yaml").read_text(encoding="utf-8")
)
_MODELS: Final[Mapping[str, type[ManifestPart]]] = {
    "manifest": Manifest,
    "rule": Rule,
    "conditions": Condition,
}
_INTRO: Final = """\
A manifest is a YAML or JSON file that says which files, under which conditions, and which edits should be done in them.
Each example is run by a test, on the files below. [Recipes](../how-to/bot-recipes.md) explain more of them; `mdplan bot init` writes a first manifest, and `mdplan bot explain MANIFEST FILE` shows why a rule does or does not apply to a file.
`mdplan bot apply` changes all files that can be edited, ends with exit code 1 if one could not, and changes nothing if all match."""
_RULES: Final = """\
A rule names files by `file` or `glob`, and edits. The edits are the same as in a [batch](operations.md); any text in them can have placeholders.
An edit that would change the file again in every run, such as `append_to_section`, needs a condition. Conditions see the file as it is before the run, also with `sequential`.
`links` of the manifest takes what [`[links]` of `mdplan.toml`](../how-to/keep-links-right.md) takes: a preset, and the folders that links from the root mean."""
_EDITS: Final = """\
Each edit has `op` and the fields of that operation, whose page has all of them. A section is named by `heading: Brew`, by `headingPath: [All about tea, Brew]` or by its `anchor`.
`replace_match` takes its `pattern` by the letter, also inside words; with `matchType: regex` it is a regular expression, and `\\1` in the replacement is a group. Where nothing matches, nothing changes; two matches in a file are an error unless `matchSelection: all`. Code, link destinations and front matter stay, unless `include` lists `codeBlocks`, `inlineCode`, `linkDestinations`, `images` or `frontMatter`.
Edits that set, upsert or delete do nothing where that is done already, and `add_list_item` needs `unique: true`. `create_file` is the only edit of its file: to make a page and keep it, give that rule `when: {not: {hasText: "<!-- NAME:start -->"}}`, and write the region in another rule.
A key with dots, such as `ms.date`, is found by its whole name."""
_CONDITIONS: Final = """\
Texts can have placeholders. All fields of one condition must be true: `{hasText: a, hasSection: B}`."""
_PLACEHOLDERS: Final = """\
These are the values on `docs/tea.md`, on 31 January 2026, with `USER_NAME=Ada` in the environment and `--env USER_NAME`. The manifest begins with:"""
_TYPES: Final = """\
A placeholder on its own keeps its type, so that `set_value` can write a number or a list; in longer text, values become text. `{{{{` is two braces. An unknown name is an error, unless the filter `default` follows.
CSV files have commas, and their values are texts: `json` makes a number, or true or false, of one. Texts that go into Markdown, such as titles, may need `escape`."""
_LOOPS: Final = """\
`forEach` names a list, such as `data.teas` or `pages.all`. Among edits it repeats `edits`; in place of a text it makes one text. The entry is `{{item}}`, or the name in `as`. An empty list gives an empty text, without `before` and `after`."""
_BACK: Final = """\
A bot can take back what it wrote: replace the rule by the one that takes it back, and let it run. Put markers around text that has no other address, so that `delete_region` finds it; blank lines around the text may differ afterwards."""


def documented() -> dict[str, Iterable[str]]:
    """Return the names that need an example, by part of the page."""
    fields = {
        part: [_name(name, field) for name, field in model.model_fields.items()]
        for part, model in _MODELS.items()
    }
    return {**fields, "edit": ABOUT_EDITS, "placeholders": PLACEHOLDERS, "filters": FILTERS}


def manifest_page() -> str:
    """Return the page."""
    of_loops = manifest_schema()["$defs"]
    loops = {**of_loops["TextLoop"]["properties"], **of_loops["EditLoop"]["properties"]}
    about = manifest_schema()["$defs"]["PrependToSection"]["properties"]
    return page(
        "Manifests of the bot",
        _INTRO,
        *(
            block
            for name, text in EXAMPLES["files"].items()
            for block in (f"`{name}`:", fenced(text.rstrip("\n"), "text"))
        ),
        *_fields("Manifest", "", "manifest"),
        *_fields("Rules", _RULES, "rule"),
        "## Edits",
        _EDITS,
        table(["Operation", "Does", "Example"], map(_operation, sorted(OPERATIONS.items()))),
        "### Fields of edits for the bot",
        table(
            ["Field", "Meaning"], [(f"`{name}`", about[name]["description"]) for name in sorted(ABOUT_EDITS)]
        ),
        *_examples("edit"),
        "## Loops",
        _LOOPS,
        table(
            ["Field", "Meaning"],
            [(f"`{name}`", each.get("description", "Its edits.")) for name, each in loops.items()],
        ),
        "## Conditions",
        _CONDITIONS,
        table(
            ["Condition", "Meaning", "On `docs/tea.md`"],
            [_condition(*row) for row in _described("conditions")],
        ),
        "## Placeholders",
        _PLACEHOLDERS,
        fenced(EXAMPLES["values"].rstrip("\n"), "text"),
        table(
            ["Placeholder", "Value", "Example", "Becomes"],
            [
                (f"`{{{{{name}}}}}`", meaning, *_codes(EXAMPLES["placeholders"][name]))
                for name, meaning in PLACEHOLDERS.items()
            ],
        ),
        _TYPES,
        "## Filters",
        "Filters follow a bar, and apply from left to right.",
        table(
            ["Filter", "Does", "Example", "Becomes"],
            [
                (f"`{name}`", _summary(function), *_codes(EXAMPLES["filters"][name]))
                for name, function in FILTERS.items()
            ],
        ),
        "## Take back what a rule wrote",
        _BACK,
        table(["A rule writes", "Another takes it back"], map(_codes, EXAMPLES["take_back"])),
    )


def _operation(named: tuple[str, type[Operation]]) -> tuple[str, ...]:
    name, operation = named
    does = " ".join(inspect.cleandoc(operation.__doc__ or "").partition("\n\n")[0].split())
    example = ", ".join(
        f"{key}: {json.dumps(value)}" for key, value in operation.example.items() if key != "op"
    )
    return f"[`{name}`](operations/{name}.md)", does.partition(". ")[0].rstrip("."), *_codes([example])


def _fields(title: str, about: str, part: str) -> list[str]:
    rows = [(f"`{name}`", meaning) for name, meaning in _described(part)]
    return [f"## {title}", *([about] if about else []), table(["Field", "Meaning"], rows), *_examples(part)]


def _examples(part: str) -> list[str]:
    """Return each example once, with all fields that it shows."""
    blocks: list[str] = []
    for name, example in EXAMPLES[part].items():
        if isinstance(example, str):
            continue
        names = [name, *(other for other, known in EXAMPLES[part].items() if known == name)]
        blocks += [
            f"{', '.join(f'`{each}`' for each in names)}:",
            fenced(example["manifest"].rstrip("\n"), "yaml"),
        ]
        if "problem" in example:
            blocks.append(f"This ends with `{example['problem']}`.")
        elif example["adds"]:
            blocks += [
                "This adds:",
                fenced(
                    "\n".join(f"{file}: {line}" for file, lines in example["adds"].items() for line in lines),
                    "text",
                ),
            ]
        else:
            blocks.append("This adds no line.")
    return blocks


def _described(part: str) -> list[tuple[str, str]]:
    return [
        (_name(name, field), field.description or "") for name, field in _MODELS[part].model_fields.items()
    ]


def _name(name: str, field: Any) -> str:  # noqa: ANN401 (of pydantic)
    return str(field.alias or name)


def _condition(name: str, meaning: str) -> tuple[str, str, str]:
    shown = [f"`{text}` is {'true' if is_met else 'false'}" for text, is_met in EXAMPLES["conditions"][name]]
    return f"`{name}`", meaning, "; ".join(shown)


def _codes(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(
        f"`` {text} ``" if "`" in text else f"`{text}`"
        for text in (each.replace("\n", "\\n") for each in texts)
    )


def _summary(function: Any) -> str:  # noqa: ANN401 (a filter)
    return (
        inspect.cleandoc(function.__doc__ or "")
        .partition("\n\n")[0]
        .replace("\n", " ")
        .removeprefix("Return ")
        .capitalize()
    )
