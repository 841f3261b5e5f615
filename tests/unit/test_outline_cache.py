"""Unchanged content is parsed once, as long as there is room for it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mdplan.documents.documents import Documents
from mdplan.documents.files import OutlineCache, OutlinedFiles
from mdplan.engine.engine import Engine
from mdplan.markdown.outline.outline import Outline
from mdplan.requests.stat import StatRequest
from mdplan.storage.fs.file_name import FileName
from mdplan.storage.workspace import Workspace
from mdplan.text.source import Source


@pytest.fixture
def documents(tmp_path: Path) -> Iterator[Documents]:
    workspace = Workspace.open([tmp_path])
    yield Documents(workspace, max_file_bytes=1000, max_lines=100)
    workspace.close()


def opened(documents: Documents, file: str = "a.md", encoding: str | None = None) -> Outline:
    name = documents.workspace.locate(file)
    assert isinstance(name, FileName)
    outline = documents.open(name, encoding, None)
    assert isinstance(outline, Outline)
    return outline


def test_content_that_did_not_change_has_the_same_outline(documents: Documents, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n")
    first = opened(documents)
    (tmp_path / "a.md").write_text("# A\n")

    assert opened(documents) is first


def test_content_that_changed_has_another_outline(documents: Documents, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n")
    first = opened(documents)
    (tmp_path / "a.md").write_text("# B\n")

    assert opened(documents) is not first
    assert opened(documents).sections[1].title == "B"


def test_the_same_content_in_another_encoding_or_format_has_another_outline(
    documents: Documents, tmp_path: Path
) -> None:
    for name in ("a.md", "a.ini"):
        (tmp_path / name).write_text("# é\n", encoding="utf-8")

    assert opened(documents, encoding="latin-1").sections[1].title == "Ã©"
    assert opened(documents).sections[1].title == "é"
    assert len(opened(documents, "a.ini").sections) == 1


def test_short_documents_make_room_by_their_number() -> None:
    cache = OutlineCache(max_outlines=2)
    for key in ("first", "second", "third"):
        cache.keep(key, outline(4))

    assert [cache.get(key, b"xxxx") is None for key in ("first", "second", "third")] == [True, False, False]


def outline(size: int) -> Outline:
    return Outline(Source.from_text("x" * size))


def test_those_that_were_asked_for_longest_ago_make_room() -> None:
    cache = OutlineCache(max_bytes=10)
    first, second, third = outline(4), outline(4), outline(4)
    cache.keep("first", first)
    cache.keep("second", second)
    assert cache.get("first", b"xxxx") is first
    cache.keep("third", third)

    assert [cache.get(key, b"xxxx") for key in ("first", "second", "third")] == [first, None, third]


def test_room_is_free_again_when_an_outline_goes() -> None:
    cache = OutlineCache(max_bytes=10)
    for number in range(100):
        cache.keep(number, outline(5))
        cache.keep(number, outline(5))

    assert [number for number in range(100) if cache.get(number, b"xxxxx")] == [98, 99]


def test_of_equally_long_documents_of_one_file_the_last_one_is_kept() -> None:
    cache = OutlineCache(max_bytes=10)
    first, second = Outline(Source.from_text("one")), Outline(Source.from_text("two"))
    cache.keep("file", first)
    cache.keep("file", second)

    assert (cache.get("file", b"one"), cache.get("file", b"two")) == (None, second)
    assert cache.get("file", b"six") is None


def test_a_document_that_is_bigger_than_all_room_is_not_kept() -> None:
    cache = OutlineCache(max_bytes=10)
    small = outline(1)
    cache.keep("small", small)
    cache.keep("big", outline(11))

    assert cache.get("big", b"x" * 11) is None
    assert cache.get("small", b"x") is small


def test_a_result_that_was_committed_is_not_parsed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.md").write_text("# A\n\nold\n", encoding="utf-8")
    engine = Engine.open([tmp_path])
    edit = {"op": "append_to_section", "heading": "A", "markdown": "## B"}
    sha256 = engine.stat(StatRequest(file="a.md")).base_sha256
    assert engine.apply({"file": "a.md", "baseSha256": sha256, "edits": [edit]}).ok
    monkeypatch.delattr(OutlinedFiles, "outline")

    report = engine.stat(StatRequest(file="a.md"))

    assert [section.level for section in report.sections] == [1, 2]
