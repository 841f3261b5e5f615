"""Laws of edits of any data file; run as a program, it checks all given files.

    find / -name '*.yml' | .venv/bin/python -m tests.corpus.data_laws

Each random key gets its old value, which changes nothing; another value, which changes only its text or is
refused; and is deleted. An independent reader compares the contents: PyYAML's in Python, `json`, tomlkit,
`configparser`.
"""

import configparser
import json
import random
import sys
import time
from collections import Counter
from pathlib import Path as FilePath
from typing import Any

import tomlkit
import yaml
from tomlkit.exceptions import TOMLKitError

from mdplan.data.content import DataContent, data_edits, placed, read_data, verify_edits
from mdplan.data.tree import (
    REMOVED,
    Change,
    DataError,
    KeyChange,
    Language,
    NewEntry,
    Path,
    Unnamed,
    change_tree,
    value_after,
    value_at,
    values_equal,
)
from mdplan.text.edit import EditList
from mdplan.text.lines import LineIndex
from mdplan.text.source import Source

LANGUAGES = {
    **dict.fromkeys((".yaml", ".yml"), Language.YAML),
    **dict.fromkeys((".json", ".jsonc", ".json5"), Language.JSON),
    **dict.fromkeys((".ini", ".cfg", ".conf", ".service", ".socket", ".desktop"), Language.INI),
    ".toml": Language.TOML,
}
NEW: tuple[Any, ...] = ("new: value # 1", "yes", 12, True, ["a", "b"], {"k": "v"}, "two\nlines\n")
NEW_TEXT = ("new: value = 1", "yes", "12", "%(a)s")
LONGEST = 200_000
# Longer YAML texts are read by the parser in C, which the edits use too, because the one in Python is too
# slow.
_SHORT = 5_000
# Keys are tried in random order, until this CPU time is spent.
MOST_KEYS = 10_000
MOST_SECONDS = 5.0


def check_text(
    language: Language, text: str, keys: int, seed: int, seconds: float = MOST_SECONDS
) -> Counter[str]:
    """How often each outcome came, for `keys` keys of `text`; raises AssertionError for a wrong one."""
    started = time.process_time()
    outcomes: Counter[str] = Counter()
    try:
        content = read_data(language, text)
    except DataError as error:
        return Counter({f"file refused: {error.reason.partition(':')[0]}": 1})
    drawn = random.Random(seed)
    places = list(content.places)
    # The other reader reads the text once.
    seen = _seen(content.language, content.text)
    for path in drawn.sample(places, min(keys, len(places))):
        if time.process_time() - started > seconds:
            break
        outcomes += _check_key(content, path, drawn, seen)
    is_whole = outcomes["keys"] == len(places)
    return outcomes + Counter(
        {"files": 1, "files with every key": is_whole, "files seen by another reader": seen is not None}
    )


def _check_key(content: DataContent, path: Path, drawn: random.Random, seen: Any) -> Counter[str]:
    value = value_at(content.values, path)
    if value is REMOVED:
        return Counter({"keys inside of a value with a tag, which no address names": 1})
    outcomes = Counter({"keys": 1})
    # A caller can send neither keys without a name nor a whole document.
    if not _has_unnamed(value) and not _is_document(content, path):
        assert not _edits(content, [KeyChange(path, value)]), f"own value of {path}"
    new = drawn.choice(NEW_TEXT if content.language is Language.INI else NEW)
    is_scalar = not isinstance(value, dict | list)
    outcomes += _tried(content, KeyChange(path, new), "set", path if is_scalar else None, seen)
    outcomes += _tried(content, KeyChange(path, REMOVED), "delete", None, seen)
    if isinstance(value, list):
        place = drawn.randrange(len(value) + 1)
        new_place = None if place == len(value) else place
        outcomes += _tried(content, NewEntry(path, new_place, "new: item"), "add item", None, seen)
    if isinstance(value, dict):
        outcomes += _tried(content, NewEntry(path, None, "v", "zz new"), "add key", None, seen)
    return outcomes


def _is_document(content: DataContent, path: Path) -> bool:
    return len(path) == 1 and content.root is not None and content.root.style == "documents"


