"""TopK, where sizes of inputs say how many are wanted."""

from __future__ import annotations

from sardonyx._src.compile.lowering import Lowering
from sardonyx._src.compile.nodes import Call
from sardonyx._src.compile.registry import lowers
from sardonyx._src.compile.rows.top_k import ELEMENTS, top_k
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known

MOST = 1 << 31  # elements of a row


@lowers("TopK", 24)
def lower(call: Call, at: Lowering) -> bool:
    x, wanted = call.input(0), at.elements(call.input(1))
    if x is None or not at.is_native(x) or at.dtype(x) not in ELEMENTS:
        return False
    shape, made, axis = at.known_shape(x), at.shape(call.output), call.attribute("axis", int)
    if made is None or wanted is None or wanted.shape != (1,) or not -len(shape) <= axis < len(shape):
        return False
    axis %= len(shape)
    if made[axis] != wanted[0] or made != (*shape[:axis], made[axis], *shape[axis + 1 :]):
        return False
    size, count = shape[axis], made[axis]
    if not all(at.is_at_least(more, less) for more, less in ((size, count), (count, 0), (MOST, size))):
        return False
    largest = bool(call.attribute("largest", int))
    source = at.strided(x)
    results = [result(call, at, i, made) for i in (0, 1)]
    at.emit(top_k(source, results[0], results[1], axis, largest=largest))
    return True


def result(call: Call, at: Lowering, index: int, shape: tuple[Known, ...]) -> Tensor:
    """Memory for the elements or for their places, if only for the kernel's own use."""
    if call.wanted(index):
        return at.result(call.node.outputs[index])
    dtype = at.dtype(call.node.outputs[0]) if index == 0 else DataType.INT64
    return at.temporary(dtype, shape, f"{call.output.name}.{index}")
