"""DynamicSlice: the part of a tensor between starts and ends, which are inputs, as in Slice from version 10 on.

Spec: ai.onnx DynamicSlice-1, experimental in the first releases, removed later.  There are no steps; without
`axes` the first ones are sliced.
"""

from __future__ import annotations

from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.tensor.slice import evaluate_10, infer, value
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

op = Operator("DynamicSlice")
op.eval(1)(evaluate_10)
op.infer(1)(infer)
op.value(1)(value)


@op.convert((1, 0))
def replace(adapter: Adapter) -> AdaptedNode:
    return adapter.same(op_type="Slice")
