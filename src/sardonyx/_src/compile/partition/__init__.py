"""Partition: each node becomes part of a region, which a matcher recognizes and fusions extend.

The package exports what a matcher needs, the nodes that preparation bound included.
"""

from sardonyx._src.compile.partition.regions.region import (
    Alias,
    FusedEpilogue,
    Read,
    Region,
    Shape,
    Write,
    fused_region,
)
from sardonyx._src.compile.partition.regions.registry import fuses, matches
from sardonyx._src.compile.partition.regions.scope import RegionGraph, Scope
from sardonyx._src.compile.prepare.bound_node import BoundNode

__all__ = [
    "Alias",
    "BoundNode",
    "FusedEpilogue",
    "Read",
    "Region",
    "RegionGraph",
    "Scope",
    "Shape",
    "Write",
    "fused_region",
    "fuses",
    "matches",
]
