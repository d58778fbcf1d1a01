"""If: both branches inlined into the program, selected by a jump step.

Falls back if an output does not have the same dims in both branches, or a node of a branch has no lowering.
"""

from __future__ import annotations

from sardonyx._src.compile.lower.control_flow.inline_subgraph import (
    InlinedSubgraph,
    require,
    require_value,
    try_lower,
)
from sardonyx._src.compile.lower.control_flow.jumps import ALWAYS_TAKEN, branch_step, jump_step
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.operators.loop import has_one_element, used_output
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.prepare.outlining import resolve_identity
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.graph import Graph


@lowers("If", 25)
def lower_if(op: BoundNode, lowering: Lowering) -> bool:
    return try_lower(lowering, lambda: emit_if(op, lowering))


def emit_if(op: BoundNode, lowering: Lowering) -> None:
    condition_value = require_value(op.input(0))
    require(has_one_element(lowering, condition_value, DataType.BOOL))
    condition, destinations = lowering.dense(condition_value), {}
    for index, output in enumerate(op.node.outputs):
        if used_output(op, index) is not None:
            require(lowering.shape(output) is not None)
            destinations[index] = lowering.allocate(
                output, "output" if output in lowering.outputs else "arena"
            )
    branches = [op.attribute(name, Graph) for name in ("then_branch", "else_branch")]
    then_branch, else_branch = (lower_branch(lowering, graph, destinations) for graph in branches)
    flag = lowering.temporary(DataType.INT64, (1,), "branch")
    nodes = (len(list(branches[0].nodes)), len(list(branches[1].nodes)))
    lowering.emit(branch_step(flag, lowering.status, condition, nodes, len(then_branch.actions) + 2))
    lowering.actions += then_branch.actions
    lowering.emit(jump_step(lowering.constant_tensor(ALWAYS_TAKEN, "always"), len(else_branch.actions) + 1))
    lowering.actions += else_branch.actions
    for index, destination in destinations.items():
        lowering.bind(op.node.outputs[index], destination)


def lower_branch(lowering: Lowering, graph: Graph, destinations: dict[int, TensorView]) -> InlinedSubgraph:
    """The steps of a branch, which write outputs to `destinations`, by output index."""
    require(len(graph.outputs) > max(destinations, default=-1) and not graph.inputs)
    branch_lowering = InlinedSubgraph(lowering, graph)
    for index, destination in destinations.items():
        branch_lowering.require_type(graph.outputs[index], destination.dtype, destination.shape)
        branch_lowering.destinations.setdefault(resolve_identity(graph.outputs[index]), destination)
    branch_lowering.lower()
    for index, destination in destinations.items():
        branch_lowering.copy_result_to(graph.outputs[index], destination)
    return branch_lowering
