"""Inlined subgraphs: the regions of a body become steps of the enclosing program, which read captured values directly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sardonyx._src.compile.layouts.assignment import LayoutAssignment
from sardonyx._src.compile.layouts.constants import ConstantPool
from sardonyx._src.compile.layouts.laid_out import LaidOutBody
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.partition.region import Shape
from sardonyx._src.compile.partition.scope import RegionGraph
from sardonyx._src.compile.program.layout import ANY, DENSE
from sardonyx._src.compile.program.local_sizes import binding_step
from sardonyx._src.compile.program.program import Action, BindSizes
from sardonyx._src.compile.program.step import LocalSizes, Step
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.ir.graph import Value


def lay_out_body(
    name: str,
    graph: RegionGraph,
    constants: ConstantPool,
    bound: Mapping[Value, Sequence[TensorView]],
    results: Sequence[tuple[Value, Shape]],
    destinations: Mapping[Value, TensorView] | None = None,
) -> LaidOutBody:
    """A body with layouts.

    bound: the tensors of the values that it reads and does not compute, in one or several layouts.  results: the values to
    return the tensors of, each with its dims, which may differ from its own by unit dims.  destinations: the tensors that
    results are written to, by the value that each is identical to.
    """
    layouts = LayoutAssignment(graph, constants, destinations or {})
    layouts.tensors.update((value, [*tensors]) for value, tensors in bound.items())
    for region in graph.regions:
        layouts.place(region)
    tensors = [result_tensor(layouts, value, shape) for value, shape in results]
    return LaidOutBody(name, graph, layouts.items, bound, tensors, layouts.guards)


def result_tensor(layouts: LayoutAssignment, value: Value, shape: Shape) -> TensorView:
    """A result of a body in any layout, by a copy after the body's regions if necessary."""
    layouts.nodes = (value.name,)
    tensor = layouts.read(value, ANY)
    return tensor if tensor.shape == shape else layouts.read(value, DENSE).reshape(shape)


def lower_body(body: LaidOutBody, lowering: Lowering) -> list[Step]:
    """The steps of a body and of the copies that its results need."""
    return [as_step(action, lowering) for action in lowering.lower_items(body.items)]


def as_step(action: Action, lowering: Lowering) -> Step:
    """The action, which is a step, or binds a size that a step has counted."""
    if isinstance(action, BindSizes) and action.count is not None and action.limit is not None:
        counts = dict.fromkeys(action.symbols.values(), action.count)
        binds = LocalSizes(counts, dict.fromkeys(counts, action.limit))
        return binding_step(binds, lowering.status).with_nodes((action.value.name,))
    assert isinstance(action, Step), "an inlined subgraph must consist of steps"
    return action
