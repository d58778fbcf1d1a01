"""Partition: splits a graph into regions, each of which becomes the calls of one lowering.

The nodes are visited in order.  At each node that no earlier region has claimed, the patterns and then the matcher of its
operator are tried; the first region that one of them returns claims its nodes.  A node that none matches is a fallback.
"""

from __future__ import annotations

from dataclasses import replace

from sardonyx._src.compile.partition import Region, RegionGraph, Scope
from sardonyx._src.compile.partition.partitioner.reserved_nodes import release_nodes, reserve_row_programs
from sardonyx._src.compile.partition.regions.region import fallback_region
from sardonyx._src.compile.partition.regions.registry import import_patterns, matchers_of
from sardonyx._src.compile.partition.regions.requirements import FallbackRequired
from sardonyx._src.compile.program.verification.defects import DEFECTS
from sardonyx._src.ir import Node
from sardonyx._src.ir.dims import has_opaque_part
from sardonyx._src.phases import phase


@phase("partition")
def partition(scope: Scope) -> RegionGraph:
    """The regions of a graph, in order of execution.

    A node whose outputs depend on input sizes only belongs to no region: the layout stage writes their elements where
    kernels read them.
    """
    regions: list[Region[object]] = []
    pending: dict[Node, Region[object]] = {}  # regions by `Region.last`, the node where they are executed
    if scope.graph is scope.model.graph:
        import_patterns(scope.model)
    reserve_row_programs(scope)
    for node in scope.order:
        if node in pending:
            region = pending.pop(node)
        elif node in scope.claimed:
            continue
        elif all(scope.size_elements(value) is not None for value in node.outputs):
            scope.claimed.add(node)
            continue
        else:
            release_nodes(scope, node)
            region = match_region(scope, node)
            if region.last is not None:
                pending[region.last] = region
                scope.claimed.update(inner for inner in region.nodes if inner is not region.last)
                continue
        scope.record(region)
        if not region.is_deferred:
            regions.append(region)
    assert not pending, "a region must be executed in place of a node of the graph"
    return RegionGraph(scope, regions)


def match_region(scope: Scope, node: Node) -> Region[object]:
    """The region that starts at a node: the first one that a matcher returns, or a fallback.

    A region with a guard that cannot be computed is no match.  An exception of a matcher is recorded as a
    defect of the node.
    """
    try:
        return find_region(scope, node) or guarded_fallback(scope, node)
    except DEFECTS as defect:
        scope.defects[node] = defect
        return fallback_region(node)


def find_region(scope: Scope, node: Node) -> Region[object] | None:
    """The region that the first matcher returns for a node; None if each returns None or raises FallbackRequired."""
    bound = scope.bind_node(node)
    if bound is not None:
        for matcher in matchers_of(node.domain, node.op_type, bound.version):
            scope.guards = {}
            try:
                region = matcher(bound, scope)
            except FallbackRequired:
                continue
            if (
                region is not None
                and all(map(scope.guard_node, region.nodes))
                and can_be_executed(region, scope)
            ):
                return replace(region, guards=tuple(scope.guards))
    return None


def guarded_fallback(scope: Scope, node: Node) -> Region[object]:
    """A fallback, with guards for the sizes that inference took as equal: other nodes may rely on the sizes of its results."""
    return replace(fallback_region(node), guards=tuple(dict.fromkeys(scope.required_guards(node))))


def can_be_executed(region: Region[object], scope: Scope) -> bool:
    """Whether no node is refused, guards can be computed, and the sizes of all results are known before the region is executed.

    A node with data-dependent sizes must be a region of its own, and either bind these sizes or return its results in
    Python, which the nodes of a subgraph cannot.
    """
    if not scope.refused.isdisjoint(region.nodes):
        return False
    if any(has_opaque_part(dim) for guard in scope.guards for dim in guard):
        return False
    computed = {value for node in region.nodes for value in node.outputs if scope.data_dependent_axes(value)}
    is_single = len(region.nodes) == 1
    is_in_python = scope.binds_in_python and computed.isdisjoint(region.results)
    return not computed or (is_single and (region.binds_sizes or is_in_python))
