"""Operations on keys and list items of YAML, JSON, TOML and INI files, and of front matter."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from mdplan.data import tree
from mdplan.data.address import Found, GivenKey, counted_paths, find, key_missing, shown, steps_of
from mdplan.data.content import (
    DataContent,
    as_json,
    dated,
    numbered,
    other_value,
    value_matches,
    with_dates,
    written_in,
)
from mdplan.diagnostics import Code, Diagnostic, Refused, or_problem, refuse_if
from mdplan.markdown import front_matter_edits
from mdplan.markdown.front_matter import MAX_DEPTH, Unreadable, empty_content
from mdplan.markdown.outline import Outline
from mdplan.operations.base import (
    KEYS,
    Claim,
    DataChanges,
    Operation,
    Ordinal,
    Resolution,
    SectionHash,
    with_way_to_create,
)
from mdplan.text.lines import Position, Span
from mdplan.text.source import DocumentFormat
from mdplan.values import Struct, replace
from mdplan.words import Argument, say

# --- Shared parts of operations on data files: addresses, guards and positions.

# A name, a number, or a key and its value. Not a plain `tuple[str, ...]`, which the request reader takes
# for a heading path: a string would become one element.
Step = Annotated[str | int | dict[str, Any], Field(union_mode="left_to_right")]


class Target(Struct):
    """The parsed values of a file, or of its front matter, which it `creates` first."""

    content: DataContent
    creates: DocumentFormat | None = None

    @property
    def is_ini(self) -> bool:
        """True if it is an INI file."""
        return self.content.language is tree.Language.INI


class DataOperation(Operation):
    """An operation on a key or item of a YAML, JSON, TOML or INI file, or of front matter."""

    needs_markdown: ClassVar = False
    example_file: ClassVar = "mkdocs.yml"

    section: str | None = Field(
        default=None,
        description="INI section, in which `key` is one name; empty for what is before the first one.",
    )
    key: str | tuple[Step, ...] = Field(
        description='Key: "nav[0].Home", "/nav/0/Home" or ["nav", 0, "Home"]; [name=Build] is an item by a '
        "key in it, [=text] one by its value."
    )
    expected_value: Any = Field(
        default_factory=lambda: tree.REMOVED,
        description="Value that the key has now: JSON, a date as it is written.",
    )

    occurrence: Ordinal | None = Field(
        default=None, description="Which of several equal keys or sections of an INI file; 1-based."
    )
    section_sha256: SectionHash | None = Field(
        default=None,
        description="sectionSha256 from md_stat: refuse if the section of the INI file has changed.",
    )

    @field_validator("key", mode="before")
    @classmethod
    def _check_key(cls, given: object, info: ValidationInfo) -> object:
        return given if info.data.get("section") is not None else readable_key(given)

    @field_validator("expected_value")
    @classmethod
    def _check_expected_value(cls, given: object) -> object:
        return checked(given)

    @property
    def is_guarded(self) -> bool:
        """True if it says what value the key has now, be it null."""
        return self.expected_value is not tree.REMOVED

    @model_validator(mode="after")
    def _check_section(self) -> "DataOperation":
        if self.section is not None and not isinstance(self.key, str | None):
            raise ValueError(say("with {section}, {key} is one name"))
        return self

    @property
    def needs_ini(self) -> bool:
        """True if a field for INI files is given."""
        return any(each is not None for each in (self.section, self.occurrence, self.section_sha256))

    @property
    def keys(self) -> Sequence[GivenKey]:
        """The keys that it names; none where it is about a section, or all front matter."""
        # Subclasses need not have one.
        key: GivenKey | None = self.key
        return () if key is None else (key,)

    @property
    def guarded_key(self) -> GivenKey | None:
        """The key that `expected_value` guards, or None for a section."""
        return next(iter(self.keys), None)

    def read(self, outline: Outline) -> Target:
        """Return the parsed file. Errors: INVALID_ARGUMENT, FRONT_MATTER_NOT_FOUND; as `unreadable`."""
        content = front_matter_edits.data_content(outline)
        if isinstance(content, Unreadable):
            raise Refused(front_matter_edits.unreadable(outline, content))
        creates = self._created_format() if content is None else None
        if content is not None:
            return Target(content)
        if outline.format is DocumentFormat.TEXT:
            raise Code.INVALID_ARGUMENT.refused(
                f"{self.op} needs YAML, JSON, TOML, INI or front matter, and this file counts as plain text",
                say('{send format="yaml"} next to {file} if it is YAML'),
            )
        if creates is not None and not self.is_guarded:
            return Target(empty_content(creates), creates)
        raise Refused(
            front_matter_edits.no_block(
                may_create=creates is None and "create_if_missing" in type(self).model_fields
            )
        )

    def _created_format(self) -> DocumentFormat | None:
        """Return the format of front matter to create, or None if it may not be created."""
        return None

    def find(self, outline: Outline, target: Target, key: GivenKey, *, is_new: bool = False) -> Found:
        """Return what `key` names, after checking its guards; it may be missing if `is_new`.

        Errors: INVALID_ARGUMENT, KEY_NOT_FOUND, SECTION_NOT_FOUND, AMBIGUOUS_HEADING, TEXT_MISMATCH,
        SECTION_CHANGED.
        """
        values = target.content.values
        is_new = is_new and not self.is_guarded
        found = self._found(target, key, is_new=is_new)
        value = tree.value_at(values, found.path)
        if found.missing and not isinstance(value, dict | list | None):
            raise Refused(other_kind(outline, target, found.path, "a map of keys"))
        if found.missing and not is_new:
            raise Refused(key_missing(values, found))
        self._check_guards(outline, target, found)
        return found

    def _found(self, target: Target, key: GivenKey | None, *, is_new: bool) -> Found:
        if not target.is_ini:
            return find(target.content.values, key or "", is_new=is_new)
        from mdplan.data.ini_edits import IniAddress, find_in_ini

        address = IniAddress(key, self.section, self.occurrence)
        return find_in_ini(target.content.ini, address, is_new=is_new)

    def _check_guards(self, outline: Outline, target: Target, found: Found) -> None:
        """Refuse where what was `found` is not what the caller expects."""
        value = tree.value_at(target.content.values, found.path)
        if self.is_guarded and not _is_expected(target, value, self.expected_value):
            raise Code.TEXT_MISMATCH.refused(
                other_value(f"`{shown(found.path)}`", value, self.expected_value),
                front_matter_edits.OTHER_VALUE
                if outline.format is DocumentFormat.MARKDOWN
                else say("to change it, send that as {expectedValue}"),
                place=place_of(outline, target, found.path),
            )
        if self.section_sha256 is not None:
            from mdplan.operations.ini_keys import check_section

            check_section(outline, target.content, found, self.section_sha256)

    def find_existing(self, outline: Outline) -> tuple[Target, tree.Path]:
        """Return what the file says, and the path that `key` names. Errors: as `read` and `find`."""
        target = self.read(outline)
        found = self.find(outline, target, self.key)
        return target, found.path

    def resolution(
        self,
        outline: Outline,
        target: Target,
        parts: Sequence[tuple[tree.Path, str]],
        changes: Sequence[tree.Change],
    ) -> Resolution:
        """Return the resolution for `changes` of `target`; `parts` are the claimed paths, with new names.

        Errors: DATA_INVALID, FRONT_MATTER_INVALID.
        """
        try:
            splices = front_matter_edits.data_splices(outline, changes, target.creates)
        except tree.DataError as error:
            raise Refused(front_matter_edits.cannot_change(outline, error)) from None
        return Resolution(
            claims=tuple(_claims(outline, target, parts, splices)),
            edits=tuple(splice.edit for splice in splices),
            is_evidence=self._is_proven(outline, target, splices) or self.section_sha256 is not None,
            data=DataChanges(changes=tuple(changes), creates=target.creates),
        )

    def _is_proven(self, outline: Outline, target: Target, splices: Sequence[tree.Splice]) -> bool:
        """Return True if the expected value proves the place and everything that is removed.

        A counted item must be the only one with that value.
        """
        key = self.guarded_key
        if not self.is_guarded or self.occurrence is not None or key is None:
            return False
        values = target.content.values
        alike = () if target.is_ini else counted_paths(values, key)
        same = [
            path for path in alike if _is_expected(target, tree.value_at(values, path), self.expected_value)
        ]
        is_sole = not alike or len(same) == 1
        return is_sole and not any(_takes_comment(outline, target, each.edit.span) for each in splices)

    def counted_fields(self, outline: Outline) -> tuple[str, ...]:
        """Return the fields of the base class, and `key` or a neighbour if it counts list items."""
        content = front_matter_edits.data_content(outline)
        values = content.values if isinstance(content, DataContent) else None
        neighbours = (name for name in ("before", "after") if isinstance(getattr(self, name, None), int))
        is_counted = any(counted_paths(values, key) for key in self.keys)
        return (*super().counted_fields(outline), *neighbours, *(("key",) if is_counted else ()))

    def rebased_guards(self, base: Outline, current: Outline) -> dict[str, Any]:
        """Return the guards as they read in `current`: the value of the key and the hash of its section."""
        places = [place for each in (base, current) if (place := self._place_in(each)) is not None]
        if len(places) < 2:
            return {}
        guards: dict[str, Any] = {}
        before, now = (tree.value_at(content.values, found.whole) for content, found in places)
        if self.is_guarded and tree.REMOVED not in (before, now):
            holds = _is_expected(Target(places[0][0]), before, self.expected_value)
            guards["expected_value"] = as_json(now) if holds else self.expected_value
        if self.section_sha256 is not None and base.format is DocumentFormat.INI:
            from mdplan.operations.ini_keys import later_sha256

            later = later_sha256((base, current), places, self.section_sha256)
            guards |= {} if later is None else {"section_sha256": later}
        return guards

    def _place_in(self, outline: Outline) -> tuple[DataContent, Found] | None:
        """Return what the edit names, or is to create, in the content of `outline`."""
        content = front_matter_edits.data_content(outline)
        if not isinstance(content, DataContent) or (self.guarded_key is None and self.section is None):
            return None
        found = or_problem(self._found, Target(content), self.guarded_key, is_new=True)
        return None if isinstance(found, Diagnostic) else (content, found)


class CreatingOperation(DataOperation):
    """An operation that may create the key that it names, and front matter."""

    create_if_missing: bool = Field(
        default=False, description="Create what is missing on the way to the key, and front matter."
    )
    front_matter_format: Literal["yaml", "toml"] | None = Field(
        default=None, description="Of front matter that is created; yaml when absent."
    )

    @model_validator(mode="after")
    def _check_format(self) -> "CreatingOperation":
        if self.front_matter_format is not None and not self.create_if_missing:
            raise ValueError(say("{frontMatterFormat} requires {createIfMissing}"))
        return self

    def _created_format(self) -> DocumentFormat | None:
        return DocumentFormat(self.front_matter_format or "yaml") if self.create_if_missing else None


class PlacedOperation(DataOperation):
    """An operation that gives an entry a place among others, or the last one if it `may_stay_last`."""

    may_stay_last: ClassVar[bool] = True

    before: str | int | dict[str, Any] | None = Field(
        default=None, description="Key, or item by text, number or a key in it, that the entry goes before."
    )
    after: str | int | dict[str, Any] | None = Field(default=None, description="The same, to go after it.")
    in_order: bool = Field(default=False, description="Put the entry where it belongs among sorted ones.")

    @model_validator(mode="after")
    def _check_place(self) -> "PlacedOperation":
        given = (self.before is not None) + (self.after is not None) + self.in_order
        if given > 1 or (not given and not self.may_stay_last):
            raise ValueError(say("give one of {before, after and inOrder}"))
        return self

    def place_in(
        self, target: Target, path: tree.Path, entry: object, moved: tree.Element | None = None
    ) -> int | None:
        """Return the index before which `entry` goes in the list or map at `path`, or None for the end.

        `entry` is a key or an item, and `moved` is its current key or index. Errors: KEY_NOT_FOUND,
        INVALID_ARGUMENT.
        """
        values = target.content.values
        collection = tree.value_at(values, path)
        names: list[Any] = list(collection)
        if self.in_order:
            own = names.index(moved) if isinstance(collection, dict) and moved in names else moved
            text = order_text(entry)
            return next((at for at, each in enumerate(names) if at != own and order_text(each) > text), None)
        neighbour = self.after if self.before is None else self.before
        if neighbour is None:
            return None
        if isinstance(collection, dict):
            if target.is_ini:
                neighbour = next(iter(cased({str(neighbour): None}, collection)))
            if neighbour not in names:
                raise Refused(key_missing(values, Found(path, (str(neighbour),))))
            at = names.index(neighbour)
        else:
            found = find(collection, [neighbour])
            if found.missing and isinstance(neighbour, str):
                found = find(collection, f"[={neighbour}]") if neighbour in collection else found
            if found.missing or not found.path or not isinstance(found.path[0], int):
                raise Refused(key_missing(values, Found(path, (str(neighbour),))))
            at = found.path[0]
        return at + (self.before is None) if at + (self.before is None) < len(names) else None


def cased(value: dict[str, Any], known: Mapping[Any, object]) -> dict[str, Any]:
    """Return `value` of an INI file with the spelling of the `known` keys, which count in any case."""
    names = {str(name).lower(): name for name in known if isinstance(name, str)}
    renamed = {key if key in known else names.get(key.lower(), key): each for key, each in value.items()}
    return renamed if len(renamed) == len(value) else value


def order_text(entry: object) -> str:
    """Return what an entry is sorted by: its text, or the first key of a map."""
    while isinstance(entry, dict) and entry:
        entry = next(iter(entry))
    return str(entry).casefold()


def _is_expected(target: Target, value: object, expected: object) -> bool:
    """Return True if `value` is the `expected` one; a key of an INI file without a sign is null, or empty."""
    if target.is_ini and value is None and expected == "":
        return True
    return value_matches(target.content.language, value, written_in(target.content.language, expected))


def _takes_comment(outline: Outline, target: Target, removed: Span) -> bool:
    """Return True if the `removed` text includes a comment, which the expected value does not prove."""
    first = outline.front_matter.content.start if outline.front_matter else 0
    at, rest = removed.start - first, ""
    for span in _value_spans(target.content):
        if at < span.end and span.start < removed.end - first:
            rest += target.content.text[at : max(at, span.start)]
            at = span.end
    rest += target.content.text[at : removed.end - first]
    return any(sign in rest for sign in ("#", "//", "/*", ";"))


def _value_spans(content: DataContent) -> Iterator[Span]:
    """Yield the spans of innermost keys with values, and of innermost items, in text order."""
    if content.language is tree.Language.INI:
        for key in content.ini.every_key():
            end = key.assignment.value.end if key.has_comment else content.lines.content_end(key.last_line)
            yield Span(key.assignment.name.start, end)
        return
    ranges = content.ranges
    for index, (path, span) in enumerate(ranges):
        if index + 1 == len(ranges) or ranges[index + 1][0][: len(path)] != path:
            yield span


def readable_key(given: object) -> object:
    """Return `given`, which an address can be read from. Raises `ValueError`."""
    if isinstance(given, str):
        steps_of(given)
        return given
    is_array = isinstance(given, list | tuple) and all(
        (isinstance(each, str | int) and not isinstance(each, bool))
        or (isinstance(each, Mapping) and len(each) == 1)
        for each in given
    )
    if not is_array:
        raise ValueError(
            'send a dotted key such as "nav[0].Home", a JSON Pointer, or an array of names and numbers'
        )
    return given


def other_kind(outline: Outline, target: Target, path: tree.Path, wanted: str) -> Diagnostic:
    """Return INVALID_ARGUMENT for the value at `path`, which is not what is `wanted`."""
    value = tree.value_at(target.content.values, path)
    what = (
        "an alias or a value with a tag"
        if isinstance(value, tree.Opaque)
        else front_matter_edits.kind_of(value)
    )
    where = f"`{shown(path)}`" if path else "the outermost value"
    return Diagnostic.invalid(
        f"{where} is {what}, not {wanted}",
        say("name another key, or give this one a new value with {set_value}"),
        place=place_of(outline, target, path),
    )


def place_of(outline: Outline, target: Target, path: tree.Path) -> Position | None:
    """Return the position of the key or item at `path`, or None if unknown."""
    span = _span_of(target, path)
    return None if span is None else front_matter_edits.position_of(outline, span.start)


def _span_of(target: Target, path: tree.Path) -> Span | None:
    """Return the text of the key and value, or the item, at `path`."""
    content = target.content
    if path in content.places or content.root is None or not path:
        return content.places.get(path)
    entry = content.root.at(path)
    return None if entry is None else Span(entry.start, entry.end)


def _claims(
    outline: Outline, target: Target, parts: Sequence[tuple[tree.Path, str]], splices: Sequence[tree.Splice]
) -> Iterator[Claim]:
    """Yield the claim of each part: the text of its key and value, or the insertion point."""
    is_markdown = outline.format is DocumentFormat.MARKDOWN
    start = outline.front_matter.content.start if outline.front_matter else 0
    first = min((splice.edit.span.start for splice in splices), default=start)
    for path, new in parts:
        found = None if new else _span_of(target, path)
        span = Span(found.start + start, found.end + start) if found else Span(first, first)
        names = (each if isinstance(each, int) else str(each) for each in path)
        part = (KEYS, *names, *([f"+ {new}"] if new else []))
        yield Claim(span=span, owner=None if is_markdown else 0, part=part)


# --- Values of keys as callers write them: any JSON that a text of keys can contain.


def checked(value: object) -> object:
    """Return `value`, which a text of keys can contain. Raises `ValueError`."""
    if len(tree.level_sizes(value)) > MAX_DEPTH + 1:
        raise ValueError(f"it is nested deeper than {MAX_DEPTH} levels")
    if any(isinstance(each, float) and not math.isfinite(each) for each in scalars_of(value)):
        raise ValueError("it contains a number that JSON does not have")
    if isinstance(value, str) and value.lstrip()[:1] in {"[", "{"} and _is_json(value):
        raise ValueError("a string that contains JSON: send that array or object itself")
    return value


def scalars_of(value: object) -> Iterator[object]:
    """Yield `value`, or all values in its lists and maps that are neither."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict | list):
            waiting += each.values() if isinstance(each, dict) else each
        else:
            yield each


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


