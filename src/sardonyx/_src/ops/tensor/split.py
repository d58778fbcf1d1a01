"""Split: a tensor cut into parts along one axis.

Spec: ai.onnx Split-1, -2, -11, -13, -18.  The lengths are an attribute or an input of the type of the data in version
1, an attribute in 2 and 11, an int64 input from 13 on.  Without lengths the parts are equal, as many as the node has
outputs; from 18 on as many as `num_outputs` says, of which the last may be smaller.  11 says that a negative axis
counts from the back, which it does here in all versions.  Version 1 names no default for `axis`: it is 0 as in 2.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.dims import Dim, ceil_div, dim_add, dim_mul, dim_sub, exact_div
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Call, Operator
from sardonyx._src.ops.axes import from_the_front
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.shapes import axis_of
from sardonyx._src.ops.tensor.elements import elements, numbers, settled

op = Operator("Split")


@op.eval(1)
def eval_1(
    input: Array,
    lengths: Array | None = None,
    *,
    split: tuple[int, ...] | None = None,
    axis: int = 0,
    call: Call,
) -> tuple[Array, ...]:
    """lengths: [number of outputs] of the type of input, in place of the attribute `split`."""
    if lengths is not None and split is not None:
        raise EvaluationError("the lengths are given twice: as attribute split and as input 1")
    return parts(input, axis, split if lengths is None else integers(lengths), call)


@op.eval(2, 11)
def eval_2(input: Array, *, split: tuple[int, ...] | None = None, axis: int, call: Call) -> tuple[Array, ...]:
    return parts(input, axis, split, call)


@op.eval(13)
def eval_13(input: Array, split: Array | None = None, *, axis: int, call: Call) -> tuple[Array, ...]:
    """split: [number of outputs] int64."""
    return parts(input, axis, None if split is None else integers(split), call)


@op.eval(18)
def eval_18(
    input: Array, split: Array | None = None, *, axis: int, num_outputs: int | None = None, call: Call
) -> tuple[Array, ...]:
    """split: [number of outputs] int64, unless `num_outputs` is given."""
    if (split is None) == (num_outputs is None):
        raise EvaluationError("exactly one of input split and attribute num_outputs is wanted")
    if split is not None or num_outputs is None:
        return parts(input, axis, None if split is None else integers(split), call)
    if num_outputs < 1:
        raise EvaluationError(f"num_outputs is {num_outputs}, where at least 1 is wanted")
    size = input.shape[axis_of(axis, input.ndim)]
    length = -(-size // num_outputs)
    last = size - length * (num_outputs - 1)
    if last < 0:
        what = f"{size} entries do not make {num_outputs} parts of which the last alone is smaller"
        raise EvaluationError(what)
    return parts(input, axis, [length] * (num_outputs - 1) + [last], call)


def integers(lengths: Array) -> list[int]:
    return [int(n) for n in lengths.reshape(-1)]


def parts(input: Array, axis: int, lengths: Sequence[int] | None, call: Call) -> tuple[Array, ...]:
    axis, count = axis_of(axis, input.ndim), len(call.wanted)
    size = input.shape[axis]
    if lengths is None:
        if size % count:
            raise EvaluationError(f"axis {axis} of size {size} cannot be cut into {count} equal parts")
        lengths = [size // count] * count
    if len(lengths) != count:
        raise EvaluationError(f"{len(lengths)} parts are asked for, where the node has {count} outputs")
    if min(lengths) < 0 or sum(lengths) != size:
        raise EvaluationError(f"lengths {list(lengths)} do not make up axis {axis} of size {size}")
    results, start = [], 0
    for length in lengths:
        results.append(input[(slice(None),) * axis + (slice(start, start + length),)])
        start += length
    return tuple(results)


op.convert((2, 11))(lambda c: c.same())
op.convert((11, 2))(from_the_front)


@op.convert((1, 2))
def to_2(c: Change) -> Converted:
    """Version 1 may have the lengths as an input of the type of the data."""
    lengths = c.node.attributes.get("split")
    if c.optional(1) is not None:
        found = c.t.constant(1)
        if found is None:
            c.refuse("the lengths are an input that is not constant; they are an attribute there")
        return c.same([c.input(0)], split=integers(found))
    return c.same([c.input(0)], split=lengths)


@op.convert((2, 1))
def to_1(c: Change) -> Converted:
    return c.same(axis=c.axis())


@op.convert((11, 13))
def to_13(c: Change) -> Converted:
    return c.same([c.input(0), c.as_input("split")], drop=("split",))


@op.convert((13, 11))
def to_11(c: Change) -> Converted:
    return c.same([c.input(0)], split=c.as_attribute(1, "split", AttributeType.INTS))


@op.convert((13, 18))
def to_18(c: Change) -> Converted:
    return c.same() if c.optional(1) is not None else c.same(num_outputs=len(c.node.outputs))


@op.convert((18, 13))
def to_13_again(c: Change) -> Converted:
    """Without lengths the parts are equal there; where the last one is smaller they have to be said."""
    if not c.has("num_outputs"):
        return c.same()
    count = c.t.integer("num_outputs")
    if count != len(c.node.outputs):
        c.refuse(f"num_outputs is {count}, and the node has {len(c.node.outputs)} outputs")
    size = c.t.shape(0)
    along = None if size is None else size[c.axis()]
    if not isinstance(along, int):
        return c.same([c.input(0), measured_lengths(c, count)], drop=("num_outputs",))
    length = -(-along // count)
    lengths = c.integers([length] * (count - 1) + [along - length * (count - 1)])
    return c.same([c.input(0), lengths], drop=("num_outputs",))


def measured_lengths(c: Change, count: int) -> Value:
    """The lengths of `count` parts of which the last alone may be smaller, worked out as the model runs."""
    size = c.Gather(c.Shape(c.input(0)), c.integers([c.axis()]))
    length = c.Div(c.Add(size, c.integers([count - 1])), c.integers([count]))
    last = c.Sub(size, c.Mul(length, c.integers([count - 1])))
    return c.op("Concat", *[length] * (count - 1), last, axis=0)


# --- inference -------------------------------------------------------------------------------


@op.infer(1, 2, 11, 13, 18)
def infer(t: Inference) -> Result:
    data = t.tensor(0)
    if data is None:
        return None
    if data.shape is None:
        return [TensorType(data.dtype)] * t.outputs
    axis = t.axis(t.integer("axis", 0), len(data.shape))
    before, after = data.shape[:axis], data.shape[axis + 1 :]
    lengths = lengths_of(t, data.shape[axis])
    return [TensorType(data.dtype, (*before, length, *after)) for length in lengths]


@op.value(1, 2, 11, 13, 18)
@settled
def value(t: Inference) -> Known | None:
    found = elements(t, 0)
    if found is None or found.ndim == 0:
        return None
    axis = t.axis(t.integer("axis", 0), found.ndim)
    lengths = numbers(lengths_of(t, found.shape[axis])[: t.output() + 1])
    return (
        None if lengths is None else found[(slice(None),) * axis + (slice(sum(lengths[:-1]), sum(lengths)),)]
    )


def lengths_of(t: Inference, size: Dim) -> Sequence[Dim]:
    """The length of each output along an axis of that size."""
    if t.has(1) and t.attributes.get("num_outputs") is not None:
        t.fail("exactly one of input split and attribute num_outputs is wanted")
    lengths = t.dims(1) if t.has(1) else t.integers("split")
    if lengths is not None:
        return given_lengths(t, lengths, size)
    if t.has(1):
        return (None,) * t.outputs
    return equal_lengths(t, size) if t.version < 18 else nearly_equal_lengths(t, size)


def given_lengths(t: Inference, lengths: Sequence[Dim], size: Dim) -> Sequence[Dim]:
    """The lengths that the node is given; a single unknown one is what the others leave."""
    if len(lengths) != t.outputs:
        t.fail(f"{len(lengths)} parts are asked for, where the node has {t.outputs} outputs")
    counts = numbers(lengths)
    if counts is not None and isinstance(size, int) and (sum(counts) != size or min(counts) < 0):
        t.fail(f"lengths {list(counts)} do not make up an axis of size {size}")
    known = [n for n in lengths if n is not None]
    if len(known) == len(lengths) - 1:
        rest = dim_sub(size, dim_add(0, *known))
        return [rest if n is None else n for n in lengths]
    return lengths


def equal_lengths(t: Inference, size: Dim) -> Sequence[Dim]:
    try:
        return (exact_div(size, t.outputs),) * t.outputs
    except ValueError:
        t.fail(f"an axis of size {size} cannot be cut into {t.outputs} equal parts")


def nearly_equal_lengths(t: Inference, size: Dim) -> Sequence[Dim]:
    count = t.attributes.get("num_outputs")
    if not isinstance(count, int):
        t.fail("exactly one of input split and attribute num_outputs is wanted")
    if count != t.outputs:
        t.fail(f"num_outputs is {count}, where the node has {t.outputs} outputs")
    length = ceil_div(size, count)
    last = dim_sub(size, dim_mul(length, count - 1))
    if isinstance(last, int) and last < 0:
        t.fail(f"{size} entries do not make {count} parts of which the last alone is smaller")
    return [length] * (count - 1) + [last]
