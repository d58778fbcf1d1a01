"""CumSum, CumProd: running sums and products along an axis.

Spec: ai.onnx CumSum-11, -14, which differ in element types, and CumProd-26.  `exclusive` leaves the element itself out,
so that the first result is 0 or 1; `reverse` runs from the end.  Integers wrap around.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import Dim, dim_add, dim_mul
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import Operator, ValueFacet
from sardonyx._src.ops.arithmetic import in_float32
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.math.cumulative_steps import by_scan
from sardonyx._src.ops.math.reduced_shapes import settled
from sardonyx._src.ops.math.symbolic import NUMBERS, fitting, whole
from sardonyx._src.ops.shapes import axis_of, same_tensor
from sardonyx._src.ops.tensor.elements import LIMIT
from sardonyx._src.ops.widening import NARROW_FLOATS, widening

Run = Callable[[Array, int], Array]  # x, axis


def infer(t: Inference) -> Result:
    rank, dims = t.rank(0), t.dims(1)
    if dims is not None and len(dims) != 1:
        t.fail(f"axis has {len(dims)} elements, where one is wanted")
    if rank is not None and dims is not None and isinstance(dims[0], int):
        t.axis(dims[0], rank)
    return same_tensor(t)


def running(run: Run, first: int) -> Callable[..., Array]:
    """The kernel of running results, of which the one of no elements is `first`."""

    @in_float32
    def evaluate(x: Array, axis: Array, *, exclusive: int, reverse: int) -> Array:
        """x, result: [..., n, ...] of one type; axis: one int32 or int64."""
        if axis.size != 1:
            raise EvaluationError(f"axis has {axis.size} elements, where one is wanted")
        along = axis_of(int(axis.reshape(())), x.ndim)
        forwards = np.flip(x, along) if reverse else x
        result = run(forwards, along)
        if exclusive:
            result = shifted(result, along, first)
        return np.flip(result, along) if reverse else result

    return evaluate


def shifted(x: Array, axis: int, first: int) -> Array:
    """x moved on by one place along an axis; the last entries are lost."""
    result = np.full(x.shape, first, x.dtype)
    lead = (slice(None),) * axis
    result[(*lead, slice(1, None))] = x[(*lead, slice(-1))]
    return result


# --- known elements --------------------------------------------------------------------------


def following(fold: Callable[[Dim, Dim], Dim], first: int) -> ValueFacet:
    """The value facet of running results of symbolic elements."""

    def value(t: Inference) -> Known | None:
        found, axis, dtype = t.value(0), t.constant(1), t.dtype(0)
        if found is None or found.dtype != np.object_ or found.size > LIMIT:
            return None
        if axis is None or axis.size != 1 or dtype is None or dtype not in NUMBERS:
            return None
        along, reverse = t.axis(int(axis.reshape(())), found.ndim), bool(t.integer("reverse"))
        lines = np.moveaxis(np.flip(found, along) if reverse else found, along, -1)
        result = np.empty(lines.shape, np.object_)
        for place in np.ndindex(*lines.shape[:-1]):
            line: list[Dim] = [first, *(whole(e) for e in lines[place].tolist())]
            runs = [*accumulate(line, fold)]
            row = runs[:-1] if t.integer("exclusive") else runs[1:]
            result[place] = [fitting(e, dtype) for e in row]
        back = np.moveaxis(result, -1, along)
        return settled(np.flip(back, along) if reverse else back, dtype)

    return value


cum_sum = Operator("CumSum", tolerance="rounding", about="running sums along an axis.")
cum_sum.convert((14, 11))(widening(NARROW_FLOATS))
cum_sum.convert((11, 0))(by_scan("Add", 0))
cum_sum.infer(11, 14)(infer)
cum_sum.value(11, 14)(following(dim_add, 0))
cum_sum.eval(11, 14)(running(lambda x, axis: np.cumsum(x, axis, dtype=x.dtype), 0))

cum_prod = Operator("CumProd", tolerance="rounding", about="running products along an axis.")
cum_prod.convert((26, 0))(by_scan("Mul", 1))
cum_prod.infer(26)(infer)
cum_prod.value(26)(following(dim_mul, 1))
cum_prod.eval(26)(running(lambda x, axis: np.cumprod(x, axis, dtype=x.dtype), 1))
