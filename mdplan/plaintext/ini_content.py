"""Whether a text is INI, by what is in it."""

from mdplan.plaintext.ini_line import header_name, read_line
from mdplan.text.lines import LineIndex


def looks_like_ini(text: str) -> bool:
    """Whether `text` has a section with a key, and nothing else than headers, keys with ``=``, and comments.

    Indented lines may be anything. A colon counts for nothing here, for it is in prose too, and a header
    has no bracket in its name, so that the lists and arrays of tables of TOML are none.
    """
    if "[" not in text or "=" not in text:
        return False
    lines = LineIndex(text)
    has_header = has_key = False
    for line in range(1, lines.count + 1):
        content = lines.content(line)
        found = read_line(content, 0)
        own = content[found.text.start : found.text.end]
        if not own or found.indent:
            has_key |= has_header and "=" in own
            continue
        name = header_name(own) if own[0] == "[" else None
        if name is not None and own == f"[{name}]" and not {"[", "]"} & set(name):
            has_header = True
        elif own[0] not in "[=" and "=" in own:
            has_key |= has_header
        else:
            return False
    return has_key
