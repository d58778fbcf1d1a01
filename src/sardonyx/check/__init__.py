"""The checker: every fault of a model, at once, with its place, its clause and its cure; and what can be mended."""

from sardonyx.check.api import Diagnostic, Report
from sardonyx.check.checking import check
from sardonyx.check.fixing import fix
from sardonyx.check.mends import Mend

__all__ = ["Diagnostic", "Mend", "Report", "check", "fix"]
