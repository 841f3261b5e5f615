"""git's own merge of the same texts: when it is used in place of ours."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from mdplan.merge.conflict_markers import Merge

GIT_IS_CLEAN: Final = "git's result is used: no rule for Markdown asks for another one"
GIT_IS_WRONG: Final = "git's result is not used: {}"
GIT_IS_SMALLER: Final = "git's conflict markers are used: they mark fewer lines"


@dataclass(frozen=True, slots=True)
class GitResult:
    """The result of `git merge-file`, and whether it has no conflicts."""

    text: str
    is_clean: bool

    def marked_lines(self, marker_size: int) -> int:
        """Lines of both sides between the markers; those of the base do not count."""
        count, is_inside = 0, False
        starts, ends = (f"{mark * marker_size} " for mark in "<>")
        base, sides = "|" * marker_size, "=" * marker_size
        for line in self.text.split("\n"):
            if line.startswith((ends, f"{base} ")) or line == base:
                is_inside = False
            elif line.startswith(starts) or line == sides:
                is_inside = True
            else:
                count += is_inside
        return count


def compared_with_git(found: Merge, git: GitResult, why_not: Callable[[str], str], marker_size: int) -> Merge:
    """`found` or, where nothing speaks against it, the result of git for the same texts.

    `why_not` says what is wrong with a clean result of git. Where both conflict, git's markers are used if
    they mark fewer lines; `conflicts` stay those of `found`.
    """
    if git.text == found.text:
        return found
    if git.is_clean:
        reason = why_not(git.text)
        return (
            replace(found, note=GIT_IS_WRONG.format(reason)) if reason else Merge(git.text, (), GIT_IS_CLEAN)
        )
    marked = sum(each.ours.count("\n") + each.theirs.count("\n") for each in found.conflicts)
    if marked > git.marked_lines(marker_size):
        return Merge(git.text, found.conflicts, GIT_IS_SMALLER)
    return found
