"""Unchanged content is parsed once, as long as there is room for it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mdplan.documents.documents import Documents
from mdplan.documents.files import OutlineCache, OutlinedFiles
from mdplan.engine.engine import Engine
from mdplan.markdown.outline import Outline
from mdplan.requests.queries import StatRequest
from mdplan.storage.names import FileName
from mdplan.storage.root import Workspace
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


def test_unchanged_content_returns_the_cached_outline(documents: Documents, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n")
    first = opened(documents)
    (tmp_path / "a.md").write_text("# A\n")

    assert opened(documents) is first


def test_same_content_in_another_encoding_or_format_has_another_outline(
    documents: Documents, tmp_path: Path
) -> None:
    for name in ("a.md", "a.ini"):
        (tmp_path / name).write_text("# é\n", encoding="utf-8")

    assert opened(documents, encoding="latin-1").sections[1].title == "Ã©"
    assert opened(documents).sections[1].title == "é"
    assert len(opened(documents, "a.ini").sections) == 1


def test_number_of_cached_outlines_is_limited() -> None:
    cache = OutlineCache(max_outlines=2)
    for key in ("first", "second", "third"):
        cache.keep(key, outline(4))

    assert [cache.get(key, b"xxxx") is None for key in ("first", "second", "third")] == [True, False, False]


def outline(size: int) -> Outline:
    return Outline(Source.from_text("x" * size))


def test_least_recently_used_outlines_are_evicted() -> None:
    cache = OutlineCache(max_bytes=10)
    first, second, third = outline(4), outline(4), outline(4)
    cache.keep("first", first)
    cache.keep("second", second)
    assert cache.get("first", b"xxxx") is first
    cache.keep("third", third)

    assert [cache.get(key, b"xxxx") for key in ("first", "second", "third")] == [first, None, third]


def test_evicted_outline_frees_its_space() -> None:
    cache = OutlineCache(max_bytes=10)
    for number in range(100):
        cache.keep(number, outline(5))
        cache.keep(number, outline(5))

    assert [number for number in range(100) if cache.get(number, b"xxxxx")] == [98, 99]


def test_latest_version_of_a_file_is_cached() -> None:
    cache = OutlineCache(max_bytes=10)
    first, second = Outline(Source.from_text("one")), Outline(Source.from_text("two"))
    cache.keep("file", first)
    cache.keep("file", second)

    assert (cache.get("file", b"one"), cache.get("file", b"two")) == (None, second)
    assert cache.get("file", b"six") is None


def test_document_larger_than_the_cache_is_not_cached() -> None:
    cache = OutlineCache(max_bytes=10)
    small = outline(1)
    cache.keep("small", small)
    cache.keep("big", outline(11))

    assert cache.get("big", b"x" * 11) is None
    assert cache.get("small", b"x") is small


def test_committed_result_is_not_parsed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.md").write_text("# A\n\nold\n", encoding="utf-8")
    engine = Engine.open([tmp_path])
    edit = {"op": "append_to_section", "heading": "A", "markdown": "## B"}
    sha256 = engine.stat(StatRequest(file="a.md")).base_sha256
    assert engine.apply({"file": "a.md", "baseSha256": sha256, "edits": [edit]}).ok
    monkeypatch.delattr(OutlinedFiles, "outline")

    report = engine.stat(StatRequest(file="a.md"))

    assert [section.level for section in report.sections] == [1, 2]
