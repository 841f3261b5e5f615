"""A plan as a comment on a pull request: it fits, folds, and nothing in it breaks out of its code."""

import html.parser
from pathlib import Path

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options
from hypothesis import given
from hypothesis import strategies as st

from mdplan.cli.views import markdown_comment
from mdplan.engine.engine import Engine
from mdplan.engine.reviews import OpenPlan, ReviewService

GOLDEN = Path(__file__).parent / "comments"
GITHUB_LIMIT = 65_536
TAGS = {
    "code", "details", "h3", "li", "p", "pre", "strong", "summary", "table", "tbody", "td", "th", "thead",
    "tr", "ul",
}  # fmt: skip
# Each stands in the place of EVIL@x: it tries to end its block, to link, to mention, to run.
HOSTILE = [
    "```\n\n@EVIL",
    "``````` </details> EVIL",
    "</code></summary></details><script>EVIL</script>",
    "<img src=x onerror=EVIL>",
    "[EVIL](http://EVIL) https://EVIL.example #1 GH-1 @EVIL",
    "| EVIL | ` EVIL ` |",
    "\x1b[31mEVIL\x07\u202eEVIL",
    "EVIL\u2028@EVIL\x0b@EVIL",
    "~~~\nEVIL\n~~~",
    "&#64;EVIL &lt;EVIL",
]


