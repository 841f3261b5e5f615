"""The verbs that look at files and change nothing."""

from mdplan.diagnostics import Diagnostic
from mdplan.documents import Documents
from mdplan.markdown.outline import Outline
from mdplan.reading.folder import folder_report
from mdplan.reading.stat import stat_report
from mdplan.reading.stat_request import StatRequest
from mdplan.report import StatReport, refusal


class Reader:
    """Reports on `documents`."""

    def __init__(self, documents: Documents) -> None:
        """Read files through `documents`, with its limits."""
        self.documents = documents
        self.workspace = documents.workspace

    def stat(self, request: StatRequest) -> StatReport:
        """Structure of one file, or one row for each file of a folder or glob; never content."""
        if self.workspace.is_several(request.file):
            return self._stat_folder(request)
        name = self.workspace.locate(request.file)
        if isinstance(name, Diagnostic):
            return refusal(StatReport, (name,))
        outline = self.documents.open(name, request.encoding, request.format)
        if isinstance(outline, Diagnostic):
            return refusal(StatReport, (outline,))
        return stat_report(str(name), outline, request)

    def _stat_folder(self, request: StatRequest) -> StatReport:
        names = self.workspace.iter_files(request.file)
        if isinstance(names, Diagnostic):
            return refusal(StatReport, (names,))
        by_path = {str(name): name for name in names}

        def read(path: str) -> Outline | Diagnostic:
            return self.documents.open(by_path[path], request.encoding, request.format)

        return folder_report(request, by_path, read)
