"""Partition of subgraphs: the bodies of control-flow nodes, which become steps of the enclosing program.

A control-flow node is matched only if its whole body is native: the matcher partitions the body, and its region has the
regions of the body in its config.
"""

from __future__ import annotations

from sardonyx._src.compile.partition import Region, RegionGraph, Scope, Shape
from sardonyx._src.compile.partition.partitioner.partition import partition
from sardonyx._src.compile.partition.regions.region import Fallback
from sardonyx._src.compile.partition.regions.requirements import require
from sardonyx._src.compile.prepare.outlining import resolve_identity
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Graph, Value
from sardonyx._src.ir.walk import captures
from sardonyx._src.ops.bind import literal_of


class SubgraphScope(Scope):
    """A subgraph of the graph of an enclosing scope.

    captures: the values of enclosing graphs that the subgraph reads.

    Raises FallbackRequired if no kernel can read a captured value, and when a region without a kernel is recorded.
    """

    binds_in_python = False

    def __init__(self, parent: Scope, graph: Graph) -> None:
        super().__init__(parent.prepared, parent.target, graph, parent.refused)
        self.defects = parent.defects
        self.parent, self.captures = parent, dict.fromkeys(captures(graph))
        self.claimed = parent.claimed | {node for node in graph.nodes if literal_of(node) is not None}
        self.writers = dict(parent.writers)
        self.outputs.update(dict.fromkeys(map(resolve_identity, graph.outputs)))
        require(all(parent.is_native(value) for value in self.captures))

    @property
    def variables(self) -> list[Value]:
        """The captured values that are not constant: regions of the enclosing graph compute them."""
        return [value for value in self.captures if self.parent.constant(value) is None]

    def constant(self, value: Value | None) -> Array | None:
        if value in self.captures:
            return self.parent.constant(value)
        literal = None if value is None or value.producer is None else literal_of(value.producer)
        return super().constant(value) if literal is None else literal.numpy()

    def record(self, region: Region[object]) -> None:
        require(not isinstance(region.config, Fallback))
        super().record(region)

    def partition(self) -> RegionGraph:
        """The regions of the subgraph.  Their guards are added to those of the node that is being matched in the parent."""
        body = partition(self)
        guards = (guard for region in body.regions for guard in region.guards)
        self.parent.guards.update(dict.fromkeys(guards))
        return body


def has_type(scope: Scope, value: Value, dtype: DataType, shape: Shape) -> bool:
    """Whether a value has this element type and these dims in every run."""
    return scope.dtype_of(value) is dtype and scope.shape(value) == shape
