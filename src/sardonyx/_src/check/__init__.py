"""The checker: reports every violation of a model with its location, clause and cure, and fixes unambiguous ones."""

from sardonyx._src.check.driver.checking import check
from sardonyx._src.check.driver.fixing import fix
from sardonyx._src.check.engine.api import Diagnostic, Report
from sardonyx._src.check.fixing.api import AppliedFix

__all__ = ["AppliedFix", "Diagnostic", "Report", "check", "fix"]
