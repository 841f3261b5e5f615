"""Parsers of others over one document, run by their own interpreter: `python rival_parsers.py DOCUMENT`.

For every line of standard input, which names a parser, one line with the seconds of processor time of a run.
"""

import gc
import sys
import time
from collections.abc import Callable
from pathlib import Path

import cmarkgfm
import mistune
from cmarkgfm import cmark
from markdown_it import MarkdownIt

EXTENSIONS = ["table", "tasklist", "strikethrough", "autolink"]


def parsers(text: str) -> dict[str, Callable[[], object]]:
    block = MarkdownIt("commonmark").enable("table")
    block.core.ruler.enableOnly(["normalize", "block"])
    full = MarkdownIt("gfm-like", {"linkify": False})
    ast = mistune.create_markdown(
        renderer=None, plugins=["table", "strikethrough", "task_lists", "footnotes"]
    )
    return {
        "full": lambda: full.parse(text),
        "block": lambda: block.parse(text),
        "cmarkgfm": lambda: cmark.markdown_to_html_with_extensions(
            text, cmarkgfm.Options.CMARK_OPT_SOURCEPOS, extensions=EXTENSIONS
        ),
        "mistune": lambda: ast(text),
    }


def main() -> None:
    actions = parsers(Path(sys.argv[1]).read_bytes().decode())
    for line in sys.stdin:
        gc.collect()
        start = time.process_time()
        actions[line.strip()]()
        print(time.process_time() - start, flush=True)


if __name__ == "__main__":
    main()