class SetValue(PlacedOperation, CreatingOperation):
    """Set the value of a key or list item in a YAML, JSON, TOML or INI file, or in front matter.

    Only the bytes of the value change: comments, quotes, order, indentation and anchors stay. Replacing a map
    by a map, or a list by a list, changes only the entries that differ. A new key goes to the end of its map,
    or where `before`, `after` or `inOrder` say; an existing key stays in place. `createIfMissing` creates
    parent maps and front matter; existing front matter gets parent maps without it. `values` sets many keys:
    `{"title": "Tea", "author.name": "Kim"}`. A string that reads as a date replaces a date as a date; for a
    new key, list the key in `dates`.

    JSON may have comments and be JSON5. A file of several YAML documents is a list of them: `[0].kind`. INI
    keys match in any case if none matches exactly. `markdown` replaces all lines of `section`: it may begin
    with the header; surrounding blank lines and a comment directly above the next header stay.

    The result is parsed again, if possible by a second parser. Aliased values, duplicate keys, and values
    that cannot be cut out are refused.
    """

    example: ClassVar[dict[str, object]] = {
        "key": "nav[0].Home",
        "value": "start.md",
        "expectedValue": "index.md",
    }

    op: Literal["set_value"]
    key: str | tuple[Step, ...] | None = Field(  # type: ignore[assignment]
        default=None, description=str(PlacedOperation.model_fields["key"].description)
    )
    value: Any = Field(
        default_factory=lambda: tree.REMOVED,
        description="New value: any JSON. An array or object as it is, not as a string.",
    )
    values: dict[str, Any] | None = Field(
        default=None, min_length=1, description="New values by key; instead of key and value."
    )
    dates: tuple[str, ...] | None = Field(
        default=None,
        description="Keys whose strings are dates, or numbers in place of numbers: no quotes. Empty: none.",
    )
    numbers: tuple[str, ...] | None = Field(
        default=None, description='Keys whose strings are numbers to write with these digits: "1.10".'
    )
    markdown: str | None = Field(
        default=None, description="New lines of the whole section; instead of key and value."
    )

    @field_validator("value")
    @classmethod
    def _check_value(cls, given: object) -> object:
        return tree.typed_values(checked(given))

    @field_validator("values")
    @classmethod
    def _check_values(cls, given: dict[str, Any] | None) -> dict[str, Any] | None:
        keys = {steps_of(str(readable_key(name))): name for name in given or {}}
        inside = [key for key in keys for length in range(1, len(key)) if key[:length] in keys]
        if inside:
            raise ValueError(f"`{keys[inside[0]]}` lies in another of the keys")
        for each in (given or {}).values():
            checked(each if isinstance(each, dict | list | float) else None)
        return None if given is None else {name: tree.typed_values(each) for name, each in given.items()}

    @model_validator(mode="after")
    def _check_choice(self) -> "SetValue":
        is_one = self.value is not tree.REMOVED
        ways = is_one + (self.values is not None) + (self.markdown is not None)
        if ways != 1 or (self.key is not None) != is_one:
            raise ValueError(say("give {key and value}, or {values}"))
        if self.markdown is not None and (self.section is None or self.is_guarded):
            raise ValueError(say("{markdown} goes with {section}, and {sectionSha256} guards it"))
        if self.is_guarded and len(self._wanted) != 1:
            raise ValueError(say("{expectedValue} requires one key"))
        # A key in array form has no name, and may contain what cannot be a dictionary key.
        wanted = {key: value for key, value in self._wanted if isinstance(key, str)}
        for field, names in (("dates", self.dates or ()), ("numbers", self.numbers or ())):
            strange = [name for name in names if name not in wanted]
            if strange:
                raise ValueError(say("{} names `{}`, which is none of the keys", Argument(field), strange[0]))
        texts = [name for name in self.numbers or () if isinstance(tree.spelled(str(wanted[name])), str)]
        if texts:
            raise ValueError(say("{numbers} names `{}`, whose value is no number", texts[0]))
        return self

    @property
    def _wanted(self) -> list[tuple[GivenKey, Any]]:
        """The new values by key."""
        return [(self.key, self.value)] if self.key is not None else list((self.values or {}).items())

    @property
    def keys(self) -> Sequence[GivenKey]:
        """The keys that get values."""
        return [key for key, _ in self._wanted]

    def resolve(self, outline: Outline) -> Resolution:
        """Return replacements and insertions.

        Errors: as `read`, `find` and `place_in`; INVALID_ARGUMENT if a parent is not a map, for null in TOML,
        and for text that no INI line can hold.
        """
        target = self.read(outline)
        if self.markdown is not None:
            return self._section(outline, target)
        problems: list[Diagnostic] = []
        changes: list[tree.Change] = []
        parts: list[tuple[tree.Path, str]] = []
        for key, value in self._wanted:
            try:
                part, change = self._change(outline, target, key, value)
            except Refused as refused:
                problems += refused.diagnostics
                continue
            if (part, "") in parts:
                twice = say("{values} names the key `{}` twice", shown(part))
                problems.append(Diagnostic.invalid(twice, "name it once"))
            parts.append((part, ""))
            changes += [] if change is None else [change]
        refuse_if(problems)
        resolution = self.resolution(outline, target, parts, changes)
        warnings = tuple(front_matter_edits.type_changes(target.content.values, changes))
        return replace(resolution, warnings=(*resolution.warnings, *warnings))

    def _section(self, outline: Outline, target: Target) -> Resolution:
        from mdplan.data.ini_edits import IniAddress
        from mdplan.operations.ini_keys import replaced_section

        return replaced_section(
            outline,
            target.content,
            IniAddress(None, self.section, self.occurrence),
            self.markdown or "",
            sha256=self.section_sha256,
            may_create=self.create_if_missing,
        )

    def _change(
        self, outline: Outline, target: Target, key: GivenKey, value: object
    ) -> tuple[tree.Path, tree.Change | None]:
        """Return the path that `key` names, and what is to become of it; nothing where it has its value."""
        found = or_problem(self.find, outline, target, key, is_new=True)
        if isinstance(found, Diagnostic):
            raise Refused(found, *null_in_toml(target, value))
        language = target.content.language
        is_number = key in (self.numbers or ())
        text: Any = written_in(language, tree.spelled(str(value)) if is_number else value)
        old = tree.value_at(target.content.values, found.whole)
        if target.is_ini and isinstance(text, dict) and isinstance(old, dict):
            text = cased(text, old)
        is_plain = key in (self.dates or ())
        new: Any = with_dates(language, numbered(text, old)) if is_plain else text
        refuse_if([*null_in_toml(target, text), *self._value_problems(target, key, found, text, new)])
        if found.missing:
            change = self._new(outline, target, key, found, new)
            # Two keys of an INI file that differ in case are one for many programs.
            last = found.missing[-1].lower() if target.is_ini else found.missing[-1]
            return (*found.whole[:-1], last), change
        new = new if self.dates == () else dated(language, new, old)
        is_same = tree.values_equal(old, tree.as_read(new))
        return found.path, None if is_same else tree.KeyChange(found.path, new)

    def _value_problems(
        self, target: Target, key: GivenKey, found: Found, text: object, new: object
    ) -> Iterator[Diagnostic]:
        """Yield INVALID_ARGUMENT if `found` cannot have the value `text`, written as `new`."""
        if not found.whole:
            yield Diagnostic.invalid(
                say("{set_value} needs a key"), say("the whole file is written by {create_file}")
            )
        elif target.is_ini:
            from mdplan.operations.ini_keys import line_problems

            yield from line_problems(target.content, found, text)
        if key in (self.dates or ()) and text == new and tree.spelled(str(text)) == text:
            what = say("{dates} names `{}`, whose value is no date", key)
            yield Diagnostic.invalid(what, "send a date such as 2026-01-31")

    def _new(
        self,
        outline: Outline,
        target: Target,
        key: GivenKey,
        found: Found,
        value: Any,  # noqa: ANN401
    ) -> tree.Change:
        """Return the change that creates the missing part of `found`."""
        values = target.content.values
        parent = tree.value_at(values, found.path)
        makes_maps = self.create_if_missing or outline.format is DocumentFormat.MARKDOWN
        if parent is None and makes_maps:
            return tree.KeyChange(found.whole, value)
        if not isinstance(parent, dict):
            is_list = isinstance(parent, list)
            raise Refused(
                key_missing(values, found)
                if is_list
                else other_kind(outline, target, found.path, "a map of keys")
            )
        if len(found.missing) > 1 and not makes_maps:
            problem = or_problem(self.find, outline, target, key)
            assert isinstance(problem, Diagnostic), "it is missing"
            if problem.code is not Code.KEY_NOT_FOUND and not target.is_ini:
                raise Refused(problem)
            raise Refused(with_way_to_create(problem))
        if target.is_ini and not isinstance(value, dict) and self._goes_astray(target, found):
            raise Code.INVALID_ARGUMENT.refused(
                "a key of an INI file goes into a section, as in `section.key`",
                say('{send section=""} for one before the first section'),
            )
        return self._entry(target, found, value)

    def _entry(self, target: Target, found: Found, value: object) -> tree.Change:
        """Return the change that adds `value` where it belongs in the map that was `found`."""
        place = self.place_in(target, found.path, found.missing[0])
        if place is None and (self.after is None or isinstance(value, dict)):
            return tree.KeyChange(found.whole, value)
        place = len(tree.value_at(target.content.values, found.path)) if place is None else place
        for name in reversed(found.missing[1:]):
            value = {name: value}
        return tree.NewEntry(found.path, place, value, found.missing[0])

    def _goes_astray(self, target: Target, found: Found) -> bool:
        """Return True if a new key would be the only one before the sections of an INI file, unasked."""
        first, *sections = target.content.ini.sections
        is_before = not found.path and len(found.missing) == 1
        return is_before and self.section is None and bool(sections) and not first.keys


