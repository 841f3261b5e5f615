from mdplan.diagnostics import Code as Code
from mdplan.diagnostics import Diagnostic as Diagnostic
from mdplan.diagnostics import Refused as Refused
from mdplan.diagnostics import Severity as Severity
from mdplan.engine.approval import approved_only as approved_only
from mdplan.engine.async_engine import AsyncEngine as AsyncEngine
from mdplan.engine.engine import Engine as Engine
from mdplan.limits import Limits as Limits
from mdplan.mcp.toolsets import tools as tools
from mdplan.memory import Document as Document
from mdplan.memory import DocumentReport as DocumentReport
from mdplan.memory import DocumentSection as DocumentSection
from mdplan.memory import reconcile as reconcile
from mdplan.reports.base import Report as Report
from mdplan.reports.base import to_wire as to_wire
from mdplan.reports.history import DoctorReport as DoctorReport
from mdplan.reports.history import HistoryReport as HistoryReport
from mdplan.reports.history import RecoverReport as RecoverReport
from mdplan.reports.plan import ApplyReport as ApplyReport
from mdplan.reports.plan import PlanReport as PlanReport
from mdplan.reports.read import ReadReport as ReadReport
from mdplan.reports.read import SearchReport as SearchReport
from mdplan.reports.stat import StatReport as StatReport
from mdplan.settings import Settings as Settings
from mdplan.storage.filesystem import Durability as Durability
from mdplan.storage.filesystem import StorageRefused as StorageRefused

__version__: str
