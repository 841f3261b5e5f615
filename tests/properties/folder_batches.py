"""Folders of files that link to each other, and batches on several of them."""

from collections.abc import Iterator, Mapping
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from mdplan.markdown.format_detection import document_format
from mdplan.markdown.outline import Outline
from mdplan.markdown.sections import Section
from mdplan.text.source import DocumentFormat, Source
from tests.properties.batches import OF_FILES, Edit, batch_options, edits
from tests.properties.ini_files import ini_texts
from tests.properties.markdown_documents import documents
from tests.properties.section_edits import addresses

Folder = Mapping[str, Outline]
MARKDOWN_FILES = ("a.md", "b.md", "docs/c.md")
INI_FILE = "k.ini"
_LINKS = (
    "See [b](b.md#install) and [c](docs/c.md).\n",
    "[up](../a.md#use), [own](#guide), ![i](../k.ini)\n",
    "[[b#Use]] and [[docs/c]], [x]\n\n[x]: docs/c.md#guide 'T'\n",
    '<a href="../b.md#faq">b</a> and [gone](no/such.md)\n',
    "[x]: ../a.md\n",
)


def decoded(data: bytes) -> Source:
    """Decode `data` as the engine does; text with a NUL gets an encoding."""
    source = Source.decode(data, "utf-8" if b"\0" in data else None)
    assert isinstance(source, Source), source
    return source


def outline_of(path: str, data: bytes) -> Outline:
    """The outline of the file `path`, as the engine finds its format."""
    source = decoded(data)
    return Outline(source, document_format(path, source.text))


def encoded(text: str) -> bytes:
    """Draw the bytes of a file: UTF-8 with invalid bytes; such a file has no NUL, which would need an
    encoding.
    """
    data = text.encode("utf-8", "surrogateescape")
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.replace(b"\0", b"")
    return data


@st.composite
def folders(draw: DrawFn) -> dict[str, bytes]:
    """Markdown files, some of them with links to each other, and an INI file; by path."""
    tree = {}
    for path in MARKDOWN_FILES:
        links = draw(st.lists(st.sampled_from(_LINKS), max_size=2))
        text = draw(documents())
        tree[path] = encoded(text + "".join("\n" + link for link in links) if links else text)
    return tree | {INI_FILE: draw(ini_texts()).encode()}


@st.composite
def folder_batches(draw: DrawFn, folder: Folder) -> dict[str, Any]:
    """Batch on some files of `folder`, with their base hashes and any options."""
    paths = draw(st.lists(st.sampled_from(sorted(folder)), min_size=1, max_size=3, unique=True))
    files = [draw(_file_edits(folder, path)) for path in paths]
    if draw(st.integers(0, 4)) == 0:
        path = draw(st.sampled_from(["new.md", "docs/d.md", "a/new.ini", "a.md"]))
        if path not in paths:
            files.append({"file": path, "edits": [{"op": "create_file"} | draw(_fields("create_file"))]})
    options = draw(batch_options())
    if any("toFile" in edit for file in files for edit in file["edits"]):
        # Files have no order between them, so such edits are refused with it.
        options.pop("sequential", None)
    return {"files": files} | options


@st.composite
def _file_edits(draw: DrawFn, folder: Folder, path: str) -> dict[str, Any]:
    outline = folder[path]
    found: list[Edit] = []
    kind = draw(st.sampled_from(["edit", "edit", "edit", "move", "move", "rename", "delete"]))
    if kind == "rename":
        found.append({"op": "rename_file"} | draw(_fields("rename_file")))
    if kind == "move" and outline.format is DocumentFormat.MARKDOWN:
        found.append(draw(_moves_to_file(folder, path)))
    if kind == "delete":
        found = [{"op": "delete_file"}]
    else:
        found += draw(st.lists(edits(outline), min_size=not found, max_size=2))
    file = {"file": path, "baseSha256": outline.source.sha256, "edits": found}
    return file | ({"encoding": "utf-8"} if "\0" in outline.source.text else {})


def _fields(op: str) -> SearchStrategy[Edit]:
    return OF_FILES[op](Outline(Source.from_text("")), op)


@st.composite
def _moves_to_file(draw: DrawFn, folder: Folder, path: str) -> Edit:
    """A section that goes to another Markdown file, or nearly."""
    others = [each for each in folder if each != path and folder[each].format is DocumentFormat.MARKDOWN]
    to = draw(st.sampled_from([*others, *others, *others, "no.md"]))
    own = list(_sections(folder[path])) or list(folder[path].every_section())
    edit = {"op": "move_section", "toFile": to} | draw(addresses(folder[path], draw(st.sampled_from(own))))
    if to in folder and draw(st.integers(0, 4)):
        edit["toBaseSha256"] = folder[to].source.sha256
    theirs = list(_sections(folder[to])) if to in folder else []
    if draw(st.booleans()) and theirs:
        edit["toSectionId"] = draw(st.sampled_from(theirs)).section_id
        edit["position"] = draw(st.sampled_from(["before", "after", "firstChild", "lastChild"]))
    return edit


def _sections(outline: Outline) -> Iterator[Section]:
    """Sections that can move."""
    return (section for section in outline.every_section() if section.heading and not section.nested)