def _has_unnamed(value: Any) -> bool:
    """Return True if `value` contains a map with keys that no path can name."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    has_own = isinstance(value, dict) and any(isinstance(name, Unnamed) for name in value)
    return has_own or any(map(_has_unnamed, inner))


def _edits(content: DataContent, changes: list[Change]) -> EditList:
    splices = placed(data_edits(content, changes), 0, LineIndex(content.text))
    edits = EditList.of(splice.edit for splice in splices)
    if not isinstance(edits, EditList):
        raise DataError("two of the changes want the same text")
    return edits


def _tried(content: DataContent, change: Change, what: str, path: Path | None, before: Any) -> Counter[str]:
    """Return the outcome of a change; `path` is that of a scalar: only its own text may change."""
    try:
        edits = _edits(content, [change])
        verify_edits(content, edits, [change])
    except DataError as error:
        return Counter({f"{what} refused: {error.reason}": 1})
    result = edits.apply(content.text)
    assert edits.invert(content.text).apply(result) == content.text
    if before is not None:
        after = _seen(content.language, result)
        wanted = value_after(before, change_tree([change]))
        is_toml = content.language is Language.TOML and what == "delete"
        assert is_toml or values_equal(after, wanted), (what, change)
    if path is not None:
        span = content.places[path]
        for each in edits:
            # A continuation of an INI value includes its line end; a map follows the comment of its key.
            behind = content.text[max(each.span.start, span.end) : each.span.end]
            assert span.start <= each.span.start, (what, change)
            assert not behind.strip(), (what, change)
    return Counter({f"{what} done": 1})


def _seen(language: Language, text: str) -> Any:
    """Return what an independent reader sees; None if it rejects the text."""
    try:
        match language:
            case Language.YAML:
                loader = yaml.SafeLoader if len(text) < _SHORT else yaml.CSafeLoader
                return _with_text_keys(yaml.load(text, Loader=loader)) if "<<" not in text else None
            case Language.JSON:
                return json.loads(text)
            case Language.TOML:
                return tomlkit.parse(text).unwrap()
            case Language.INI:
                return _ini_seen(text)
    except (
        ValueError,
        configparser.Error,
        yaml.YAMLError,
        TOMLKitError,
        RecursionError,
        TypeError,
        AttributeError,
    ):
        return None


def _ini_seen(text: str) -> dict[str, dict[str, str | None]]:
    parser = configparser.RawConfigParser(
        strict=False, allow_no_value=True, inline_comment_prefixes=("#", ";"), default_section="\0"
    )
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(text)
    return {name: dict(parser.items(name, raw=True)) for name in parser.sections()}


def _with_text_keys(value: Any) -> Any:
    """Return `value` with only text keys; None if YAML reads a key as another type."""
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise ValueError("a key is no text")
        return {key: _with_text_keys(each) for key, each in value.items()}
    return [_with_text_keys(each) for each in value] if isinstance(value, list) else value


def main() -> None:
    """Check the files whose names come on standard input; a parameter is how many seconds each may take."""
    outcomes: Counter[str] = Counter()
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else MOST_SECONDS
    for name in map(str.strip, sys.stdin):
        language = LANGUAGES.get(FilePath(name).suffix)
        if language is None:
            continue
        found: Counter[str] = Counter()
        try:
            found = _checked(language, FilePath(name), seconds)
        except Exception as error:  # noqa: BLE001 (each is a wrong outcome, which the table shows)
            found[f"WRONG {type(error).__name__}"] += 1
            print(f"WRONG {name}: {type(error).__name__} {str(error)[:200]}", flush=True)
        outcomes += Counter({f"{language:5} {outcome}": count for outcome, count in found.items()})
    for outcome, count in sorted(outcomes.items()):
        print(f"{count:7} {outcome}")


def _checked(language: Language, file: FilePath, seconds: float) -> Counter[str]:
    try:
        source = Source.decode(file.read_bytes())
    except OSError:
        return Counter({"not read: no file": 1})
    if not isinstance(source, Source):
        return Counter({"not read: encoding": 1})
    if len(source.text) > LONGEST:
        return Counter({"not read: longer than the program takes": 1})
    return check_text(language, source.text, keys=MOST_KEYS, seed=len(source.text), seconds=seconds)


if __name__ == "__main__":
    main()
