"""What is different between two models."""

from sardonyx._src.rewrite.tools.diff.change import KINDS, Change
from sardonyx._src.rewrite.tools.diff.models import diff

__all__ = ["KINDS", "Change", "diff"]
