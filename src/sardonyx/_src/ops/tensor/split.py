"""Split: splits a tensor into parts along one axis.

Spec: ai.onnx Split-1, -2, -11, -13, -18.  The lengths of the parts are an attribute or an input of the type of the data
in version 1, an attribute in 2 and 11, an int64 input from 13 on.  Without lengths, all outputs are equally long up to
13; from 18 on there are `num_outputs` parts, of which the last may be shorter.  11 specifies a negative axis, which is
supported here in all versions.  Version 1 states no default for `axis`; it is 0 here, as in 2.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType, Value
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.dims import Dim, ceil_div, dim_add, dim_mul, dim_sub, exact_div
from sardonyx._src.ops.api import Operator, RunContext
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.support.axes import normalize_axis
from sardonyx._src.ops.support.shapes import axis_of
from sardonyx._src.ops.tensor.elements import elements, numbers, restore_element_type
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter, keep

op = Operator("Split", moves_data=True, under_permutation="along_axis", sizes_input=1, parameters=(1,))


@op.eval(1)
def eval_1(
    input: Array,
    lengths: Array | None = None,
    *,
    split: tuple[int, ...] | None = None,
    axis: int = 0,
    context: RunContext,
) -> tuple[Array, ...]:
    """lengths: [number of outputs] of the type of input; given instead of the attribute `split`."""
    if lengths is not None and split is not None:
        raise EvaluationError("the lengths must not be given both as attribute split and as input 1")
    return parts(input, axis, split if lengths is None else integers(lengths), context)


@op.eval(2, 11)
def eval_2(
    input: Array, *, split: tuple[int, ...] | None = None, axis: int, context: RunContext
) -> tuple[Array, ...]:
    return parts(input, axis, split, context)


@op.eval(13)
def eval_13(input: Array, split: Array | None = None, *, axis: int, context: RunContext) -> tuple[Array, ...]:
    """split: [number of outputs] int64."""
    return parts(input, axis, None if split is None else integers(split), context)


@op.eval(18)
def eval_18(
    input: Array,
    split: Array | None = None,
    *,
    axis: int,
    num_outputs: int | None = None,
    context: RunContext,
) -> tuple[Array, ...]:
    """split: [number of outputs] int64, unless `num_outputs` is given."""
    if (split is None) == (num_outputs is None):
        raise EvaluationError("exactly one of input split and attribute num_outputs must be given")
    if split is not None or num_outputs is None:
        return parts(input, axis, None if split is None else integers(split), context)
    if num_outputs < 1:
        raise EvaluationError(f"num_outputs must be >= 1; got {num_outputs}")
    size = input.shape[axis_of(axis, input.ndim)]
    length = -(-size // num_outputs)
    last = size - length * (num_outputs - 1)
    if last < 0:
        what = f"num_outputs must split {size} entries with only the last part smaller; got {num_outputs}"
        raise EvaluationError(what)
    return parts(input, axis, [length] * (num_outputs - 1) + [last], context)


def integers(lengths: Array) -> list[int]:
    return [int(n) for n in lengths.reshape(-1)]


def parts(input: Array, axis: int, lengths: Sequence[int] | None, context: RunContext) -> tuple[Array, ...]:
    """The parts with these lengths; without lengths, as many equal parts as the node has outputs."""
    axis, count = axis_of(axis, input.ndim), len(context.requested_outputs)
    size = input.shape[axis]
    if lengths is None:
        if size % count:
            raise EvaluationError(
                f"the size of axis {axis} must be a multiple of {count} outputs; got {size}"
            )
        lengths = [size // count] * count
    if len(lengths) != count:
        raise EvaluationError(f"lengths must have {count} entries, one per output; got {len(lengths)}")
    if min(lengths) < 0 or sum(lengths) != size:
        raise EvaluationError(
            f"lengths must be >= 0 and sum to {size}, the size of axis {axis}; got {list(lengths)}"
        )
    results, start = [], 0
    for length in lengths:
        results.append(input[(slice(None),) * axis + (slice(start, start + length),)])
        start += length
    return tuple(results)


op.convert((2, 11))(keep)
op.convert((11, 2))(normalize_axis)


@op.convert((1, 2))
def to_2(adapter: Adapter) -> AdaptedNode:
    """Move lengths from an input to the attribute."""
    lengths = adapter.node.attributes.get("split")
    if adapter.optional(1) is not None:
        known = adapter.inference.constant(1)
        if known is None:
            adapter.refuse("the lengths must be constant: they are an attribute in Split-2")
        return adapter.same([adapter.input(0)], split=integers(known))
    return adapter.same([adapter.input(0)], split=lengths)


@op.convert((2, 1))
def to_1(adapter: Adapter) -> AdaptedNode:
    return adapter.same(axis=adapter.axis())


@op.convert((11, 13))
def convert_11_to_13(adapter: Adapter) -> AdaptedNode:
    return adapter.same([adapter.input(0), adapter.as_input("split")], drop=("split",))


@op.convert((13, 11))
def to_11(adapter: Adapter) -> AdaptedNode:
    return adapter.same([adapter.input(0)], split=adapter.as_attribute(1, "split", AttributeType.INTS))


@op.convert((13, 18))
def to_18(adapter: Adapter) -> AdaptedNode:
    """State the number of parts if the size of the axis is known, else their lengths, which a run computes.

    With num_outputs, version 18 would accept a size that cannot be divided into equal parts, which 13 rejects.
    """
    count, size = len(adapter.node.outputs), adapter.inference.shape(0)
    if adapter.optional(1) is not None:
        return adapter.same()
    if size is not None and isinstance(size[adapter.axis()], int):
        return adapter.same(num_outputs=count)
    length = adapter.Div(measured_size(adapter), adapter.integers([count]))
    return adapter.same([adapter.input(0), adapter.op("Concat", *[length] * count, axis=0)])


@op.convert((18, 13))
def convert_18_to_13(adapter: Adapter) -> AdaptedNode:
    """State the lengths, since without them version 13 requires equal parts."""
    if not adapter.has("num_outputs"):
        return adapter.same()
    count = adapter.inference.integer("num_outputs")
    if count != len(adapter.node.outputs):
        adapter.refuse(f"num_outputs must be the number of outputs, {len(adapter.node.outputs)}; got {count}")
    size = adapter.inference.shape(0)
    along = None if size is None else size[adapter.axis()]
    if not isinstance(along, int):
        return adapter.same([adapter.input(0), measured_lengths(adapter, count)], drop=("num_outputs",))
    length = -(-along // count)
    lengths = adapter.integers([length] * (count - 1) + [along - length * (count - 1)])
    return adapter.same([adapter.input(0), lengths], drop=("num_outputs",))


def measured_lengths(adapter: Adapter, count: int) -> Value:
    """The lengths of `count` parts, of which only the last may be smaller, computed at run time."""
    size = measured_size(adapter)
    length = adapter.Div(adapter.Add(size, adapter.integers([count - 1])), adapter.integers([count]))
    last = adapter.Sub(size, adapter.Mul(length, adapter.integers([count - 1])))
    return adapter.op("Concat", *[length] * (count - 1), last, axis=0)


def measured_size(adapter: Adapter) -> Value:
    """The size of the axis, [1], computed at run time."""
    return adapter.Gather(adapter.Shape(adapter.input(0)), adapter.integers([adapter.axis()]))


# --- inference -------------------------------------------------------------------------------


@op.infer(1, 2, 11, 13, 18)
def infer(inference: Inference) -> Result:
    data = inference.tensor(0)
    if data is None:
        return None
    if data.shape is None:
        return [TensorType(data.dtype)] * inference.outputs
    axis = inference.axis(inference.integer("axis", 0), len(data.shape))
    before, after = data.shape[:axis], data.shape[axis + 1 :]
    lengths = lengths_of(inference, data.shape[axis])
    return [TensorType(data.dtype, (*before, length, *after)) for length in lengths]


@op.value(1, 2, 11, 13, 18)
@restore_element_type
def value(inference: Inference) -> Known | None:
    known = elements(inference, 0)
    if known is None or known.ndim == 0:
        return None
    axis = inference.axis(inference.integer("axis", 0), known.ndim)
    lengths = numbers(lengths_of(inference, known.shape[axis])[: inference.requested_output() + 1])
    return (
        None if lengths is None else known[(slice(None),) * axis + (slice(sum(lengths[:-1]), sum(lengths)),)]
    )


def lengths_of(inference: Inference, size: Dim) -> Sequence[Dim]:
    """The length of each output along an axis of that size."""
    if inference.has(1) and inference.attributes.get("num_outputs") is not None:
        inference.fail("exactly one of input split and attribute num_outputs must be given")
    lengths = inference.dims(1) if inference.has(1) else inference.integers("split")
    if lengths is not None:
        return explicit_lengths(inference, lengths, size)
    if inference.has(1):
        return (None,) * inference.outputs
    return equal_lengths(inference, size) if inference.version < 18 else nearly_equal_lengths(inference, size)


def explicit_lengths(inference: Inference, lengths: Sequence[Dim], size: Dim) -> Sequence[Dim]:
    """The explicit lengths; a single unknown one is inferred from the others."""
    if len(lengths) != inference.outputs:
        inference.fail(f"lengths must have {inference.outputs} entries, one per output; got {len(lengths)}")
    counts = numbers(lengths)
    if counts is not None and isinstance(size, int) and (sum(counts) != size or min(counts) < 0):
        inference.fail(f"lengths must be >= 0 and sum to {size}, the size of the axis; got {list(counts)}")
    inference.require_equal(size, dim_add(0, *lengths))
    known = [n for n in lengths if n is not None]
    if len(known) == len(lengths) - 1:
        rest = dim_sub(size, dim_add(0, *known))
        return [rest if n is None else n for n in lengths]
    return lengths


def equal_lengths(inference: Inference, size: Dim) -> Sequence[Dim]:
    """The lengths up to version 13, if none are stated."""
    try:
        return (exact_div(size, inference.outputs),) * inference.outputs
    except ValueError:
        inference.fail(f"the size of the axis must be a multiple of {inference.outputs} outputs; got {size}")


def nearly_equal_lengths(inference: Inference, size: Dim) -> Sequence[Dim]:
    """The lengths of `num_outputs` parts from version 18 on: the last part may be shorter."""
    count = inference.attributes.get("num_outputs")
    if not isinstance(count, int):
        inference.fail("exactly one of input split and attribute num_outputs must be given")
    if count != inference.outputs:
        inference.fail(f"num_outputs must be the number of outputs, {inference.outputs}; got {count}")
    length = ceil_div(size, count)
    last = dim_sub(size, dim_mul(length, count - 1))
    if isinstance(last, int) and last < 0:
        inference.fail(f"num_outputs must split {size} entries with only the last part smaller; got {count}")
    return [length] * (count - 1) + [last]