class DeleteValue(DataOperation):
    """Delete a key with its value, or a list item, of a YAML, JSON, TOML or INI file, or of front matter.

    Comments on its lines are deleted; comments above it stay. A map or list that loses its last entry stays,
    empty; in TOML a table without its own header disappears. `wholeBlock` deletes front matter with its
    fences and the blank lines below, even if it cannot be read.
    """

    example: ClassVar[dict[str, object]] = {"key": "nav[0].Home"}
    satisfied_by: ClassVar = frozenset(
        {Code.KEY_NOT_FOUND, Code.SECTION_NOT_FOUND, Code.FRONT_MATTER_NOT_FOUND}
    )

    op: Literal["delete_value"]
    key: str | tuple[Step, ...] | None = Field(  # type: ignore[assignment]
        default=None, description=str(DataOperation.model_fields["key"].description)
    )
    whole_block: bool = Field(default=False, description="Delete the front matter itself; instead of key.")

    @model_validator(mode="after")
    def _check_choice(self) -> "DeleteValue":
        if (self.key is None) == (not self.whole_block):
            raise ValueError(say("give {key}, or {wholeBlock=true}"))
        if self.whole_block and self.is_guarded:
            raise ValueError(say("{expectedValue} requires {key}"))
        return self

    def resolve(self, outline: Outline) -> Resolution:
        """Return deletion of lines, or of the text between commas. Errors: as `read` and `find`."""
        if self.whole_block:
            return self._without_block(outline)
        target, path = self.find_existing(outline)
        if not path:
            raise Code.INVALID_ARGUMENT.refused(
                say("{delete_value} needs a key"), say("a whole file goes with {delete_file}")
            )
        return self.resolution(outline, target, [(path, "")], [tree.KeyChange(path, tree.REMOVED)])

    def _without_block(self, outline: Outline) -> Resolution:
        if outline.front_matter is None:
            self.read(outline)
            raise Refused(front_matter_edits.no_block(may_create=False))
        span = outline.front_matter.span
        return Resolution(
            claims=(Claim(span=span, owner=None, part=(KEYS,)),),
            deletions=(span,),
            data=DataChanges(removes=True),
        )


