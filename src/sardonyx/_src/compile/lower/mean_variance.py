"""MeanVarianceNormalization: elements brought to mean 0 and variance 1 along axes, which become the last ones."""

from __future__ import annotations

from sardonyx._src.compile.lowering import Lowering
from sardonyx._src.compile.moves.copy import copied
from sardonyx._src.compile.nodes import Call
from sardonyx._src.compile.registry import lowers
from sardonyx._src.compile.rows.norms import Norm, normalised
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.graph import Value
from sardonyx._src.ops.nn.mean_variance_normalization import EPSILON


@lowers("MeanVarianceNormalization", 13)
def lower(call: Call, at: Lowering) -> bool:
    x = call.input(0)
    if x is None or not at.is_native(x) or at.dtype_of(x) is not DataType.FLOAT:
        return False
    shape, axes = at.known_shape(x), call.ints("axes") or ()
    rank = len(shape)
    if at.shape(call.output) != shape or not all(-rank <= axis < rank for axis in axes):
        return False
    along = sorted({axis % rank for axis in axes})
    if not along or len(along) < len(axes):
        return False
    order = (*(axis for axis in range(rank) if axis not in along), *along)
    source = innermost(at, x, order, len(along))
    made = at.temporary(DataType.FLOAT, source.shape, call.output.name)
    step = normalised(source, made, rank - len(along), Norm(EPSILON, outside=True))
    assert step is not None, "dense rows have a kernel"
    at.emit(step)
    at.bind(call.output, made.permuted([order.index(axis) for axis in range(rank)]))
    return True


def innermost(at: Lowering, x: Value, order: tuple[int, ...], count: int) -> Tensor:
    """The value with its dims in an order, of which the last `count` ones are dense; a copy if no form has them so."""
    at.strided(x)
    found = [form.permuted(order) for form in at.forms[x]]
    for form in found:
        inner = Tensor(form.dtype, form.shape[-count:], form.strides[-count:], form.storage)
        if inner.is_dense:
            return form
    made = at.temporary(DataType.FLOAT, found[0].shape, x.name)
    at.emit(copied(found[0], made))
    return made
