"""CumSum, CumProd: running sums and products along an axis.

Spec: ai.onnx CumSum-11, -14, which differ in element types, and CumProd-26.  With `exclusive`, a result does not include
its own element, so that the first result is 0 or 1; `reverse` runs from the end.  Integers wrap around.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import Dim, dim_add, dim_mul
from sardonyx._src.ops.api import Operator, ValueFacet
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.math.cumulative_steps import decompose_to_scan
from sardonyx._src.ops.math.reduced_shapes import concretize
from sardonyx._src.ops.math.symbolic import SYMBOLIC_NUMBERS, drop_overflow, whole_number
from sardonyx._src.ops.support.arithmetic import compute_in_float32
from sardonyx._src.ops.support.promotion import NARROW_FLOATS, promote_input
from sardonyx._src.ops.support.shapes import axis_of, same_tensor
from sardonyx._src.ops.tensor.elements import MAX_KNOWN_ELEMENTS

RunningFunction = Callable[[Array, int], Array]  # (x, axis) -> the running results along the axis


def infer(inference: Inference) -> Result:
    rank, dims = inference.rank(0), inference.dims(1)
    if dims is not None and len(dims) != 1:
        inference.fail(f"axis must have one element; got {len(dims)}")
    if rank is not None and dims is not None and isinstance(dims[0], int):
        inference.axis(dims[0], rank)
    return same_tensor(inference)


def make_kernel(run: RunningFunction, first: int) -> Callable[..., Array]:
    """The kernel of running results; `first` is the sum or product of no elements."""

    @compute_in_float32
    def evaluate(x: Array, axis: Array, *, exclusive: int, reverse: int) -> Array:
        """x, result: [..., n, ...] of one type; axis: one int32 or int64."""
        if axis.size != 1:
            raise EvaluationError(f"axis must have one element; got {axis.size}")
        along = axis_of(int(axis.reshape(())), x.ndim)
        forwards = np.flip(x, along) if reverse else x
        result = run(forwards, along)
        if exclusive:
            result = shift_by_one(result, along, first)
        return np.flip(result, along) if reverse else result

    return evaluate


def shift_by_one(x: Array, axis: int, first: int) -> Array:
    """x shifted by one along an axis: `first` enters, the last entries are dropped."""
    result = np.full(x.shape, first, x.dtype)
    lead = (slice(None),) * axis
    result[(*lead, slice(1, None))] = x[(*lead, slice(-1))]
    return result


# --- known elements --------------------------------------------------------------------------


def make_value_facet(fold: Callable[[Dim, Dim], Dim], first: int) -> ValueFacet:
    """The value facet: running results of elements that inference knows, numbers or expressions of dims."""

    def value(inference: Inference) -> Known | None:
        elements, axis, dtype = inference.value(0), inference.constant(1), inference.dtype(0)
        if elements is None or elements.dtype != np.object_ or elements.size > MAX_KNOWN_ELEMENTS:
            return None
        if axis is None or axis.size != 1 or dtype is None or dtype not in SYMBOLIC_NUMBERS:
            return None
        along, reverse = (
            inference.axis(int(axis.reshape(())), elements.ndim),
            bool(inference.integer("reverse")),
        )
        lines = np.moveaxis(np.flip(elements, along) if reverse else elements, along, -1)
        result = np.empty(lines.shape, np.object_)
        for index in np.ndindex(*lines.shape[:-1]):
            line: list[Dim] = [first, *(whole_number(e) for e in lines[index].tolist())]
            runs = [*accumulate(line, fold)]
            row = runs[:-1] if inference.integer("exclusive") else runs[1:]
            result[index] = [drop_overflow(e, dtype) for e in row]
        back = np.moveaxis(result, -1, along)
        return concretize(np.flip(back, along) if reverse else back, dtype)

    return value


cum_sum = Operator(
    "CumSum",
    tolerance="rounding",
    about="running sums along an axis.",
    computes_in_float32=True,
    parameters=(1,),
)
cum_sum.convert((14, 11))(promote_input(NARROW_FLOATS))
cum_sum.convert((11, 0))(decompose_to_scan("Add", 0))
cum_sum.infer(11, 14)(infer)
cum_sum.value(11, 14)(make_value_facet(dim_add, 0))
cum_sum.eval(11, 14)(make_kernel(lambda x, axis: np.cumsum(x, axis, dtype=x.dtype), 0))

cum_prod = Operator(
    "CumProd",
    tolerance="rounding",
    about="running products along an axis.",
    computes_in_float32=True,
    parameters=(1,),
)
cum_prod.convert((26, 0))(decompose_to_scan("Mul", 1))
cum_prod.infer(26)(infer)
cum_prod.value(26)(make_value_facet(dim_mul, 1))
cum_prod.eval(26)(make_kernel(lambda x, axis: np.cumprod(x, axis, dtype=x.dtype), 1))