class RenameKey(DataOperation):
    """Give a key another name, in a YAML, JSON, TOML or INI file, or in front matter.

    Its value, place and quotes stay. The map must not have a key of that name.
    """

    example: ClassVar[dict[str, object]] = {"key": "nav.Guide", "newName": "Manual"}

    op: Literal["rename_key"]
    new_name: str = Field(min_length=1, description="New name of the key alone, without what is around it.")

    def resolve(self, outline: Outline) -> Resolution:
        """Return one replacement. Errors: as `read` and `find`; INVALID_ARGUMENT."""
        target, path = self.find_existing(outline)
        if not path or not isinstance(path[-1], str):
            raise Code.INVALID_ARGUMENT.refused(
                say("{rename_key} needs the key of a map"), "list items have no names"
            )
        if self.new_name != path[-1] and self.new_name in tree.value_at(target.content.values, path[:-1]):
            taken = shown((*path[:-1], self.new_name))
            raise Code.INVALID_ARGUMENT.refused(f"`{taken}` is there already", "choose another name")
        changes = [] if self.new_name == path[-1] else [tree.NewName(path, self.new_name)]
        return self.resolution(outline, target, [(path, "")], changes)


class DataListOperation(DataOperation):
    """An operation on the items of a list."""

    value: Any = Field(description="Item, or an array of items: strings, numbers or other JSON.")

    @field_validator("value")
    @classmethod
    def _check_value(cls, given: object) -> object:
        return tree.typed_values(checked(given))

    @model_validator(mode="after")
    def _check_items(self) -> "DataListOperation":
        if self.value == []:
            raise ValueError("give an item, or an array of items")
        return self

    def list_at(self, outline: Outline, target: Target, path: tree.Path) -> list[Any]:
        """Return the list at `path`. Errors: INVALID_ARGUMENT for another value."""
        found = tree.value_at(target.content.values, path)
        if not isinstance(found, list):
            raise Refused(other_kind(outline, target, path, "a list"))
        return found

    @property
    def items(self) -> list[Any]:
        """The items to add or remove."""
        return self.value if isinstance(self.value, list) else [self.value]


