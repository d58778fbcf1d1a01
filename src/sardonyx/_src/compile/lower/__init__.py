"""Lowering: one function for each kind of region (`registry`) turns the laid-out region into steps of a program.

The package exports what a lowering needs, laid-out regions included.
"""

from sardonyx._src.compile.layouts.laid_out import LaidOutRegion
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.registry import lowers

__all__ = ["LaidOutRegion", "Lowering", "lowers"]
