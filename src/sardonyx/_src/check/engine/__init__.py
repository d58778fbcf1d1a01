"""The engine of the checker: rules, their context and what they report.

The package exports what a rule needs.
"""

from sardonyx._src.check.engine.api import Finding, Severity, rule
from sardonyx._src.check.engine.context import RuleContext

__all__ = ["Finding", "RuleContext", "Severity", "rule"]
