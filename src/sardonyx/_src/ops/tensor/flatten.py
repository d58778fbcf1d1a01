"""Flatten: reshapes to two dimensions, the axes before `axis` and the rest.

Spec: ai.onnx Flatten-1, -9, -11, -13, -21, -23, -24, -25.  11 specifies a negative axis, which is supported here in
all versions; the others add element types.
"""

from __future__ import annotations

from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.support.axes import normalize_axis
from sardonyx._src.ops.support.flatten_2d import flatten_to_2d
from sardonyx._src.ops.support.shapes import element_count
from sardonyx._src.ops.tensor.elements import reshape_value_facet

op = Operator("Flatten", moves_data=True, keeps_order="always")
op.convert((11, 9))(normalize_axis)
FLATTEN_VERSIONS = (1, 9, 11, 13, 21, 23, 24, 25)


@op.infer(*FLATTEN_VERSIONS)
def infer(inference: Inference) -> Result:
    data = inference.tensor(0)
    if data is None:
        return None
    if data.shape is None:
        return TensorType(data.dtype, (None, None))
    axis, rank = inference.integer("axis"), len(data.shape)
    if not -rank <= axis <= rank:
        inference.fail(f"axis must be in [{-rank}, {rank}]; got {axis}", about="axis")
    axis = axis + rank if axis < 0 else axis
    return TensorType(data.dtype, (element_count(data.shape[:axis]), element_count(data.shape[axis:])))


op.value(*FLATTEN_VERSIONS)(reshape_value_facet(infer))


@op.eval(*FLATTEN_VERSIONS)
def evaluate(input: Array, *, axis: int) -> Array:
    """input: [d0, ..., dk]; result: [d0*...*d(axis-1), d(axis)*...*dk]; `axis` may be the rank."""
    return flatten_to_2d(input, axis)
