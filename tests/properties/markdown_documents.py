"""Documents as people write them, with hostile parts in between, and text to write into them."""

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tests.properties.hostile_markdown import hostile_documents
from tests.support.case_tables import CaseTables

CASE_TABLES = CaseTables(__file__)


_TITLES = ("Guide", "Install", "Use", "`Use` it", "FAQ", "Install", "v1.0 & more")
_BLOCKS = CASE_TABLES.value("_BLOCKS", tuples=True)
# A section with everything except headings that operations can name.
_EVERY_KIND = CASE_TABLES.value("_EVERY_KIND")
_ENDINGS = CASE_TABLES.value("_ENDINGS", tuples=True)
_FRONT_MATTER = (
    *("", "", ""),
    "---\ntitle: T\n---\n\n",
    "---\ntitle: T # note\ntags: [a, 'b']\nauthor:\n  name: x\n  k: 2024-01-02\nlist:\n- a\n- b\n---\n\n",
    "+++\na = 1\n+++\n",
    '+++\ntags = ["a", "b"]\n[author]\nname = "x" # note\n+++\n\n',
)
_LINE_ENDS = ("\n", "\n", "\n", "\r\n", "\r")


def _first_lines(text: str) -> str:
    return "".join(f"{line}\n" for line in text.split("\n")[:4])


_few_hostile_lines = hostile_documents(("\n",)).map(_first_lines)


@st.composite
def _sections(draw: DrawFn) -> str:
    marks = draw(st.sampled_from(["#", "##", "##", "###", "####", "######", "===", "---"]))
    title = draw(st.sampled_from(_TITLES))
    heading = f"{title}\n{marks}\n" if marks[0] in "=-" else f"{marks} {title}\n"
    blocks = draw(st.lists(st.sampled_from(_BLOCKS), max_size=4))
    return "\n".join([heading, *blocks]) + draw(st.sampled_from(["\n", "\n", "", "\n\n"]))


@st.composite
def documents(draw: DrawFn) -> str:
    """Sections, with hostile lines among some of them; every kind of line end, and some without the last."""
    parts = _sections() | _sections() | _sections() | _few_hostile_lines | st.just(_EVERY_KIND)
    text = draw(st.sampled_from(_FRONT_MATTER)) + draw(st.sampled_from(["", "Before all.\n\n"]))
    text += "".join(draw(st.lists(parts, min_size=draw(st.integers(0, 2)), max_size=5))) + draw(
        st.sampled_from(_ENDINGS)
    )
    if draw(st.integers(0, 7)) == 0:
        text = text.removesuffix("\n")
    return text.replace("\n", draw(st.sampled_from(_LINE_ENDS)))


payload_blocks = st.sampled_from((*_BLOCKS, "New text.\n", "- three\n", "| 3 | 4 |\n", "Line 1\r\nLine 2"))
# Text that came over the wire is Unicode, and a NUL in it is refused.
hostile_payloads = _few_hostile_lines.map(lambda text: text.replace("\udc80", "?").replace("\0", "!"))
_payload_sections = st.builds(
    "{} {}\n\n{}".format, st.sampled_from(["#", "##", "####"]), st.sampled_from(_TITLES), payload_blocks
)
new_sections = st.builds(
    "{} {}\n\n{}".format,
    st.sampled_from(["#", "##", "###"]),
    st.sampled_from(["New", "Newer"]),
    payload_blocks,
)
payloads = st.one_of(
    payload_blocks,
    payload_blocks,
    new_sections,
    new_sections,
    _payload_sections,
    st.builds(str.__add__, payload_blocks, new_sections),
    hostile_payloads,
)