class AddToList(PlacedOperation, CreatingOperation, DataListOperation):
    """Add items to a list in a YAML, JSON or TOML file, or in front matter.

    They come last, or where `before`, `after` or `inOrder` say. An item that the list has already is not
    added again. The list keeps its style: brackets or dashes, indentation, quotes, comments. The empty key
    `""` is a file that is a list itself. With `createIfMissing` a key that is missing or empty becomes a
    list.
    """

    example: ClassVar[dict[str, object]] = {
        "key": "nav",
        "value": {"Descaling": "descaling.md"},
        "after": "Guide",
    }

    op: Literal["add_to_list"]

    def counted_fields(self, outline: Outline) -> tuple[str, ...]:
        """Return the fields of the base class, without a neighbour in a list with an expected value."""
        neighbours = ("before", "after") if self.is_guarded else ()
        return tuple(name for name in super().counted_fields(outline) if name not in neighbours)

    def resolve(self, outline: Outline) -> Resolution:
        """Insertions; none where the list has all items. Errors: as `read`, `find` and `place_in`."""
        target = self.read(outline)
        found = or_problem(self.find, outline, target, self.key, is_new=self.create_if_missing)
        if isinstance(found, Diagnostic):
            raise Refused(self._with_creation(found) if found.code is Code.KEY_NOT_FOUND else found)
        refuse_if(null_in_toml(target, self.items))
        old = tree.value_at(target.content.values, found.whole)
        if old in (None, tree.REMOVED) and self.create_if_missing:
            change = tree.KeyChange(found.whole, self._new_items(target, []))
            return self.resolution(outline, target, [(found.whole, "")], [change])
        if old is None:
            raise Refused(self._with_creation(other_kind(outline, target, found.path, "a list")))
        known = self.list_at(outline, target, found.path)
        new = self._new_items(target, known)
        changes: list[tree.Change] = [
            tree.NewEntry(found.path, self.place_in(target, found.path, item), item) for item in new
        ]
        parts = [(found.path, item_text(item)) for item in self.items]
        return self.resolution(outline, target, parts, changes)

    def _with_creation(self, problem: Diagnostic) -> Diagnostic:
        """Return `problem` of a missing list, with a hint that would create it."""
        return problem if self.create_if_missing else with_way_to_create(problem, "the list")

    def _new_items(self, target: Target, old: list[Any]) -> list[Any]:
        """Return the items that are not among the `old` ones, each once."""
        new: list[Any] = []
        for item in self.items:
            if not has_item(target, [*old, *new], item):
                new.append(item)
        return new


