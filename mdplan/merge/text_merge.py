"""The merge of three texts of one format, with their line ends."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from mdplan.data.tree import Language
from mdplan.merge.conflict_markers import MarkerStyle, Merge
from mdplan.merge.document_merge import first_flaw, merge_documents
from mdplan.merge.git_result import GitResult, compared_with_git
from mdplan.text.source import DocumentFormat

_MARKERS: Final = ("<<<<<<< ", ">>>>>>> ")


def merge_texts(
    file_format: DocumentFormat,
    texts: Sequence[str],
    style: MarkerStyle | None = None,
    *,
    is_strict: bool = False,
    by_git: Callable[[], GitResult] | None = None,
) -> Merge | None:
    """The merge of base, ours and theirs, `texts` without byte order marks; None for what only git merges.

    That is mixed line ends and conflict markers. `by_git` gives git's result, which is used where nothing
    speaks against it. The line ends are those of the side that changed them.
    """
    if not all(map(_can_be_merged, texts)):
        return None
    has_crlf = ["\r\n" in text for text in texts]
    base, ours, theirs = (text.replace("\r\n", "\n") for text in texts)
    style = style or MarkerStyle()
    if file_format is DocumentFormat.MARKDOWN:
        found = merge_documents(base, ours, theirs, style, is_strict=is_strict)
        why_not = partial(first_flaw, base, ours, theirs)
    else:
        # Most files are Markdown: readers of other formats are loaded where one is merged.
        from mdplan.merge.trees.data_merge import merge_data, merge_text_lines

        if file_format is DocumentFormat.TEXT:
            return _with_ends(merge_text_lines(base, ours, theirs, style), has_crlf)
        found = merge_data(Language(file_format), base, ours, theirs, style, is_strict=is_strict)
        why_not = partial(_why_not, found)
    if by_git is not None and len(set(has_crlf)) == 1:
        result = by_git()
        result = replace(result, text=result.text.removeprefix("\ufeff").replace("\r\n", "\n"))
        found = compared_with_git(found, result, why_not, style.size)
    return _with_ends(found, has_crlf)


def _why_not(found: Merge, _: str) -> str:
    """Why git's result of a file of keys is not used: its lines merged in the same way gave other values."""
    if not found.is_clean:
        return found.conflicts[0].reason
    return "the keys would not have the values of both sides" if found.decisions else ""


def _can_be_merged(text: str) -> bool:
    ends = text.count("\r\n")
    return (
        "\0" not in text
        and text.count("\r") == ends
        and ends in {0, text.count("\n")}
        and not any(line.startswith(_MARKERS) for line in text.split("\n"))
    )


def _with_ends(found: Merge, has_crlf: Sequence[bool]) -> Merge:
    base, ours, theirs = has_crlf
    has_ends = theirs if ours == base else ours
    return replace(found, text=found.text.replace("\n", "\r\n")) if has_ends else found
