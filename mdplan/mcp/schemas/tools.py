"""Calls of mdplan's tools with types; `make schemas` writes this file."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypedDict, cast

MdStatArguments = TypedDict("MdStatArguments", {"file": str, "detail": str, "under": str, "depth": int, "limit": int, "cursor": str, "include": list[str], "links": bool, "encoding": str, "format": str, "verbosity": str}, total=False)
MdStatAnswerErrorCandidate = TypedDict("MdStatAnswerErrorCandidate", {"sectionId": str, "startLine": int, "endLine": int}, total=False)
MdStatAnswerError = TypedDict("MdStatAnswerError", {"code": str, "message": str, "hint": str, "file": str, "editIndex": int, "candidates": list[MdStatAnswerErrorCandidate]}, total=False)
MdStatAnswerFrontMatter = TypedDict("MdStatAnswerFrontMatter", {"format": str, "startLine": int, "endLine": int, "keys": list[str]}, total=False)
MdStatAnswerSection = TypedDict("MdStatAnswerSection", {"sectionId": str, "level": int, "startLine": int, "endLine": int, "title": str, "headingPath": list[str], "anchor": str, "sectionSha256": str}, total=False)
MdStatAnswerCodeBlock = TypedDict("MdStatAnswerCodeBlock", {"startLine": int, "endLine": int, "index": int, "language": str, "sectionId": str}, total=False)
MdStatAnswerTable = TypedDict("MdStatAnswerTable", {"index": int, "startLine": int, "endLine": int, "columns": list[str], "rows": int, "sectionId": str}, total=False)
MdStatAnswerList = TypedDict("MdStatAnswerList", {"index": int, "startLine": int, "endLine": int, "items": int, "sectionId": str}, total=False)
MdStatAnswerKey = TypedDict("MdStatAnswerKey", {"key": str, "startLine": int, "endLine": int, "items": int}, total=False)
MdStatAnswerFile = TypedDict("MdStatAnswerFile", {"file": str, "title": str, "sections": int, "baseSha256": str}, total=False)
MdStatAnswerWarning = TypedDict("MdStatAnswerWarning", {"code": str, "message": str, "file": str, "editIndex": int}, total=False)
MdStatAnswer = TypedDict("MdStatAnswer", {"ok": bool, "error": MdStatAnswerError, "file": str, "format": str, "baseSha256": str, "encoding": str, "lineEnds": Mapping[str, Any], "finalNewline": bool, "totalLines": int, "frontMatter": MdStatAnswerFrontMatter, "sections": list[MdStatAnswerSection], "totalSections": int, "codeBlocks": list[MdStatAnswerCodeBlock], "tables": list[MdStatAnswerTable], "lists": list[MdStatAnswerList], "tasks": Mapping[str, Any], "anchors": list[Mapping[str, Any]], "regions": list[Mapping[str, Any]], "links": Mapping[str, Any], "iniSections": list[Mapping[str, Any]], "keys": list[MdStatAnswerKey], "inventoryTotals": Mapping[str, Any], "files": list[MdStatAnswerFile], "totalFiles": int, "nextCursor": str, "warnings": list[MdStatAnswerWarning], "outline": str, "inventory": str}, total=False)
MdReadArguments = TypedDict("MdReadArguments", {"file": str, "encoding": str, "format": str, "sectionId": str, "headingPath": list[str], "heading": str, "anchor": str, "occurrence": int, "subsections": bool, "lines": Any, "codeBlock": Mapping[str, Any], "table": Mapping[str, Any], "list": Mapping[str, Any], "region": str, "frontMatter": bool, "key": str, "match": str, "matchType": str, "caseSensitive": bool, "context": int, "startLine": int, "lastLines": int, "until": str, "targets": list[Mapping[str, Any]], "maxCharacters": int, "cursor": str, "addresses": bool, "verbosity": str}, total=False)
MdReadAnswerErrorCandidate = TypedDict("MdReadAnswerErrorCandidate", {"sectionId": str, "startLine": int, "endLine": int}, total=False)
MdReadAnswerError = TypedDict("MdReadAnswerError", {"code": str, "message": str, "hint": str, "file": str, "editIndex": int, "candidates": list[MdReadAnswerErrorCandidate]}, total=False)
MdReadAnswerResult = TypedDict("MdReadAnswerResult", {"file": str, "baseSha256": str, "startLine": int, "endLine": int, "totalLines": int, "content": str, "sectionId": str, "headingPath": list[str], "sectionSha256": str, "language": str, "truncated": bool, "nextCursor": str, "problem": Mapping[str, Any]}, total=False)
MdReadAnswer = TypedDict("MdReadAnswer", {"ok": bool, "error": MdReadAnswerError, "results": list[MdReadAnswerResult]}, total=False)
MdSearchArguments = TypedDict("MdSearchArguments", {"pattern": str, "file": str, "matchType": str, "caseSensitive": bool, "multiline": bool, "dotAll": bool, "exclude": list[str], "context": int, "limit": int, "where": Mapping[str, Any], "has": list[str], "min": Mapping[str, Any], "filesOnly": bool, "addresses": bool, "respectGitignore": bool, "cursor": str, "encoding": str, "format": str, "verbosity": str}, total=False)
MdSearchAnswerErrorCandidate = TypedDict("MdSearchAnswerErrorCandidate", {"sectionId": str, "startLine": int, "endLine": int}, total=False)
MdSearchAnswerError = TypedDict("MdSearchAnswerError", {"code": str, "message": str, "hint": str, "file": str, "editIndex": int, "candidates": list[MdSearchAnswerErrorCandidate]}, total=False)
MdSearchAnswerFileGroupHit = TypedDict("MdSearchAnswerFileGroupHit", {"line": int, "col": int, "text": str, "within": str, "before": list[str], "behind": list[str], "address": str}, total=False)
MdSearchAnswerFileGroup = TypedDict("MdSearchAnswerFileGroup", {"sectionId": str, "headingPath": list[str], "hits": list[MdSearchAnswerFileGroupHit]}, total=False)
MdSearchAnswerFile = TypedDict("MdSearchAnswerFile", {"file": str, "frontMatter": Mapping[str, Any], "baseSha256": str, "matches": int, "groups": list[MdSearchAnswerFileGroup]}, total=False)
MdSearchAnswerWarning = TypedDict("MdSearchAnswerWarning", {"code": str, "message": str, "file": str, "editIndex": int}, total=False)
MdSearchAnswer = TypedDict("MdSearchAnswer", {"ok": bool, "error": MdSearchAnswerError, "pattern": str, "totalMatches": int, "totalFiles": int, "searchedFiles": int, "files": list[MdSearchAnswerFile], "truncated": bool, "nextCursor": str, "warnings": list[MdSearchAnswerWarning]}, total=False)
MdValidateArguments = TypedDict("MdValidateArguments", {"planIds": list[str], "file": str, "edits": list[Mapping[str, Any]], "files": Any, "title": str, "description": str, "revises": str, "sequential": bool, "updateReferences": str, "verbosity": str}, total=False)
MdValidateAnswerErrorCandidate = TypedDict("MdValidateAnswerErrorCandidate", {"sectionId": str, "startLine": int, "endLine": int}, total=False)
MdValidateAnswerError = TypedDict("MdValidateAnswerError", {"code": str, "message": str, "hint": str, "file": str, "editIndex": int, "candidates": list[MdValidateAnswerErrorCandidate]}, total=False)
MdValidateAnswerFile = TypedDict("MdValidateAnswerFile", {"file": str, "newFile": str, "baseSha256": str, "resultSha256": str, "changed": bool, "linesAdded": int, "linesRemoved": int}, total=False)
MdValidateAnswerEditResult = TypedDict("MdValidateAnswerEditResult", {"editIndex": int, "noOp": bool, "newSectionId": str, "newSectionSha256": str, "matchesFound": int, "matchesReplaced": int}, total=False)
MdValidateAnswerWarning = TypedDict("MdValidateAnswerWarning", {"code": str, "message": str, "file": str, "editIndex": int}, total=False)
MdValidateAnswer = TypedDict("MdValidateAnswer", {"ok": bool, "error": MdValidateAnswerError, "planId": str, "stored": bool, "noOp": bool, "files": list[MdValidateAnswerFile], "diff": str, "diffExact": bool, "diffTruncated": bool, "editsApplied": int, "matchesFound": int, "matchesReplaced": int, "editResults": list[MdValidateAnswerEditResult], "warnings": list[MdValidateAnswerWarning], "review": Mapping[str, Any], "applied": bool, "diffResource": str}, total=False)
MdApplyArgumentsEdit = TypedDict("MdApplyArgumentsEdit", {"op": str, "sectionId": str, "headingPath": list[str], "heading": str, "anchor": str, "occurrence": int, "sectionSha256": str, "list": Mapping[str, Any], "itemOccurrence": int, "item": str, "position": str, "after": str, "before": str, "under": str, "renumber": bool, "unique": bool, "table": Mapping[str, Any], "column": str, "cells": list[str], "section": str, "key": str, "expectedValue": Any, "value": Any, "createIfMissing": bool, "inOrder": bool, "markdown": str, "levels": str, "extent": str, "diff": str, "navigation": str, "title": str, "toBaseSha256": str, "block": str, "kind": str, "expectedText": str, "lines": Any, "region": str, "part": str, "keyColumn": str, "line": Any, "toBlock": str, "toHeadingPath": list[str], "toSectionId": str, "toFile": str, "order": list[str], "newFile": str, "redirect": bool, "newTitle": str, "newName": str, "codeBlock": Mapping[str, Any], "pattern": str, "matchType": str, "caseSensitive": bool, "multiline": bool, "dotAll": bool, "softBreaks": bool, "include": list[str], "exclude": list[str], "matchSelection": Any, "expectedMatchCount": Any, "replacement": str, "range": Mapping[str, Any], "keepSubsections": bool, "serialized": str, "level": int, "subsections": str, "done": bool, "values": Mapping[str, Any], "descending": bool, "ignoreCase": bool, "minLevel": int, "maxLevel": int, "bullet": str, "mode": str, "parentPath": list[str], "row": Mapping[str, Any]}, total=False)
MdApplyArguments = TypedDict("MdApplyArguments", {"planId": str, "planIds": list[str], "file": str, "baseSha256": str, "edits": list[MdApplyArgumentsEdit], "files": Any, "encoding": str, "format": str, "expectedFiles": int, "title": str, "description": str, "revises": str, "where": Mapping[str, Any], "dryRun": bool, "sequential": bool, "accept": list[int], "onStale": str, "backup": bool, "updateReferences": str, "jsonSchema": str, "keep": list[str], "drop": list[str], "refuseOn": list[str], "allowOutlineChange": bool, "allowDuplicateHeadings": bool, "verbosity": str}, total=False)
MdApplyAnswerErrorCandidate = TypedDict("MdApplyAnswerErrorCandidate", {"sectionId": str, "startLine": int, "endLine": int}, total=False)
MdApplyAnswerError = TypedDict("MdApplyAnswerError", {"code": str, "message": str, "hint": str, "file": str, "editIndex": int, "candidates": list[MdApplyAnswerErrorCandidate]}, total=False)
MdApplyAnswerFile = TypedDict("MdApplyAnswerFile", {"file": str, "newFile": str, "baseSha256": str, "resultSha256": str, "changed": bool, "linesAdded": int, "linesRemoved": int}, total=False)
MdApplyAnswerEditResult = TypedDict("MdApplyAnswerEditResult", {"editIndex": int, "noOp": bool, "newSectionId": str, "newSectionSha256": str, "matchesFound": int, "matchesReplaced": int}, total=False)
MdApplyAnswerWarning = TypedDict("MdApplyAnswerWarning", {"code": str, "message": str, "file": str, "editIndex": int}, total=False)
MdApplyAnswer = TypedDict("MdApplyAnswer", {"ok": bool, "error": MdApplyAnswerError, "planId": str, "stored": bool, "noOp": bool, "files": list[MdApplyAnswerFile], "diff": str, "diffExact": bool, "diffTruncated": bool, "editsApplied": int, "matchesFound": int, "matchesReplaced": int, "editResults": list[MdApplyAnswerEditResult], "warnings": list[MdApplyAnswerWarning], "review": Mapping[str, Any], "applied": bool, "alreadyApplied": bool, "rebased": bool, "approved": Mapping[str, Any], "transaction": str, "diffResource": str}, total=False)
MdHistoryArguments = TypedDict("MdHistoryArguments", {"action": str, "transaction": str, "planId": str, "file": str, "limit": int, "dryRun": bool, "onStale": str, "verbosity": str}, total=False)
MdHistoryAnswerErrorCandidate = TypedDict("MdHistoryAnswerErrorCandidate", {"sectionId": str, "startLine": int, "endLine": int}, total=False)
MdHistoryAnswerError = TypedDict("MdHistoryAnswerError", {"code": str, "message": str, "hint": str, "file": str, "editIndex": int, "candidates": list[MdHistoryAnswerErrorCandidate]}, total=False)
MdHistoryAnswerFile = TypedDict("MdHistoryAnswerFile", {"file": str, "newFile": str, "baseSha256": str, "resultSha256": str, "changed": bool, "linesAdded": int, "linesRemoved": int}, total=False)
MdHistoryAnswerWarning = TypedDict("MdHistoryAnswerWarning", {"code": str, "message": str, "file": str, "editIndex": int}, total=False)
MdHistoryAnswerTransactionFile = TypedDict("MdHistoryAnswerTransactionFile", {"file": str, "newFile": str, "baseSha256": str, "resultSha256": str, "changed": bool, "linesAdded": int, "linesRemoved": int}, total=False)
MdHistoryAnswerTransaction = TypedDict("MdHistoryAnswerTransaction", {"transaction": str, "planId": str, "committedAt": float, "actor": str, "title": str, "files": list[MdHistoryAnswerTransactionFile], "undoable": bool, "undoneBy": str, "undoes": str}, total=False)
MdHistoryAnswer = TypedDict("MdHistoryAnswer", {"ok": bool, "error": MdHistoryAnswerError, "planId": str, "files": list[MdHistoryAnswerFile], "diff": str, "diffTruncated": bool, "warnings": list[MdHistoryAnswerWarning], "applied": bool, "transactions": list[MdHistoryAnswerTransaction], "more": bool, "reviews": list[Mapping[str, Any]], "transaction": str, "diffResource": str}, total=False)
NAMES = ("md_stat", "md_read", "md_search", "md_validate", "md_apply", "md_history")


class Tools(Protocol):
    def md_stat(self, arguments: MdStatArguments, /) -> MdStatAnswer: ...
    def md_read(self, arguments: MdReadArguments, /) -> MdReadAnswer: ...
    def md_search(self, arguments: MdSearchArguments, /) -> MdSearchAnswer: ...
    def md_validate(self, arguments: MdValidateArguments, /) -> MdValidateAnswer: ...
    def md_apply(self, arguments: MdApplyArguments, /) -> MdApplyAnswer: ...
    def md_history(self, arguments: MdHistoryArguments, /) -> MdHistoryAnswer: ...


def tools(call: Callable[[str, Mapping[str, Any]], Any]) -> Tools:
    """Return the tools; `call` sends a call of a tool and returns its structured content."""
    calls = {name: lambda arguments, name=name: call(name, arguments) for name in NAMES}
    return cast("Tools", type("Calls", (), {name: staticmethod(each) for name, each in calls.items()}))
