"""The checker: every fault of a model, at once, with its place, its clause and its cure; and what can be mended."""

from sardonyx._src.check.api import Diagnostic, Report
from sardonyx._src.check.checking import check
from sardonyx._src.check.fixing import fix
from sardonyx._src.check.mends import Mend

__all__ = ["Diagnostic", "Mend", "Report", "check", "fix"]
