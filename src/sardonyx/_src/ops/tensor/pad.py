"""Pad: adds entries before and after each axis, or removes them where a count is negative.

Spec: ai.onnx Pad-1, -2, -11, -13, -18, -19, -21, -23, -24, -25.  The counts are `paddings` in version 1, `pads` from 2
on.  Counts and value are attributes in 1 and 2, inputs from 11 on.  18 adds `axes`, 19 the mode wrap; the others add
element types.  The order of counts is [x1_begin, x2_begin, ..., x1_end, x2_end, ...] in all versions; the example of
version 1, which groups them by axis, contradicts its own description and was fixed in 2.  Entries are removed by
negative counts first, and the modes reflect, edge and wrap extend the rest, as in the cases of release 1.24.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.dims import Dim, dim_add
from sardonyx._src.ops.api import Operator, RunContext, check_result_bytes
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.support.shapes import axes_of
from sardonyx._src.ops.tensor.elements import numbers
from sardonyx._src.ops.tensor.zeros import zero
from sardonyx._src.ops.traits import enum_values_by_version
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter, keep

PAD_MODES = {1: ("constant", "reflect", "edge"), 19: ("constant", "reflect", "edge", "wrap")}
op = Operator(
    "Pad",
    moves_data=True,
    under_permutation="pad",
    parameters=(1, 2, 3),
    enum_attributes={"mode": enum_values_by_version(PAD_MODES)},
)


def reflect(positions: Array, size: int) -> Array:
    """Positions mirrored at the first and the last entry, which are not repeated: 0 1 2 3 2 1 0 1 ..."""
    period = max(2 * (size - 1), 1)
    positions = positions % period
    return np.minimum(positions, period - positions)


def clamp_to_edge(positions: Array, size: int) -> Array:
    return positions.clip(0, size - 1)


def wrap(positions: Array, size: int) -> Array:
    return positions % size


# For each mode: the function from positions in the extended axis, which may lie outside [0, size), to source positions.
SOURCE_POSITIONS: dict[str, Callable[[Array, int], Array]] = {
    "reflect": reflect,
    "edge": clamp_to_edge,
    "wrap": wrap,
}


@op.eval(1)
def eval_1(data: Array, *, paddings: tuple[int, ...], mode: str, value: float, context: RunContext) -> Array:
    return eval_2(data, pads=paddings, mode=mode, value=value, context=context)


@op.eval(2)
def eval_2(data: Array, *, pads: tuple[int, ...], mode: str, value: float, context: RunContext) -> Array:
    return pad_array(data, pads, mode, np.array(value, data.dtype), None, context)


@op.eval(11, 13, 18, 19, 21, 23, 24, 25)
def evaluate(
    data: Array,
    pads: Array,
    constant_value: Array | None = None,
    axes: Array | None = None,
    *,
    mode: str,
    context: RunContext,
) -> Array:
    """pads: [2 * n] int64; axes: [n], by default the n axes of data; constant_value: one element."""
    fill = zero(data.dtype) if constant_value is None else constant_value.reshape(())
    chosen = None if axes is None else [int(axis) for axis in axes.reshape(-1)]
    return pad_array(data, [int(n) for n in pads.reshape(-1)], mode, fill, chosen, context)


def pad_array(
    data: Array, pads: Sequence[int], mode: str, fill: Array, axes: Sequence[int] | None, context: RunContext
) -> Array:
    modes = PAD_MODES[19 if context.version >= 19 else 1]
    if mode not in modes:
        raise EvaluationError(
            f"mode must be one of {', '.join(modes)} for Pad-{context.version}; got {mode!r}"
        )
    chosen = axes_of(range(data.ndim) if axes is None else axes, data.ndim)
    if len(pads) != 2 * len(chosen):
        raise EvaluationError(f"pads must have {2 * len(chosen)} entries, two per axis; got {len(pads)}")
    around = {axis: (pads[i], pads[i + len(chosen)]) for i, axis in enumerate(chosen)}
    shape = [n + sum(around.get(i, ())) for i, n in enumerate(data.shape)]
    if min(shape, default=0) < 0:
        raise EvaluationError(
            f"pads must not remove more than the sizes {list(data.shape)}; got {list(pads)}"
        )
    check_result_bytes(context, shape, data.dtype, "Pad result")
    if mode == "constant":
        return pad_with_constant(data, around, shape, fill)
    for axis, (before, after) in around.items():
        data = extend_axis(data, axis, before, after, mode)
    return data


def pad_with_constant(
    data: Array, around: dict[int, tuple[int, int]], shape: Sequence[int], fill: Array
) -> Array:
    """data with the counts `around` each axis added or removed, in an array of `shape` filled with `fill`."""
    result = np.full(shape, fill, data.dtype)
    inner, outer = [], []
    for axis, size in enumerate(data.shape):
        before, after = around.get(axis, (0, 0))
        first, last = max(-before, 0), max(size - max(-after, 0), 0)
        outer.append(slice(first, max(first, last)))
        inner.append(slice(first + before, max(first, last) + before))
    result[tuple(inner)] = data[tuple(outer)]
    return result


def extend_axis(data: Array, axis: int, before: int, after: int, mode: str) -> Array:
    """data with one axis first cropped by negative counts, then extended by positive ones, at both ends."""
    first, last = max(-before, 0), data.shape[axis] - max(-after, 0)
    data = data[(slice(None),) * axis + (slice(first, max(first, last)),)]
    if before <= 0 and after <= 0:
        return data
    if last <= first:
        raise EvaluationError(f"axis {axis} must not be empty, or cropped to nothing, for mode {mode!r}")
    size = last - first
    positions = SOURCE_POSITIONS[mode](np.arange(-max(before, 0), size + max(after, 0)), size)
    return data[(slice(None),) * axis + (positions,)]


@op.convert((1, 2))
def convert_1_to_2(adapter: Adapter) -> AdaptedNode:
    return adapter.same(drop=("paddings",), pads=adapter.rename_attribute("paddings", "pads"))


@op.convert((2, 1))
def to_1(adapter: Adapter) -> AdaptedNode:
    return adapter.same(drop=("pads",), paddings=adapter.rename_attribute("pads", "paddings"))


@op.convert((2, 11))
def to_11(adapter: Adapter) -> AdaptedNode:
    value = adapter.as_input("value", adapter.dtype(0))
    return adapter.same([adapter.input(0), adapter.as_input("pads"), value], drop=("pads", "value"))


@op.convert((11, 2))
def convert_11_to_2(adapter: Adapter) -> AdaptedNode:
    pads = adapter.as_attribute(1, "pads", AttributeType.INTS)
    return adapter.same(
        [adapter.input(0)], pads=pads, value=adapter.as_attribute(2, "value", AttributeType.FLOAT)
    )


op.convert((11, 13), (13, 11), (13, 18), (18, 19))(keep)
op.convert(*[s for a, b in ((19, 21), (21, 23), (23, 24), (24, 25)) for s in ((a, b), (b, a))])(keep)


@op.convert((19, 18))
def to_18(adapter: Adapter) -> AdaptedNode:
    if adapter.inference.attributes["mode"] == "wrap":
        adapter.refuse("mode must not be 'wrap' for Pad-18")
    return adapter.same()


@op.convert((18, 13))
def to_13(adapter: Adapter) -> AdaptedNode:
    """Replace `axes` by pads for all axes, which are 0 for the axes not in `axes`."""
    if adapter.optional(3) is None:
        return adapter.same()
    rank, axes, pads = adapter.rank(0), adapter.inference.constant(3), adapter.inference.constant(1)
    if axes is None:
        adapter.refuse("axes must be constant: Pad-13 has pads for all axes")
    chosen = axes_of([int(axis) for axis in axes.reshape(-1)], rank)
    positions = {axis + end * rank: i + end * len(chosen) for i, axis in enumerate(chosen) for end in (0, 1)}
    if pads is not None:
        flat = pads.reshape(-1).tolist()
        full = adapter.integers([flat[positions[i]] if i in positions else 0 for i in range(2 * rank)])
    else:
        longer = adapter.op("Concat", adapter.input(1), adapter.integers([0]), axis=0)
        full = adapter.Gather(
            longer, adapter.integers([positions.get(i, 2 * len(chosen)) for i in range(2 * rank)])
        )
    return adapter.same([adapter.input(0), full, adapter.optional(2)])


# --- inference -------------------------------------------------------------------------------


@op.infer(1, 2, 11, 13, 18, 19, 21, 23, 24, 25)
def infer(inference: Inference) -> Result:
    data = inference.tensor(0)
    if data is None or data.shape is None:
        return data
    rank = len(data.shape)
    pads = (
        inference.dims(1)
        if inference.version > 2
        else inference.integers("paddings" if inference.version == 1 else "pads")
    )
    axes = tuple(range(rank)) if not inference.has(3) else known_axes(inference)
    if axes is None:
        return TensorType(data.dtype, (None,) * rank)
    chosen = inference.axes(axes, rank)
    if pads is None:
        pads = (None,) * (2 * len(chosen))
    if len(pads) != 2 * len(chosen):
        inference.fail(f"pads must have {2 * len(chosen)} entries, two per axis; got {len(pads)}")
    shape = list(data.shape)
    for i, axis in enumerate(chosen):
        shape[axis] = padded_dim(inference, shape[axis], pads[i], pads[i + len(chosen)])
    return TensorType(data.dtype, tuple(shape))


def known_axes(inference: Inference) -> tuple[int, ...] | None:
    """The elements of the input `axes`; None unless all are known."""
    dims = inference.dims(3)
    return None if dims is None else numbers(dims)


def padded_dim(inference: Inference, size: Dim, before: Dim, after: Dim) -> Dim:
    result = dim_add(size, before, after)
    if isinstance(result, int) and result < 0:
        inference.fail(f"pads must not remove more than the size {size} of an axis; got {before} and {after}")
    return result
