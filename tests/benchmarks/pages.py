"""What a further page costs where one command edits many: a run over many pages less a run over one."""

import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from documents import corpus
from measure import Measure, Part, Timed, against
from process_startup import process
from scratch import scratch_folder

ROUNDS = 3
KEYED, SEARCHED = 300, 2000
LONGEST = 200_000
WORD, NEW = "namespace", "name space"
MANIFEST = """\
files:
  - glob: "**/*.md"
    edits: [{op: set_value, key: reviewed, value: "2026-11-28"}]
"""
SET_KEY = """
import sys, frontmatter
from pathlib import Path
for path in Path(sys.argv[1]).rglob("*.md"):
    post = frontmatter.loads(path.read_bytes().decode())
    post["reviewed"] = "2026-11-28"
    frontmatter.dumps(post)
"""
SUBSTITUTE = f"""
import re, sys
from pathlib import Path
for path in Path(sys.argv[1]).rglob("*.md"):
    text = path.read_bytes().decode("utf-8", "surrogateescape")
    new = re.sub("{WORD}", "{NEW}", text)
    if new != text:
        path.write_bytes(new.encode("utf-8", "surrogateescape"))
"""
HOW = (
    f"CPU seconds of whole processes on real pages; `bot apply --jobs 1` sets a key in {KEYED}, "
    f"`replace --yes` finds a word in a few of {SEARCHED}"
)


def page_parts() -> Iterator[Part]:
    """Everything about further pages."""
    if corpus() is None:
        yield Part("A further page", HOW, (Measure(what="all", missing="there is no corpus"),))
        return
    with scratch_folder() as folder:
        yield Part("A further page", HOW, (set_key(folder), replace_word(folder)))


def set_key(folder: Path) -> Measure:
    """A key in the front matter of each page."""
    sources = [path for path in documents() if path.read_bytes().startswith(b"---\n")]
    trees = Trees(folder / "keyed", sources, KEYED)
    bot = ("-m", "mdplan", "bot", "apply", "{0}/bot.yml", "--root", "{0}", "--jobs", "1")
    found = against(
        "other", {"other": trees.further("-c", SET_KEY, "{0}"), "own": trees.further(*bot)}, ROUNDS
    )
    what = "a front matter key, `bot apply`, against loads and dumps of python-frontmatter"
    return Measure(what=what, ratio=found["own"], bar=15)


def replace_word(folder: Path) -> Measure:
    """A word in all pages, few of which have it."""
    # The first one has it: a word that is nowhere is an error.
    sources = sorted(documents(), key=lambda path: WORD.encode() not in path.read_bytes())
    trees = Trees(folder / "searched", sources, SEARCHED)
    own = ("-m", "mdplan", "replace", WORD, NEW, "**/*.md", "--yes", "--root", "{0}")
    found = against(
        "other", {"other": trees.further("-c", SUBSTITUTE, "{0}"), "own": trees.further(*own)}, ROUNDS
    )
    return Measure(what="a word, `replace`, against read, `re.sub` and write", ratio=found["own"], bar=6.5)


def documents() -> list[Path]:
    """The documents of the corpus that are no rare size."""
    folder = corpus()
    assert folder is not None
    return sorted(path for path in folder.rglob("*.md") if path.stat().st_size < LONGEST)


class Trees:
    """Folders with `count` copies of `sources` and with one, made anew for each run."""

    def __init__(self, folder: Path, sources: Sequence[Path], count: int) -> None:
        self._folder, self._sources, self._count = folder, sources, count

    def further(self, *words: str) -> Timed:
        """Seconds that Python takes with `words` for a page more; `{0}` in them is the folder."""

        def timed() -> float:
            many, one = (self._run(count, words) for count in (self._count, 1))
            return (many - one) / (self._count - 1)

        return timed

    def _run(self, count: int, words: Sequence[str]) -> float:
        shutil.rmtree(self._folder, ignore_errors=True)
        for number in range(count):
            copy, index = divmod(number, len(self._sources))
            target = self._folder / f"copy-{copy}" / f"{index}.md"
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self._sources[index], target)
        (self._folder / "bot.yml").write_text(MANIFEST, encoding="utf-8")
        run: Callable[[], float] = process(
            (sys.executable, *(word.replace("{0}", str(self._folder)) for word in words))
        )
        return run()
