"""`diff`: the differences between two models."""

from sardonyx._src.tools.diff.difference import DIFFERENCE_KINDS, Difference
from sardonyx._src.tools.diff.models import diff

__all__ = ["DIFFERENCE_KINDS", "Difference", "diff"]