class RemoveFromList(DataListOperation):
    """Remove items from a list in a YAML, JSON or TOML file, or in front matter.

    Every item equal to a value is removed, with a comment on its lines; values that are not in
    the list are ignored. A list that loses its last item stays as `[]`. To remove one item by its number or
    by a key in it, use delete_value.
    """

    example: ClassVar[dict[str, object]] = {"key": "plugins", "value": "search"}
    satisfied_by: ClassVar = frozenset({Code.KEY_NOT_FOUND, Code.FRONT_MATTER_NOT_FOUND})

    op: Literal["remove_from_list"]

    def resolve(self, outline: Outline) -> Resolution:
        """Deletions; none where no item is in the list. Errors: as `read` and `find`."""
        target, path = self.find_existing(outline)
        old = self.list_at(outline, target, path)
        gone = [
            (*path, index)
            for index, each in enumerate(old)
            if any(has_item(target, [each], item) for item in self.items)
        ]
        changes: list[tree.Change] = [tree.KeyChange(each, tree.REMOVED) for each in gone]
        return self.resolution(outline, target, [(each, "") for each in gone] or [(path, "")], changes)


class MoveItem(PlacedOperation):
    """Move a key or list item among its neighbours, in a YAML, JSON, TOML or INI file, or in front matter.

    It moves `before` or `after` another entry of the same map or list, or with `inOrder` to its sorted
    position. Its text stays byte for byte; in YAML, comments directly above it move too.
    """

    may_stay_last: ClassVar = False
    example: ClassVar[dict[str, object]] = {"key": "nav.Guide", "before": "Home"}
    moves_text: ClassVar = True

    op: Literal["move_item"]

    def resolve(self, outline: Outline) -> Resolution:
        """Return a deletion and an insertion. Errors: as `read`, `find` and `place_in`."""
        target, path = self.find_existing(outline)
        values = target.content.values
        # The only key in the map of a list item stands for that item, as in navigation.
        if len(path) > 1 and isinstance(path[-2], int) and len(tree.value_at(values, path[:-1])) == 1:
            path = path[:-1]
        if not path:
            raise Code.INVALID_ARGUMENT.refused(
                say("{move_item} needs a key"), "name the key or item that moves"
            )
        own, parent = path[-1], path[:-1]
        names = list(tree.value_at(values, parent))
        at = own if isinstance(own, int) else names.index(own)
        place = self.place_in(target, parent, names[at], own)
        number = len(names) if place is None else place
        changes: list[tree.Change] = (
            [] if number in (at, at + 1) else [tree.NewEntry(parent, place, source=own)]
        )
        return self.resolution(outline, target, [(path, "")], changes)


def null_in_toml(target: Target, value: object) -> Iterator[Diagnostic]:
    """Yield INVALID_ARGUMENT where `value` is null, or holds one, and the text is TOML."""
    if target.content.language is tree.Language.TOML and None in scalars_of(value):
        yield Diagnostic.invalid(
            "TOML has no null", say("delete the key with {delete_value}, or give another value")
        )


def has_item(target: Target, items: list[Any], item: object) -> bool:
    """Return True if the JSON value `item` is among the `items` of a file, or of new ones for it."""
    return any(value_matches(target.content.language, each, item) for each in items)


def item_text(item: object) -> str:
    """Return `item` as text, by which two edits that want the same are known."""
    return json.dumps(item, sort_keys=True)
