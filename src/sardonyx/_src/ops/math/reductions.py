"""The Reduce operators: sums, products, means, norms, logarithms of sums and extremes along axes.

Spec: ai.onnx ReduceSum-1, -11, -13 and the other nine in versions 1, 11, 13 and 18; also ReduceMax and ReduceMin in 12
and 20, ReduceLogSum and ReduceLogSumExp in 28.  `axes` is an attribute at first, and an input from 18 on (of ReduceSum
from 13 on).  If it is empty or absent, all axes are reduced, or none of them if `noop_with_empty_axes` is set.  11
says that negative axes count from the back, which they do here in all versions; the others differ in element types.

The sum of an empty set is 0, its product 1, its maximum the lowest and its minimum the highest value of the type.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import dim_product
from sardonyx._src.ops.api import BodyFacet, Operator
from sardonyx._src.ops.math import reduced_bodies as bodies
from sardonyx._src.ops.math import reduced_shapes as shapes
from sardonyx._src.ops.math import reduction_steps as steps
from sardonyx._src.ops.quantization.conversion import CastRule, convert
from sardonyx._src.ops.support.arithmetic import compute_in_float32
from sardonyx._src.ops.support.axes import normalize_axes
from sardonyx._src.ops.support.shapes import axes_of
from sardonyx._src.ops.traits import Tolerance

Axes = tuple[int, ...]
Reduce = Callable[
    [Array, Axes, bool], Array
]  # (data, axes counted from the front, keepdims: whether they stay as axes of size 1) -> result


def total(x: Array, axes: Axes, keepdims: bool) -> Array:
    return np.sum(x, axis=axes, dtype=x.dtype, keepdims=keepdims)


def product(x: Array, axes: Axes, keepdims: bool) -> Array:
    return np.prod(x, axis=axes, dtype=x.dtype, keepdims=keepdims)


def mean(x: Array, axes: Axes, keepdims: bool) -> Array:
    """The mean; of integers, rounded toward zero.

    A sum of integers may wrap around where the mean does not, so quotients and remainders are summed separately.
    """
    count = math.prod(x.shape[axis] for axis in axes)
    if x.dtype.kind == "f":
        return total(x, axes, keepdims) / x.dtype.type(count)
    if count == 0:
        raise EvaluationError("the mean of integers must have at least one element; got none")
    wide = x.astype(np.int64 if x.dtype.kind == "i" else np.uint64)
    rest = total(wide % count, axes, keepdims)
    floor = np.add(total(wide // count, axes, keepdims), rest // count)  # `+` of scalars would warn
    return np.asarray(floor + ((floor < 0) & (rest % count != 0))).astype(x.dtype)


def sum_of_magnitudes(x: Array, axes: Axes, keepdims: bool) -> Array:
    return total(np.abs(x), axes, keepdims)


def sum_of_squares(x: Array, axes: Axes, keepdims: bool) -> Array:
    return total(x * x, axes, keepdims)


def root_of_squares(x: Array, axes: Axes, keepdims: bool) -> Array:
    """The root of the sum of squares; of integers, whose squares and sums wrap around, the root is truncated."""
    return cast_result(np.sqrt(to_float(sum_of_squares(x, axes, keepdims))), x)


def log_of_sum(x: Array, axes: Axes, keepdims: bool) -> Array:
    """The logarithm of the sum; integers are summed in float64, and the logarithm is truncated."""
    return cast_result(np.log(total(to_float(x), axes, keepdims)), x)


def log_of_exponentials(x: Array, axes: Axes, keepdims: bool) -> Array:
    """The logarithm of the sum of exponentials; for integers it is truncated."""
    wide = to_float(x)
    top = np.max(wide, axis=axes, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, 0).astype(wide.dtype)  # keeps exp below overflow
    logs = np.log(np.sum(np.exp(wide - top), axis=axes, keepdims=keepdims))
    return cast_result(logs + top.reshape(logs.shape), x)


def greatest(x: Array, axes: Axes, keepdims: bool) -> Array:
    """The maximum; NaN if an element is NaN."""
    return np.max(x, axis=axes, keepdims=keepdims, initial=ends(x.dtype)[0])


def least(x: Array, axes: Axes, keepdims: bool) -> Array:
    """The minimum; NaN if an element is NaN."""
    return np.min(x, axis=axes, keepdims=keepdims, initial=ends(x.dtype)[1])


def ends(dtype: np.dtype[Any]) -> tuple[float, float]:
    """The lowest and the highest value of this type: the maximum and the minimum of no elements."""
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return int(info.min), int(info.max)
    return (False, True) if dtype.kind == "b" else (-np.inf, np.inf)


def to_float(x: Array) -> Array:
    return x if x.dtype.kind == "f" else x.astype(np.float64)


def cast_result(result: Array, x: Array) -> Array:
    """The result in the element type of x, as Cast converts it, which defines NaN and numbers out of range, too."""
    return convert(np.asarray(result), DataType.of(x.dtype), CastRule())


# --- operators -------------------------------------------------------------------------------


@dataclass(frozen=True)
class ReductionSpec:
    """One of the operators."""

    name: str
    by_attribute: tuple[int, ...]  # the versions in which `axes` is an attribute
    by_input: tuple[int, ...]  # the versions in which `axes` is an input
    reduce: Reduce
    fold: shapes.Fold | None = None  # the same reduction of elements that inference knows
    tolerance: Tolerance = "rounding"


REDUCTION_SPECS = (
    ReductionSpec("ReduceSum", (1, 11), (13,), total, shapes.total),
    ReductionSpec("ReduceMean", (1, 11, 13), (18,), mean, shapes.mean),
    ReductionSpec("ReduceProd", (1, 11, 13), (18,), product, dim_product),
    ReductionSpec("ReduceMax", (1, 11, 12, 13), (18, 20), greatest, shapes.greatest, "exact"),
    ReductionSpec("ReduceMin", (1, 11, 12, 13), (18, 20), least, shapes.least, "exact"),
    ReductionSpec("ReduceL1", (1, 11, 13), (18,), sum_of_magnitudes),
    ReductionSpec("ReduceL2", (1, 11, 13), (18,), root_of_squares),
    ReductionSpec("ReduceSumSquare", (1, 11, 13), (18,), sum_of_squares),
    ReductionSpec("ReduceLogSum", (1, 11, 13), (18, 28), log_of_sum),
    ReductionSpec("ReduceLogSumExp", (1, 11, 13), (18, 28), log_of_exponentials),
)
REDUCTION_SUMMARIES = {
    "ReduceSum": "the sum of the elements along axes.",
    "ReduceMean": "the mean of the elements along axes.",
    "ReduceProd": "the product of the elements along axes.",
    "ReduceMax": "the greatest element along axes.",
    "ReduceMin": "the least element along axes.",
    "ReduceL1": "the sum of the elements' magnitudes along axes.",
    "ReduceL2": "the root of the sum of squares along axes.",
    "ReduceSumSquare": "the sum of squares along axes.",
    "ReduceLogSum": "the logarithm of the sum along axes.",
    "ReduceLogSumExp": "the logarithm of the sum of exponentials along axes.",
}
REDUCTION_BODIES: dict[
    str, tuple[BodyFacet, int]
] = {  # the body of the versions in `by_input`, and the operator set that the body imports
    "ReduceL1": (bodies.sum_of_magnitudes, 13),
    "ReduceL2": (bodies.root_of_squares, 13),
    "ReduceSumSquare": (bodies.sum_of_squares, 13),
    "ReduceLogSum": (bodies.log_of_sum, 13),
    "ReduceLogSumExp": (bodies.log_of_exponentials, 18),
}


def make_attribute_kernel(reduce: Reduce) -> Callable[..., Array]:
    def evaluate(data: Array, *, axes: tuple[int, ...] = (), keepdims: int) -> Array:
        chosen = axes_of(axes or range(data.ndim), data.ndim)
        return reduce(data, chosen, bool(keepdims))

    return evaluate


def make_input_kernel(reduce: Reduce) -> Callable[..., Array]:
    def evaluate(
        data: Array, axes: Array | None = None, *, keepdims: int, noop_with_empty_axes: int
    ) -> Array:
        """axes: [n] int64; without axes to reduce, the elementwise part of the operator still applies."""
        named = [] if axes is None else axes.reshape(-1).tolist()
        if not named and not noop_with_empty_axes:
            named = list(range(data.ndim))
        return reduce(data, axes_of(named, data.ndim), bool(keepdims))

    return evaluate


def define_steps(op: Operator, reduction: ReductionSpec) -> None:
    attribute, input = reduction.by_attribute[-1], reduction.by_input[0]
    op.convert((11, 1))(normalize_axes)
    op.convert((attribute, input))(steps.axes_as_input)
    op.convert((input, attribute))(steps.axes_as_attribute)
    if 12 in reduction.by_attribute:
        op.convert((12, 11))(steps.bytes_as_floats)
        op.convert((20, 18))(steps.bools_as_bytes)
    if 28 in reduction.by_input:
        op.convert((18, 28))(steps.integers_as_double)


def define(reduction: ReductionSpec) -> None:
    op = Operator(
        reduction.name,
        tolerance=reduction.tolerance,
        about=REDUCTION_SUMMARIES[reduction.name],
        reduction=True,
        parameters=(1,),
        computes_in_float32=True,
        exact_in_half=reduction.tolerance == "exact",
    )
    define_steps(op, reduction)
    reduce = compute_in_float32(reduction.reduce)
    op.infer(*reduction.by_attribute, *reduction.by_input)(shapes.infer)
    op.eval(*reduction.by_attribute)(make_attribute_kernel(reduce))
    op.eval(*reduction.by_input)(make_input_kernel(reduce))
    if reduction.fold is not None:
        rounds = (
            reduction.fold is shapes.mean
        )  # `fold` rounds the mean, as holds for integers but not for floats
        value = shapes.make_value_facet(reduction.fold, only_integers=rounds)
        op.value(*reduction.by_attribute, *reduction.by_input)(value)
    if reduction.name in REDUCTION_BODIES:
        body, opset = REDUCTION_BODIES[reduction.name]
        op.body(*reduction.by_input, opset=opset)(body)


for reduction in REDUCTION_SPECS:
    define(reduction)
