"""Inlined subgraphs: the regions of a body become steps of the enclosing program, which read captured values directly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sardonyx._src.compile.layouts.assignment import LayoutAssignment
from sardonyx._src.compile.layouts.constants import ConstantPool
from sardonyx._src.compile.layouts.laid_out import LaidOutBody
from sardonyx._src.compile.lower import Lowering
from sardonyx._src.compile.partition import RegionGraph, Shape
from sardonyx._src.compile.program import ANY, DENSE, Step, TensorView
from sardonyx._src.compile.program.encoding.local_sizes import binding_step
from sardonyx._src.compile.program.steps.program import Action, BindSizes
from sardonyx._src.compile.program.steps.step import LocalSizes
from sardonyx._src.ir import Value


def lay_out_body(
    name: str,
    graph: RegionGraph,
    constants: ConstantPool,
    bound: Mapping[Value, Sequence[TensorView]],
    results: Sequence[tuple[Value, Shape]],
    destinations: Mapping[Value, TensorView] | None = None,
) -> LaidOutBody:
    """A body with layouts.

    bound: the tensors, in one or several layouts, of the values that the body reads, but does not compute.
    results: the values whose tensors are returned, each with the dims to return, which may differ by unit dims.
    destinations: the tensors to write results to, by value, where chains of Identity nodes are resolved.
    """
    layouts = LayoutAssignment(graph, constants, destinations or {})
    layouts.tensors.update((value, [*tensors]) for value, tensors in bound.items())
    for region in graph.regions:
        layouts.place(region)
    tensors = [result_tensor(layouts, value, shape) for value, shape in results]
    return LaidOutBody(name, graph, layouts.items, bound, tensors, layouts.guards)


def result_tensor(layouts: LayoutAssignment, value: Value, shape: Shape) -> TensorView:
    """The tensor of a body's result, in any layout; a copy is appended to the body if its dims differ."""
    layouts.nodes = (value.name,)
    tensor = layouts.read(value, ANY)
    return tensor if tensor.shape == shape else layouts.read(value, DENSE).reshape(shape)


def lower_body(body: LaidOutBody, lowering: Lowering) -> list[Step]:
    """The steps of a body and of the copies that its results need."""
    return [as_step(action, lowering) for action in lowering.lower_items(body.items)]


def as_step(action: Action, lowering: Lowering) -> Step:
    """The action as a step: a binding of a size that a step has counted becomes a binding step."""
    if isinstance(action, BindSizes) and action.count is not None and action.limit is not None:
        counts = dict.fromkeys(action.symbols.values(), action.count)
        binds = LocalSizes(counts, dict.fromkeys(counts, action.limit))
        return binding_step(binds, lowering.status).with_nodes((action.value.name,))
    assert isinstance(action, Step), "an inlined subgraph must consist of steps"
    return action
