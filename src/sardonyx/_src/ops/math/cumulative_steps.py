"""CumSum and CumProd decomposed into Scan, for operator sets without them."""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Graph, Node, TensorType, Value
from sardonyx._src.ops.api import ConvertFacet
from sardonyx._src.ops.support.promotion import NARROW_FLOATS, cast
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter


def decompose_to_scan(op_type: str, first: int) -> ConvertFacet:
    """The facet for running results of `op_type` ("Add" or "Mul"), starting from `first`."""

    def convert(adapter: Adapter) -> AdaptedNode:
        x, own = adapter.input(0), adapter.dtype(0)
        axis = along(adapter)
        wide = NARROW_FLOATS.get(own, own)
        if wide is not own:
            x = cast(adapter, x, wide)
        others = [i for i in range(adapter.rank(0)) if i != axis]
        own_shape = adapter.Shape(x)
        sizes = adapter.Gather(own_shape, adapter.integers(others))
        start = adapter.ConstantOfShape(sizes, value=np.full(1, first, wide.numpy))
        directions = [1 if adapter.inference.integer("reverse") else 0]
        _, runs = adapter.ops(
            "Scan",
            start,
            x,
            outputs=2,
            body=one_step(adapter, op_type, wide),
            num_scan_inputs=1,
            scan_input_axes=[axis],
            scan_input_directions=directions,
            scan_output_axes=[axis],
            scan_output_directions=directions,
        )
        shape = adapter.inference.shape(0)
        length = None if shape is None else shape[axis]
        if not isinstance(length, int) or length == 0:
            runs = adapter.Reshape(
                runs, own_shape
            )  # without a step, a Scan does not know the sizes of its output
        return runs if wide is own else cast(adapter, runs, own)

    return convert


def along(adapter: Adapter) -> int:
    """The axis, counted from the front; refused unless it is known."""
    axis = adapter.inference.constant(1)
    if axis is None or axis.size != 1:
        adapter.refuse("axis must be known, as it becomes an attribute of a Scan")
    return adapter.inference.axis(int(axis.reshape(())), adapter.rank(0))


def one_step(adapter: Adapter, op_type: str, dtype: DataType) -> Graph:
    """The body of the Scan: (running result, slice) -> (next running result, scan output)."""
    graph = Graph(adapter.fresh("running"))
    type = TensorType(dtype, (None,) * (adapter.rank(0) - 1))
    so_far, slice = (graph.add_input(Value(adapter.fresh(name), type)) for name in ("so_far", "slice"))
    total, out = Value(adapter.fresh("total"), type), Value(adapter.fresh("out"), type)
    graph.append(Node(op_type, [so_far, slice], [total]))
    graph.append(Node("Identity", [so_far if adapter.inference.integer("exclusive") else total], [out]))
    graph.outputs = [total, out]
    return graph
