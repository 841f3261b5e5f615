"""What `read` gives of a place, what pins an edit of it, and how it is cut; requests are read strictly."""

from textwrap import dedent
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdplan.diagnostics import Code, Diagnostic
from mdplan.markdown.format_detection import document_format
from mdplan.markdown.outline import Outline
from mdplan.reading.read import read_target
from mdplan.reports.read import ReadResult
from mdplan.requests.query_reader import read_read_request
from mdplan.requests.read import ReadRequest, ReadTarget
from mdplan.text.source import Source, sha256_hex
from tests.properties.hostile_markdown import hostile_documents

GUIDE = dedent("""\
    ---
    title: The guide
    ---
    Welcome.

    # Guide

    First words.

    ## Install

    ```sh
    make
    ```

    ~~~
    other
    ~~~

    ### Linux

    Use the package.

    <!-- toc:start -->
    - one
    <!-- toc:end -->

    ## Use

    <a id="deep"></a>
    Turn it on.

    > ## Quoted

    ## Use

    Twice.

    [LOG-1] first
    text
    [LOG-2] second
    """)


def outline(text: str, file: str = "a.md") -> Outline:
    return Outline(Source.from_text(text), document_format(file, text))


def read(text: str = GUIDE, budget: int = 10_000, cursor: str | None = None, **target: Any) -> Any:
    request = read_read_request({"file": "a.md", **target})
    assert isinstance(request, ReadRequest), request
    return read_target("a.md", outline(text), request.targets[0], budget, cursor)


@pytest.mark.parametrize(
    ("target", "first", "last"),
    [
        ({}, 1, 41),
        ({"heading": "Install"}, 10, 27),
        ({"heading": "Install", "subsections": False}, 10, 19),
        ({"heading_path": ("Guide", "Install", "Linux")}, 20, 27),
        ({"heading_path": ()}, 4, 5),
        ({"heading": "Use", "occurrence": 2}, 35, 41),
        ({"heading": "Quoted"}, 33, 33),
        ({"anchor": "linux"}, 20, 27),
        ({"anchor": "#deep"}, 30, 34),
        ({"lines": {"start": 2, "end": 3}}, 2, 3),
        ({"lines": {"start": 40, "end": 99}}, 40, 41),
        ({"code_block": {"index": 0}}, 13, 13),
        ({"code_block": {"language": "sh"}}, 13, 13),
        ({"region": "toc"}, 25, 25),
        ({"front_matter": True}, 1, 3),
        ({"match": "package", "context": 1}, 21, 23),
        ({"match": r"^Tw\w+", "match_type": "regex", "context": 0}, 37, 37),
        ({"match": "PACKAGE", "case_sensitive": False, "context": 0}, 22, 22),
        ({"start_line": 39, "until": r"\[LOG-"}, 39, 40),
        ({"start_line": 41, "until": r"\[LOG-"}, 41, 41),
        ({"start_line": 39, "until": "^text"}, 39, 39),
        ({"start_line": 4, "until": "^$"}, 4, 4),
        ({"start_line": 40}, 40, 41),
        ({"last_lines": 2}, 40, 41),
    ],
)
def test_read_target_resolves_to_its_lines(target: dict[str, Any], first: int, last: int) -> None:
    result = read(**target)

    assert (result.start_line, result.end_line) == (first, last)
    assert result.content == "".join(GUIDE.splitlines(keepends=True)[first - 1 : last])
    assert result.content_exact is True
    assert result.base_sha256 == sha256_hex(GUIDE.encode())
    assert result.total_lines == 41


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ({"heading": "Instal"}, Code.SECTION_NOT_FOUND),
        ({"heading": "Use"}, Code.AMBIGUOUS_HEADING),
        ({"section_id": "0123456789abcdef"}, Code.SECTION_NOT_FOUND),
        ({"anchor": "gone"}, Code.ANCHOR_NOT_FOUND),
        ({"lines": {"start": 42, "end": 43}}, Code.RANGE_OUT_OF_BOUNDS),
        ({"start_line": 42}, Code.RANGE_OUT_OF_BOUNDS),
        ({"code_block": {"index": 2}}, Code.CODE_BLOCK_NOT_FOUND),
        ({"code_block": {"language": "py"}}, Code.CODE_BLOCK_NOT_FOUND),
        ({"region": "news"}, Code.REGION_NOT_FOUND),
        ({"match": "nowhere"}, Code.TEXT_MISMATCH),
        ({"match": "(", "match_type": "regex"}, Code.INVALID_REGEX),
        ({"start_line": 1, "until": "("}, Code.INVALID_REGEX),
    ],
)
def test_missing_read_target_is_refused_with_a_hint(target: dict[str, Any], code: Code) -> None:
    problem = read(**target)

    assert isinstance(problem, Diagnostic)
    assert problem.code is code
    assert problem.hint or problem.candidates


