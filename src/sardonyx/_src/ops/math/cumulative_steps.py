"""CumSum and CumProd by Scan, before they came."""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.graph import Graph, Node, Value
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import ConvertFacet
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.widening import NARROW_FLOATS, cast


def by_scan(op_type: str, first: int) -> ConvertFacet:
    """The facet for running results of `op_type` ("Add" or "Mul"), of which the one of no elements is `first`."""

    def convert(c: Change) -> Converted:
        x, own = c.input(0), c.dtype(0)
        axis = along(c)
        wide = NARROW_FLOATS.get(own, own)
        if wide is not own:
            x = cast(c, x, wide)
        others = [i for i in range(c.rank(0)) if i != axis]
        own_shape = c.Shape(x)
        sizes = c.Gather(own_shape, c.integers(others))
        start = c.ConstantOfShape(sizes, value=np.full(1, first, wide.numpy))
        directions = [1 if c.t.integer("reverse") else 0]
        _, runs = c.ops(
            "Scan",
            start,
            x,
            outputs=2,
            body=one_step(c, op_type, wide),
            num_scan_inputs=1,
            scan_input_axes=[axis],
            scan_input_directions=directions,
            scan_output_axes=[axis],
            scan_output_directions=directions,
        )
        shape = c.t.shape(0)
        length = None if shape is None else shape[axis]
        if not isinstance(length, int) or length == 0:
            runs = c.Reshape(runs, own_shape)  # a Scan of no steps knows no sizes
        return runs if wide is own else cast(c, runs, own)

    return convert


def along(c: Change) -> int:
    axis = c.t.constant(1)
    if axis is None or axis.size != 1:
        c.refuse("axis has to be known, as it is an attribute of the Scan that says the same there")
    return c.t.axis(int(axis.reshape(())), c.rank(0))


def one_step(c: Change, op_type: str, dtype: DataType) -> Graph:
    """From the result so far and a slice to the next result, and to what is put out of the two."""
    graph = Graph(c.fresh("running"))
    type = TensorType(dtype, (None,) * (c.rank(0) - 1))
    so_far, slice = (graph.add_input(Value(c.fresh(name), type)) for name in ("so_far", "slice"))
    total, out = Value(c.fresh("total"), type), Value(c.fresh("out"), type)
    graph.append(Node(op_type, [so_far, slice], [total]))
    graph.append(Node("Identity", [so_far if c.t.integer("exclusive") else total], [out]))
    graph.outputs = [total, out]
    return graph
