"""If: both branches inlined into the program, selected by a jump step.

Falls back to the reference kernel if an output has different dims in the branches, or a node of a branch is
not native.  A branch whose operators reject their operands records a fault: the reference engine raises the error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sardonyx._src.compile.kernels.data_movement.copy import copy_step
from sardonyx._src.compile.layouts.constants import ConstantPool
from sardonyx._src.compile.layouts.laid_out import LaidOutBody
from sardonyx._src.compile.layouts.registry import lays_out_bodies
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.lower.control_flow.inlined_subgraph import lay_out_body, lower_body
from sardonyx._src.compile.lower.control_flow.jumps import ALWAYS_TAKEN, branch_step, fault_step, jump_step
from sardonyx._src.compile.lower.control_flow.loop_region import has_one_element, used_output
from sardonyx._src.compile.partition import Read, Region, RegionGraph, Scope, Write, matches
from sardonyx._src.compile.partition.partitioner.subgraphs import SubgraphScope, has_type
from sardonyx._src.compile.partition.regions.requirements import require, require_value
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.prepare.outlining import resolve_identity
from sardonyx._src.compile.program import ANY, Step, TensorView
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Graph, Value


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch of an If.

    graph: the subgraph.
    body: its regions; None if no valid run takes the branch, since an operator in it rejects its operands.
    results: the values of the branch that become the used outputs of the node.
    variables: the captured values that are not constant.
    """

    graph: Graph
    body: RegionGraph | None
    results: tuple[Value, ...]
    variables: tuple[Value, ...]

    @property
    def num_nodes(self) -> int:
        return len(self.graph.nodes)


@dataclass(frozen=True, slots=True)
class Branches:
    """The branches of an If."""

    then_branch: Branch
    else_branch: Branch


@matches("If", 25)
def match_if(op: BoundNode, scope: Scope) -> Region[Branches]:
    condition = require_value(op.input(0))
    require(has_one_element(scope, condition, DataType.BOOL))
    outputs = {i: output for i in range(len(op.node.outputs)) if (output := used_output(op, i)) is not None}
    branches = [
        match_branch(scope, op.attribute(name, Graph), outputs) for name in ("then_branch", "else_branch")
    ]
    require(any(branch.body for branch in branches))
    variables = (value for branch in branches for value in branch.variables)
    reads = tuple(Read(value, ANY) for value in dict.fromkeys((condition, *variables)))
    return Region("If", (op.node,), Branches(*branches), reads, tuple(map(Write, outputs.values())))


def match_branch(scope: Scope, graph: Graph, outputs: Mapping[int, Value]) -> Branch:
    """A branch whose results have the types of the node's outputs, by index."""
    require(len(graph.outputs) > max(outputs, default=-1) and not graph.inputs)
    if any(map(scope.facts.is_rejected, graph.nodes)):
        return Branch(graph, None, (), ())
    branch = SubgraphScope(scope, graph)
    results = tuple(graph.outputs[i] for i in outputs)
    for output, result in zip(outputs.values(), results, strict=True):
        shape = require_value(scope.shape(output))
        require(has_type(branch, result, scope.dtype(output), shape))
    return Branch(graph, branch.partition(), results, tuple(branch.variables))


@lays_out_bodies("If")
def lay_out_branches(region: LaidOutRegion[Branches], constants: ConstantPool) -> Sequence[LaidOutBody]:
    branches = {"then_branch": region.config.then_branch, "else_branch": region.config.else_branch}
    return [
        lay_out_branch(name, branch, branch.body, region, constants)
        for name, branch in branches.items()
        if branch.body is not None
    ]


def lay_out_branch(
    name: str,
    branch: Branch,
    body: RegionGraph,
    region: LaidOutRegion[Branches],
    constants: ConstantPool,
) -> LaidOutBody:
    """The layouts of a branch, which writes its results directly to the results of the region, where it can."""
    bound = dict(zip((read.value for read in region.region.reads), region.layouts, strict=True))
    destinations: dict[Value, TensorView] = {}
    for value, target in zip(branch.results, region.results, strict=True):
        destinations.setdefault(resolve_identity(value), target)
    results = [(value, y.shape) for value, y in zip(branch.results, region.results, strict=True)]
    return lay_out_body(name, body, constants, bound, results, destinations)


@lowers("If")
def lower_if(region: LaidOutRegion[Branches], lowering: Lowering) -> Sequence[Step]:
    branches = (region.config.then_branch, region.config.else_branch)
    bodies = iter(region.bodies)
    then_steps, else_steps = (
        [fault_step(lowering.status, tuple(region.results))]
        if branch.body is None
        else lower_branch(branch, next(bodies), region, lowering)
        for branch in branches
    )
    flag = lowering.temporary(DataType.INT64, (1,), "branch")
    num_nodes = (branches[0].num_nodes, branches[1].num_nodes)
    return [
        branch_step(flag, lowering.status, region.operands[0], num_nodes, len(then_steps) + 2),
        *then_steps,
        jump_step(lowering.constant_tensor(ALWAYS_TAKEN, "always"), len(else_steps) + 1),
        *else_steps,
    ]


def lower_branch(
    branch: Branch, body: LaidOutBody, region: LaidOutRegion[Branches], lowering: Lowering
) -> list[Step]:
    """The steps of a branch, and copies of the results that it does not write directly to the results of the region."""
    copies = [
        copy_step(tensor, target).with_nodes((value.name,))
        for value, tensor, target in zip(branch.results, body.results, region.results, strict=True)
        if tensor.buffer is not target.buffer
    ]
    return [*lower_body(body, lowering), *copies]
