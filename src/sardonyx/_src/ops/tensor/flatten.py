"""Flatten: two dimensions, what lies before an axis and the rest.

Spec: ai.onnx Flatten-1, -9, -11, -13, -21, -23, -24, -25.  11 says that a negative axis counts from the back, which
it does here in all versions; the others add element types.
"""

from __future__ import annotations

from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.axes import from_the_front
from sardonyx._src.ops.flattened import flattened
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.shapes import product
from sardonyx._src.ops.tensor.elements import reshaping

op = Operator("Flatten")
op.convert((11, 9))(from_the_front)
VERSIONS = (1, 9, 11, 13, 21, 23, 24, 25)


@op.infer(*VERSIONS)
def infer(t: Inference) -> Result:
    data = t.tensor(0)
    if data is None:
        return None
    if data.shape is None:
        return TensorType(data.dtype, (None, None))
    axis, rank = t.integer("axis"), len(data.shape)
    if not -rank <= axis <= rank:
        t.fail(f"axis {axis} lies outside of -{rank} to {rank}", about="axis")
    axis = axis + rank if axis < 0 else axis
    return TensorType(data.dtype, (product(data.shape[:axis]), product(data.shape[axis:])))


op.value(*VERSIONS)(reshaping(infer))


@op.eval(*VERSIONS)
def evaluate(input: Array, *, axis: int) -> Array:
    """input: [d0, ..., dk]; result: [d0*...*d(axis-1), d(axis)*...*dk]; `axis` may be the rank."""
    return flattened(input, axis)
