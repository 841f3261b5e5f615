from mdplan.approving import approved_only as approved_only
from mdplan.batch_limits import Limits as Limits
from mdplan.diagnostics import Code as Code
from mdplan.diagnostics import Diagnostic as Diagnostic
from mdplan.diagnostics import Severity as Severity
from mdplan.engine import Engine as Engine
from mdplan.history_report import DoctorReport as DoctorReport
from mdplan.history_report import HistoryReport as HistoryReport
from mdplan.history_report import RecoverReport as RecoverReport
from mdplan.plan_report import ApplyReport as ApplyReport
from mdplan.plan_report import PlanReport as PlanReport
from mdplan.read_report import ReadReport as ReadReport
from mdplan.read_report import SearchReport as SearchReport
from mdplan.report import Report as Report
from mdplan.report import to_wire as to_wire
from mdplan.settings import Settings as Settings
from mdplan.stat_report import StatReport as StatReport
from mdplan.storage.durability import Durability as Durability
from mdplan.storage.refusal import StorageRefused as StorageRefused

__version__: str
