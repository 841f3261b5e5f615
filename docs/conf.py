"""The site: Sphinx over the pages of this folder, which are read on GitHub as well.

`make docs` builds it into build/docs. Pages are plain Markdown with relative links; what only the site needs,
the tables of contents, is added here, so that a new page appears by itself.
"""

import os
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import download_reference, pending_xref
from sphinx.application import Sphinx

from mdplan import __version__

project = "mdplan"
author = "the authors of mdplan"
version = release = __version__

extensions = ["myst_parser"]
exclude_patterns = ["samples"]
nitpicky = True
# Quotes in examples are those that are typed.
smartquotes = False
pygments_style = "friendly"

myst_heading_anchors = 4
# A line of a paragraph that begins like a directive or a role of MyST is text, as on GitHub.
myst_disable_syntax = ["colon_fence", "myst_role", "myst_block_break", "myst_target", "substitution"]
# Blocks of commands and of what they print are no programs, and a lexer may find fault with them.
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "furo"
html_title = f"mdplan {version}"
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False

# For a page, the pages below it: captions with globs. The first that names a page has it.
CONTENTS = {
    "index": {
        "Tutorial": ["tutorial/*"],
        # In order of need, then the rest.
        "How to": [
            "how-to/install",
            "how-to/connect-an-agent",
            "how-to/work-with-an-agent",
            "how-to/edit-*",
            "how-to/undo-a-commit",
            "how-to/review-plans",
            "how-to/keep-links-right",
            "how-to/check-a-change",
            "how-to/*bot*",
            "how-to/*",
        ],
        "Reference": ["reference/operations", "reference/errors", "reference/semantics-rules", "reference/*"],
        "Explanation": ["explanation/architecture", "explanation/*", "adr/README"],
        "Contributing": ["contributing/index", "contributing/*"],
    },
    "adr/README": {"Decisions": ["adr/*"]},
    "reference/operations": {"Operations": ["reference/operations/*"]},
    "reference/errors": {"Codes": ["reference/errors/*"]},
    "reference/tools": {"Toolsets": ["reference/tools/*"]},
}
HERE = Path(__file__).parent


def add_contents(app: Sphinx, page: str, text: list[str]) -> None:
    """Put the tables of contents of `page` behind its `text`; Sphinx shows them beside the page."""
    del app
    for caption, globs in CONTENTS.get(page, {}).items():
        listed = "\n".join(f"/{glob}" for glob in globs if list(HERE.glob(f"{glob}.md")))
        text[0] += f"\n\n```{{toctree}}\n:hidden:\n:glob:\n:caption: {caption}\n\n{listed}\n```\n"


def take_files_along(app: Sphinx, document: nodes.document) -> None:
    """Make of links to Markdown that is no page links to copies, as other files have them."""
    for link in list(document.findall(pending_xref)):
        path = HERE / f"{link['reftarget']}.md"
        if link["reftarget"] not in app.env.found_docs and path.is_file():
            target = f"/{os.path.relpath(path, HERE)}"
            link.replace_self(download_reference("", "", *link.children, reftarget=target))


def setup(app: Sphinx) -> None:
    """Tell Sphinx of what is done here: the latter before it looks which files to copy."""
    app.connect("source-read", add_contents)
    app.connect("doctree-read", take_files_along, priority=100)