class Outside(html.parser.HTMLParser):
    """Collects the tags of a page, and the text that stands in no code."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)
        self.depth += tag == "code"

    def handle_endtag(self, tag: str) -> None:
        self.depth -= tag == "code"

    def handle_data(self, data: str) -> None:
        if not self.depth:
            self.text += data


def outside_of_code(comment: str) -> Outside:
    """What GitHub would make of `comment`, as far as cmark-gfm, which it uses, makes it."""
    page = Outside()
    page.feed(cmarkgfm.github_flavored_markdown_to_html(comment, Options.CMARK_OPT_UNSAFE))
    return page


def opened(root: Path, *files: object, **options: object) -> OpenPlan:
    engine = Engine.open([root])
    report = engine.plan({"files": list(files), **options})
    assert report.ok, report.error
    found = ReviewService(engine).open(report.plan_id)
    assert isinstance(found, OpenPlan)
    return found


def comment_of(plan: OpenPlan) -> str:
    return markdown_comment(plan.review, plan.file)


def hostile_plan(root: Path, text: str) -> OpenPlan:
    """A plan in which `text` is the base, what is looked for, what is written, and a heading."""
    title = " ".join(text.split("\n"))
    (root / "a.md").write_bytes(f"# {title}\n\nold {text}\n\nlast".encode())
    edits = [
        {"op": "replace_match", "pattern": "old", "replacement": text},
        {"op": "replace_match", "pattern": text, "replacement": "gone", "matchSelection": "all",
         "include": ["html", "linkDestinations", "codeBlocks", "inlineCode", "images"], "minMatches": 0},
        {"op": "append_to_file", "markdown": text},
    ]  # fmt: skip
    files = [
        {"file": "a.md", "edits": edits},
        {"file": "b.md", "edits": [{"op": "create_file", "markdown": "b"}]},
    ]
    return opened(root, *files, allowOutlineChange=True, allowDuplicateHeadings=True, sequential=True)


@pytest.mark.requirement("review-3")
@pytest.mark.parametrize("text", HOSTILE)
def test_text_of_files_and_callers_stays_in_code(tmp_path: Path, text: str) -> None:
    comment = comment_of(hostile_plan(tmp_path, text))

    page = outside_of_code(comment)
    assert "EVIL" in comment
    assert "EVIL" not in page.text
    assert page.tags <= TAGS
    assert page.attributes <= {"open", "lang", "class"}
    assert not {character for character in comment if ord(character) < 32} - {"\n", "\t"}
    assert not set("\u202e\u2028\x07\x1b") & set(comment)


@pytest.mark.parametrize(
    "name", ["a`b``c.md", "a|b.md", "@EVIL.md", "a]EVIL(x.md", "a&amp;EVIL.md", "<EVIL>.md"]
)
def test_names_of_files_stay_in_code(tmp_path: Path, name: str) -> None:
    create = {"op": "create_file", "markdown": "x"}
    comment = comment_of(
        opened(tmp_path, {"file": name, "edits": [create]}, {"file": "b.md", "edits": [create]})
    )

    page = outside_of_code(comment)
    assert "EVIL" not in page.text
    assert page.tags <= TAGS


@given(text=st.text(alphabet="`~\\<>&|@#[]()*_\n !ab-", min_size=1, max_size=40))
def test_any_text_stays_in_code(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    root = tmp_path_factory.mktemp("root")
    (root / "a.md").write_text("old\n")
    edit = {"op": "replace_range", "range": {"start": {"line": 1, "col": 1}, "end": {"line": 1, "col": 4}},
            "expectedText": "old", "replacement": f"EVIL{text}EVIL"}  # fmt: skip
    plan = opened(root, {"file": "a.md", "edits": [edit]}, allowOutlineChange=True)

    page = outside_of_code(comment_of(plan))
    assert "EVIL" not in page.text
    assert page.tags <= TAGS


@pytest.mark.slow
def test_long_plan_is_shortened_and_names_omitted_files(tmp_path: Path) -> None:
    files = []
    for number in range(300):
        (tmp_path / f"{number}.md").write_text("old 😀 text\n" * 50)
        edit = {"op": "replace_match", "pattern": "old", "replacement": "new", "matchSelection": "all"}
        files.append({"file": f"{number}.md", "edits": [edit]})

    comment = comment_of(opened(tmp_path, *files))

    assert len(comment.encode("utf-16-le")) // 2 <= GITHUB_LIMIT
    assert len(comment) > GITHUB_LIMIT * 0.7
    assert "| and 200 more | | | |" in comment
    assert "files not shown: `mdplan show sha256-" in comment
    assert comment.count("<details") == comment.count("</details>") > 5
    assert comment.count("```") % 2 == 0


def test_small_files_are_shown_after_one_that_does_not_fit(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(f"old {'x' * GITHUB_LIMIT}\n")
    (tmp_path / "b.md").write_text("old\n")
    edit = {"op": "replace_match", "pattern": "old", "replacement": "new"}

    comment = comment_of(opened(tmp_path, *({"file": name, "edits": [edit]} for name in ("a.md", "b.md"))))

    assert len(comment) <= GITHUB_LIMIT
    assert "<summary><code>b.md</code>" in comment
    assert "1 file not shown: `mdplan show sha256-" in comment
    assert comment.endswith("\n\n- `a.md`\n")


def test_list_of_omitted_files_ends_with_their_number(tmp_path: Path) -> None:
    text = "x" * 9_000
    names = [f"{number:03}-{'n' * 80}.md" for number in range(60)]
    for name in names:
        (tmp_path / name).write_text(f"old {text}\n")
    edit = {"op": "replace_match", "pattern": "old", "replacement": "new"}

    comment = comment_of(opened(tmp_path, *({"file": name, "edits": [edit]} for name in names)))

    assert len(comment) <= GITHUB_LIMIT
    shown, listed = comment.count("<summary>"), comment.partition("files not shown")[2].count("- `")
    assert f"\n- and {len(names) - shown - listed} more\n" in comment


@pytest.mark.slow
def test_long_file_is_folded_and_cut_between_hunks(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("".join(f"old {number}\n\n" + "same\n\n" * 8 for number in range(2000)))
    edit = {"op": "replace_match", "pattern": "old", "replacement": "new", "matchSelection": "all"}

    comment = comment_of(opened(tmp_path, {"file": "a.md", "edits": [edit]}))

    assert len(comment) <= GITHUB_LIMIT
    assert "<details>\n<summary><code>a.md</code>" in comment
    assert "hunks not shown" in comment
    assert outside_of_code(comment).tags <= TAGS


@pytest.mark.parametrize("name", ["small"])
def test_comment_matches_its_snapshot(tmp_path: Path, name: str, update_cases: bool) -> None:
    (tmp_path / "guide.md").write_bytes(
        b"# Guide\n\nThe nightly build.\n\n[use](#use)\n\n## Use\n\nUse it.\n"
    )
    edits = [
        {"op": "replace_match", "pattern": "nightly", "replacement": "stable"},
        {"op": "rename_heading", "headingPath": ["Use"], "newTitle": "Usage"},
    ]
    create = {"op": "create_file", "markdown": "# New | `page`"}
    plan = opened(tmp_path, {"file": "guide.md", "edits": edits}, {"file": "new.md", "edits": [create]})
    path = GOLDEN / f"{name}.md"
    if update_cases:
        path.parent.mkdir(exist_ok=True)
        path.write_text(comment_of(plan))

    assert comment_of(plan) == path.read_text()
