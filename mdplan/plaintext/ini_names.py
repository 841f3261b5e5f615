"""Checks that names of sections and keys, and values, read back as they were written."""

from mdplan.plaintext.ini_line import has_comment, has_separator


def section_fault(name: str) -> str | None:
    """Why no header can hold `name`, as the end of a sentence about it; None where one can."""
    if "[" in name or "]" in name:
        return "has a bracket in it"
    return _edge_fault(name) or ("has a comment sign in it" if has_comment(f"[{name}]") else None)


def key_fault(name: str) -> str | None:
    """Why no line can contain the key `name`, as the end of a sentence about it; None where one can."""
    if name.startswith("["):
        return "begins with a bracket, as a section does"
    if has_separator(name):
        return "has a sign in it that ends it: `=` or `:`"
    return _edge_fault(name) or ("has a comment sign in it" if has_comment(name) else None)


def value_fault(value: str) -> str | None:
    """Why no line can contain `value`, which may be empty; None where one can."""
    if not value:
        return None
    if has_comment(value):
        return "has `;` or `#` at its start or after white space, where a comment begins"
    return _edge_fault(value)


def _edge_fault(text: str) -> str | None:
    if not text.strip():
        return "is blank"
    if "\n" in text or "\r" in text:
        return "has a line break"
    return "has white space at its edges" if text != text.strip() else None
