"""The checker: every fault of a model, at once, with its place, its clause and its cure."""

from sardonyx.check.api import Diagnostic, Report
from sardonyx.check.checking import check

__all__ = ["Diagnostic", "Report", "check"]
