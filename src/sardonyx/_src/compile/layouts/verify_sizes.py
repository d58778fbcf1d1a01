"""Verifier of sizes: asserts that sizes which operators require to be equal are proved equal, or guarded.

Where an operator requires sizes to be equal, inference takes any of them; the rows of a Gemm may come from its bias.
Kernels do not check that, so a region needs a guard unless the sizes are proved equal.  A fallback operation checks
its operands itself.
"""

from __future__ import annotations

from sardonyx._src.compile.layouts.dim_signatures import broadcast_operands, required_equal
from sardonyx._src.compile.layouts.laid_out import LaidOutBody, LaidOutGraph, LaidOutRegion
from sardonyx._src.compile.partition import Region, Scope
from sardonyx._src.compile.partition.regions.region import Fallback, describe, name_of
from sardonyx._src.compile.program.verification.size_facts import SizeFacts
from sardonyx._src.ir import Node
from sardonyx._src.ops.registry import find


def verify_sizes(graph: LaidOutGraph | LaidOutBody, facts: SizeFacts) -> None:
    """Verifies the dims of all nodes of native regions, including nodes of bodies.

    facts: answers whether sizes are equal, given the guards of the program.
    """
    scope = graph.graph.scope
    placed = [item for item in graph.items if isinstance(item, LaidOutRegion)]
    # Views and Concats are no items, and deferred regions are not among the regions of the graph, so
    # both lists are visited.
    for region in dict.fromkeys((*graph.graph.regions, *(item.region for item in placed))):
        if not isinstance(region.config, Fallback):
            for node in region.nodes:
                verify_node(node, scope, facts, region)
    for item in placed:
        for body in item.bodies:
            verify_sizes(body, facts)


def verify_node(node: Node, scope: Scope, facts: SizeFacts, region: Region[object]) -> None:
    """Asserts that the dims of a node's operands and results satisfy its operator."""
    op = scope.bind_node(node)
    if op is None:
        return
    inputs, results = ([scope.shape(value) for value in values] for values in (node.inputs, node.outputs))
    for a, b in required_equal(op, inputs, results):
        assert facts.are_equal(a, b), (
            f"{describe(region)}: {name_of(node)}: {a} must equal {b}, which is neither proved nor guarded"
        )
    operator = find(node.domain, node.op_type)
    is_elementwise = operator is not None and operator.elementwise
    for shape in broadcast_operands(op, inputs, is_elementwise=is_elementwise):
        for size, target in zip(shape[::-1], (results[0] or ())[::-1], strict=False):
            assert facts.is_broadcast(size, target), (
                f"{describe(region)}: {name_of(node)}: {size} must broadcast to {target}, which is neither"
                " proved nor guarded"
            )