def test_missing_front_matter_is_reported() -> None:
    assert read("# A\n", front_matter=True).code is Code.FRONT_MATTER_NOT_FOUND


@pytest.mark.requirement("read-1")
def test_section_is_returned_with_its_guards() -> None:
    document = outline(GUIDE)
    install = next(section for section in document.sections if section.title == "Install")

    whole = read(heading="Install")
    own = read(heading="Install", subsections=False)

    assert whole.section_id == own.section_id == install.section_id
    assert whole.heading_path == ("Guide", "Install")
    assert whole.section_sha256 == document.section_sha256(install)
    assert document.hashed_part(install, own.section_sha256) == install.body
    assert read(heading="Quoted").section_sha256 is None


def test_empty_code_block_has_no_lines() -> None:
    result = read("```\n```\n", code_block={"index": 0})

    assert (result.start_line, result.end_line, result.content) == (2, 1, "")


def test_code_of_an_unclosed_fence_goes_to_the_end() -> None:
    assert read("```\nx\ny\n", code_block={"index": 0}).content == "x\ny\n"


def test_undecodable_bytes_are_escaped_and_reported() -> None:
    source = Source.decode(b"# A\n\na\xffb\n")
    assert isinstance(source, Source)

    result = read_target("a.md", Outline(source), ReadTarget(file="a.md"), 100)

    assert isinstance(result, ReadResult)
    assert (result.content, result.content_exact) == ("# A\n\na\\xffb\n", False)


def test_text_is_cut_at_a_block_and_a_heading_stays_with_its_text() -> None:
    budget = GUIDE.index("### Linux") + len("### Linux\n\nUse")
    result = read(budget=budget)

    assert result.truncated is True
    assert result.content == GUIDE[: GUIDE.index("### Linux") - 1]
    assert [row.heading for row in result.left_out] == ["### Linux", "## Use", "## Use"]


def test_cursor_of_another_version_is_stale() -> None:
    cursor = read(budget=50).next_cursor

    assert read(GUIDE + "more\n", budget=50, cursor=cursor).code is Code.STALE_BASE
    assert read(budget=50, cursor="7").code is Code.INVALID_ARGUMENT
    assert read(budget=50, cursor=cursor, heading="Install").code is Code.INVALID_ARGUMENT


# What is no Unicode is shown as escapes, and so is not given back.
@given(hostile_documents().map(lambda document: document.replace("\udc80", "")), st.integers(1, 60))
def test_pages_of_a_document_concatenate_to_it(document: str, budget: int) -> None:
    cursor, parts = None, []
    while True:
        result = read(document, budget=budget, cursor=cursor)
        assert isinstance(result, ReadResult)
        parts.append(result.content)
        cursor = result.next_cursor
        if cursor is None:
            break

    assert "".join(parts) == document


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({}, "`file` is missing"),
        ({"file": "a", "heading": "A", "lines": {"start": 1, "end": 2}}, "give one target"),
        ({"file": "a", "until": "x"}, "until requires startLine"),
        ({"file": "a", "occurrence": 2}, "occurrence requires heading"),
        ({"file": "a", "codeBlock": {}}, "give index, language or both"),
        ({"file": "a", "headng": "A"}, "unknown field `headng`"),
        ({"targets": []}, "`targets` is empty"),
        ({"targets": [{"file": "a"}, {"fil": "b"}]}, "targets[1] has an unknown field `fil`"),
        ({"targets": [{"file": "a"}], "heading": "A"}, "the request has an unknown field `heading`"),
        ({"targets": [{"file": "a"}, {"file": "b"}], "cursor": "1"}, "cursor requires one target"),
    ],
)
def test_contradicting_read_request_is_refused(request_: dict[str, Any], message: str) -> None:
    problems = read_read_request(request_)

    assert isinstance(problems, tuple)
    assert any(message in problem.message for problem in problems), problems


def test_file_may_be_given_once_for_all_targets() -> None:
    request = read_read_request(
        {"path": "a.md", "targets": [{"lines": {"start": 1, "end": 1}}, {"file": "b"}]}
    )

    assert isinstance(request, ReadRequest)
    assert [target.file for target in request.targets] == ["a.md", "b"]


def test_values_in_json_text_are_decoded() -> None:
    request = read_read_request({"file": "a.md", "lines": '{"start": 1, "end": 2}'})

    assert isinstance(request, ReadRequest)
    assert request.targets[0].lines is not None
