"""Diffs in a batch: each file that one names becomes an entry of the batch with an edit of its own."""

import hashlib
from typing import TYPE_CHECKING, Any, Final

from mdplan.diagnostics import Diagnostic

# Few batches contain a diff.
if TYPE_CHECKING:
    from mdplan.text.unified_diff import FileDiff

_NAMED: Final = "name the file in its header, as in `--- a/docs/guide.md` and `+++ b/docs/guide.md`"


def fold_diff(fields: dict[str, Any], files: object) -> tuple[dict[str, Any], Any, Diagnostic | None]:
    """The `fields` of a batch without its `diff`, which becomes an edit of its one file, or part of `files`.

    Errors: INVALID_ARGUMENT for what is not a diff, or cannot be made by edits.
    """
    if "file" in fields or fields.get("diff") is None:
        return with_diff_as_edit(fields), files, None
    fields = dict(fields)
    spread = _spread(fields.pop("diff"))
    if isinstance(spread, Diagnostic):
        return fields, files, spread
    if files is None or isinstance(files, list):
        files = [*(files or []), *spread]
    return fields, files, None


def with_diff_as_edit(entry: Any) -> Any:  # noqa: ANN401 (any JSON)
    """The `entry` of one file with its `diff`, if it has one, as the last of its edits."""
    if not isinstance(entry, dict) or "diff" not in entry:
        return entry
    fields = {name: value for name, value in entry.items() if name != "diff"}
    if entry["diff"] is None:
        return fields
    edits = fields.get("edits") or []
    if not isinstance(edits, list):
        return entry
    return {**fields, "edits": [*edits, {"op": "apply_diff", "diff": entry["diff"]}]}


def _spread(diff: object) -> list[dict[str, Any]] | Diagnostic:
    """Entries of a batch, as decoded JSON, for all files of `diff`."""
    from mdplan.text.unified_diff import NotADiff, read_diff

    files = read_diff(diff) if isinstance(diff, str) else NotADiff("it is not a string", "send its text")
    if isinstance(files, NotADiff):
        return Diagnostic.invalid(f"diff is not a unified diff: {files.reason}", files.hint)
    problem = next((found for found in map(_obstacle, files) if found is not None), None)
    return problem or [{"file": file.old_name or file.new_name, **_entry(file)} for file in files]


def _obstacle(file: "FileDiff") -> Diagnostic | None:
    """What keeps `file` of a diff from becoming an entry of a batch."""
    names = {file.old_name, file.new_name} - {None}
    if not names:
        return Diagnostic.invalid("diff has hunks of a file that it does not name", _NAMED)
    if file.obstacle is not None:
        return Diagnostic.invalid(
            f"diff {file.obstacle}, and only text can be edited", "leave that file out of it"
        )
    if len(names) > 1 and not file.renames:
        return Diagnostic.invalid("diff has a header that names two files, and renames none", _NAMED)
    return None


def _entry(file: "FileDiff") -> dict[str, Any]:
    """Pin and edits of `file` of a diff."""
    if file.creates:
        text = "".join(hunk.new for hunk in file.hunks)
        return {"edits": [{"op": "create_file", "markdown": text}]}
    if file.deletes:
        # The diff shows all that goes, which is as good as the hash of the file.
        digest = hashlib.sha256("".join(hunk.old for hunk in file.hunks).encode()).hexdigest()
        return {"baseSha256": digest, "edits": [{"op": "delete_file"}]}
    if not file.renames:
        return {"edits": [{"op": "apply_diff", "diff": file.source}]}
    hunks = file.source.partition("\n@@ ")
    changes = [{"op": "apply_diff", "diff": f"@@ {hunks[2]}"}] if file.hunks else []
    return {"edits": [{"op": "rename_file", "newFile": file.new_name}, *changes]}
