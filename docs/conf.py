"""The site: Sphinx over the pages of this folder, which GitHub shows too.

`make docs` builds it into build/docs. Pages are plain Markdown with relative links; the tables of contents,
which only the site needs, are added here, so that new pages appear automatically.
"""

import os
from html import escape
from pathlib import Path
from typing import Any

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
# Quotes in examples stay as typed.
smartquotes = False
pygments_style = "friendly"

myst_heading_anchors = 4
# A line of a paragraph that begins like a directive or a role of MyST is text, as on GitHub.
myst_disable_syntax = ["colon_fence", "myst_role", "myst_block_break", "myst_target", "substitution"]
# Blocks of commands and output are not programs, so lexers may report errors.
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "furo"
html_title = f"mdplan {version}"
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False

html_static_path = ["_static", "images/social-card.png"]
html_css_files = ["site.css"]
html_search_scorer = str(Path(__file__).parent / "_static" / "scorer.js")
templates_path = ["_templates"]
# The address that the site will have, for the picture that social networks show: they want a whole address.
html_baseurl = os.environ.get("MDPLAN_DOCS_URL", "")
# Versions whose sites are published next to this one, each in a folder of its name: "0.2.0 0.1.0".
html_context = {"versions": os.environ.get("MDPLAN_DOCS_VERSIONS", "").split()}
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/versions.html",
        "sidebar/scroll-end.html",
    ]
}

# For each page, the pages below it: captions with globs. The first match wins.
# Captions are tasks, in order of need.
CONTENTS = {
    "index": {
        "Start": ["tutorial/*", "how-to/install", "how-to/connect-an-agent", "how-to/work-with-an-agent"],
        "Edit": [
            "how-to/edit-in-the-shell",
            "how-to/edit-front-matter",
            "how-to/edit-data-files",
            "how-to/keep-links-right",
            "how-to/edit-a-vault",
            "how-to/use-from-python",
        ],
        "Review, check, undo": [
            "how-to/review-plans",
            "how-to/check-a-change",
            "how-to/repair-broken-links",
            "how-to/undo-a-commit",
            "how-to/recover-after-a-crash",
        ],
        "Automate": ["how-to/run-the-bot-in-ci", "how-to/bot-recipes", "how-to/bot-on-a-branch", "how-to/*"],
        "Reference": [
            "reference/operations",
            "reference/errors",
            "reference/command-line",
            "reference/tools",
            "reference/glossary",
            "reference/*",
        ],
        "Explanation": [
            "explanation/questions",
            "explanation/security-model",
            "explanation/transaction-model",
            "explanation/windows-and-macos",
            "explanation/comparison",
            "explanation/*",
            "adr/README",
        ],
        "Contribute": ["contributing/index", "contributing/*"],
    },
    "adr/README": {"Decisions": ["adr/*"]},
    "reference/operations": {"Operations": ["reference/operations/*"]},
    "reference/errors": {"Codes": ["reference/errors/*"]},
    "reference/tools": {"Toolsets": ["reference/tools/*"]},
}
HERE = Path(__file__).parent
SUMMARY = (HERE / "index.md").read_text(encoding="utf-8").split("**")[1]


def add_contents(app: Sphinx, page: str, text: list[str]) -> None:
    """Put the tables of contents of `page` behind its `text`; Sphinx shows them beside the page."""
    del app
    taken: set[Path] = {HERE / f"{page}.md"}
    for caption, globs in CONTENTS.get(page, {}).items():
        pages = [found for glob in globs for found in sorted(HERE.glob(f"{glob}.md"))]
        new = [found for found in dict.fromkeys(pages) if found not in taken]
        taken.update(new)
        listed = "\n".join(map(entry, new))
        text[0] += f"\n\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{listed}\n```\n"


def entry(page: Path) -> str:
    """Return the entry of `page` in a table of contents, with *How to edit* shortened to *Edit*."""
    name = f"/{page.relative_to(HERE).with_suffix('').as_posix()}"
    with page.open(encoding="utf-8") as lines:
        title = lines.readline().removeprefix("#").strip()
    short = title.removeprefix("How to ")
    return name if short == title else f"{short[:1].upper()}{short[1:]} <{name}>"


def choose_by_scheme(app: Sphinx, document: nodes.document) -> None:
    """Show `NAME-light.png` in the light scheme only, and `NAME-dark.png` in the dark one."""
    del app
    for image in document.findall(nodes.image):
        stem = Path(str(image["uri"])).stem
        image["classes"] += [f"only-{each}" for each in ("light", "dark") if stem.endswith(f"-{each}")]


def add_card(app: Sphinx, page: str, template: str, context: dict[str, Any], document: object) -> None:
    """Name title, summary and picture of a page for social networks, which show them with a link to it."""
    del template, document
    about = {
        "og:type": "website",
        "og:title": f"{context.get('title') or page} - {project}" if page != "index" else project,
        "og:description": SUMMARY,
        "og:image": f"{app.config.html_baseurl}_static/social-card.png",
        "twitter:card": "summary_large_image",
    }
    tags = (f'<meta property="{name}" content="{escape(text)}">' for name, text in about.items())
    context["metatags"] = "\n".join([context.get("metatags", ""), *tags])


def take_files_along(app: Sphinx, document: nodes.document) -> None:
    """Make of links to Markdown that is no page links to copies, as other files have them."""
    for link in list(document.findall(pending_xref)):
        path = HERE / f"{link['reftarget']}.md"
        if link["reftarget"] not in app.env.found_docs and path.is_file():
            target = f"/{os.path.relpath(path, HERE)}"
            link.replace_self(download_reference("", "", *link.children, reftarget=target))


def setup(app: Sphinx) -> None:
    """Register these functions with Sphinx: the latter before it decides which files to copy."""
    app.connect("source-read", add_contents)
    app.connect("doctree-read", take_files_along, priority=100)
    app.connect("doctree-read", choose_by_scheme)
    app.connect("html-page-context", add_card)
