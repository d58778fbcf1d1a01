"""Inlined subgraphs: the regions of a body become steps of the enclosing program, which read captured values directly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sardonyx._src.compile.layouts.assignment import LayoutAssignment
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.partition.region import Shape
from sardonyx._src.compile.partition.scope import RegionGraph
from sardonyx._src.compile.program.layout import ANY, DENSE
from sardonyx._src.compile.program.step import Step
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.ir.graph import Value


def lay_out_subgraph(
    body: RegionGraph,
    lowering: Lowering,
    tensors: Mapping[Value, Sequence[TensorView]],
    destinations: Mapping[Value, TensorView],
) -> LayoutAssignment:
    """The layouts of a body.

    tensors: of the values that the body reads and does not compute, in one or several layouts.  destinations: the tensors
    that results are written to, by the value that each is identical to.
    """
    layouts = LayoutAssignment(body, lowering.constants, destinations)
    layouts.tensors.update((value, [*held]) for value, held in tensors.items())
    for region in body.regions:
        layouts.place(region)
    return layouts


def result_tensor(layouts: LayoutAssignment, value: Value, shape: Shape) -> TensorView:
    """A result of a body in any layout, by a copy after the body's regions if necessary.

    Reshaped to these dims, which may differ from its own by unit dims.
    """
    layouts.nodes = (value.name,)
    tensor = layouts.read(value, ANY)
    return tensor if tensor.shape == shape else layouts.read(value, DENSE).reshape(shape)


def lower_subgraph(layouts: LayoutAssignment, lowering: Lowering) -> list[Step]:
    """The steps of a body and of the copies that its results need, which are all of them requested before."""
    actions = lowering.lower_items(layouts.items)
    steps = [action for action in actions if isinstance(action, Step)]
    assert len(steps) == len(actions), "an inlined subgraph must consist of steps"
    return steps
