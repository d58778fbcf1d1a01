"""Lowering: each laid-out region becomes steps, which call its kernels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.data_movement.copy import copy_step
from sardonyx._src.compile.kernels.data_movement.write_sizes import write_sizes_step
from sardonyx._src.compile.kernels.gemm.bf16.bf16_matmul import round_rows_step
from sardonyx._src.compile.layouts.laid_out import (
    LaidOutGraph,
    LaidOutRegion,
    LayoutCopy,
    LayoutItem,
    SizeWrite,
)
from sardonyx._src.compile.llvm.loaded_kernels import compile_kernel_async
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.open_parameters import open_parameters
from sardonyx._src.compile.lower.registry import lowering_of
from sardonyx._src.compile.prepare.graph_info import has_room
from sardonyx._src.compile.program import Guard, Step, TensorView
from sardonyx._src.compile.program.encoding.local_sizes import UNKNOWN_BINDING, reserve_memory
from sardonyx._src.compile.program.encoding.size_limits import can_describe_memory
from sardonyx._src.compile.program.steps.assumptions import Observation, observation_of
from sardonyx._src.compile.program.steps.program import Action, BindSizes, FallbackOp, Program
from sardonyx._src.compile.program.steps.step import sizes_of
from sardonyx._src.compile.program.verification.defects import DEFECTS, RefusedRegions
from sardonyx._src.ir import Node
from sardonyx._src.ir.dims import Expr, Known
from sardonyx._src.phases import phase


@phase("lower")
def lower(laid_out: LaidOutGraph, target: Target) -> Program:
    """The program of a model's graph: its steps, fallback operations and copies, and the guards of its regions.

    Raises RefusedRegions where expressions of sizes exceed their limit, numbers exceed MAX_SIZE, or a lowering fails.
    """
    lowering = Lowering(target, laid_out.constants, lower_items)
    scope = laid_out.graph.scope
    actions = lower_items(laid_out.items, lowering)
    if lowering.oversized or lowering.defects:
        nodes = frozenset(lowering.oversized.union(lowering.defects))
        raise RefusedRegions(nodes, "lower", lowering.defects)
    guards = tuple(collect_guards(laid_out))
    used = used_symbols(actions, laid_out.outputs.values(), guards)
    return Program(
        scope.model,
        [action for action in actions if is_needed(action, used)],
        scope.sizes,
        laid_out.inputs,
        laid_out.outputs,
        lowering.status,
        guards,
        scope.prepared.assumed_branches,
        find_observations(actions),
        open_parameters(scope, (action.node for action in actions if isinstance(action, FallbackOp))),
        scope.prepared.precision,
    )


def find_observations(actions: Iterable[Action]) -> dict[Node, Observation]:
    """The observations that runs can make at fallback operations."""
    nodes = (action.node for action in actions if isinstance(action, FallbackOp))
    return {node: observation for node in nodes if (observation := observation_of(node)) is not None}


def used_symbols(
    actions: Iterable[Action], outputs: Iterable[TensorView | None], guards: Iterable[Guard]
) -> set[str]:
    """The symbols on which native actions, outputs or guards depend."""
    sizes: dict[Known, None] = dict.fromkeys(dim for guard in guards for dim in guard)
    for action in actions:
        if isinstance(action, Step):
            sizes |= dict.fromkeys((*sizes_of(action), action.flops, action.bytes_accessed))
        for tensor in (*action.reads, *action.writes):
            sizes |= dict.fromkeys((*tensor.shape, *tensor.strides, tensor.offset))
    for output in outputs:
        sizes |= dict.fromkeys(() if output is None else output.shape)
    return set().union(*(size.symbols() for size in sizes if isinstance(size, Expr)))


def is_needed(action: Action, used: set[str]) -> bool:
    """Whether an action is needed: a binding of sizes is not, if nothing depends on them."""
    return not isinstance(action, BindSizes) or not used.isdisjoint(action.symbols.values())


def collect_guards(laid_out: LaidOutGraph) -> dict[Guard, None]:
    """The guards of the model's sizes and of the regions that are executed, each once."""
    return dict.fromkeys(laid_out.graph.scope.prepared.guards) | dict(laid_out.guards)


def can_be_encoded(step: Step, item: LayoutItem) -> bool:
    """Whether all sizes of a step are short enough expressions, and within the limit of numbers that describe memory.

    That limit does not apply to a SizeWrite, with arguments that are elements, and to jumps, which count iterations.
    """
    sizes = list(sizes_of(step))
    has_sizes_only = not isinstance(item, SizeWrite) and step.jump is None
    return all(map(has_room, sizes)) and (not has_sizes_only or all(map(can_describe_memory, sizes)))


def nodes_to_refuse(item: LayoutItem) -> set[Node]:
    """The nodes to refuse so that an item is not needed."""
    match item:
        case LaidOutRegion():
            return {item.region.anchor}
        case LayoutCopy() | SizeWrite():
            producer = item.value.producer
            return {node for node, _ in item.value.uses} | ({producer} if producer is not None else set())
    return set()


def lower_items(items: Iterable[LayoutItem], lowering: Lowering) -> list[Action]:
    """The actions of regions and copies, in order; their kernels start to compile at once.

    A body shares no rows with the items around it: a run may not execute it, or execute it several times.
    """
    actions: list[Action] = []
    outer_rows, lowering.shared_rows = lowering.shared_rows, {}
    for item in items:
        try:
            actions += compile_item(item, lowering)
        except DEFECTS as defect:
            if not (nodes := nodes_to_refuse(item)):
                raise
            lowering.defects |= dict.fromkeys(nodes, defect)
    lowering.shared_rows = outer_rows
    return actions


def compile_item(item: LayoutItem, lowering: Lowering) -> Iterator[Action]:
    """The actions of an item; their kernels start to compile at once.

    An item is refused if it binds local sizes, and the memory that depends on them has no upper bound.
    """
    lowered = [*lower_item(item, lowering)]
    actions = reserve_memory(lowered)
    if actions is None:
        lowering.oversized |= nodes_to_refuse(item)
        actions = lowered
    for action in actions:
        if isinstance(action, Step):
            if not can_be_encoded(action, item):
                lowering.oversized |= nodes_to_refuse(item)
            if action.kernel is not UNKNOWN_BINDING:
                compile_kernel_async(action.kernel)
        yield action


def lower_item(item: LayoutItem, lowering: Lowering) -> Iterator[Action]:
    match item:
        case LaidOutRegion():
            lowered = lowering_of(item.region.kind)(item, lowering)
            actions = (lowered,) if isinstance(lowered, Step) else lowered
            yield from attribute(actions, item.region.node_names)
        case LayoutCopy():
            is_rounding = item.target.dtype is not item.source.dtype
            step = (round_rows_step if is_rounding else copy_step)(item.source, item.target)
            yield step.with_nodes(item.nodes)
        case SizeWrite():
            yield write_sizes_step(item.target, item.sizes).with_nodes(item.nodes)
        case _:
            yield item


def attribute(actions: Iterable[Action], nodes: tuple[str, ...]) -> Iterator[Action]:
    """The actions; steps that name no nodes are attributed to `nodes`."""
    for action in actions:
        yield action.with_nodes(nodes) if isinstance(action, Step) and not action.nodes else action
