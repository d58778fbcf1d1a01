"""Range: numbers from `start` to `limit` (exclusive) in steps of `delta`.

Spec: ai.onnx Range-11, -27.  27 adds float16 and bfloat16, which are computed in the type that `stash_type` names and
rounded once.  Other types are computed in their own precision.  The number of elements is
max(ceil((limit - start) / delta), 0), and element i is start + i * delta.
"""

from __future__ import annotations

import math

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ir.dims import Dim, Expr, ceil_div, dim_max, dim_sub
from sardonyx._src.ops.api import Operator, RunContext, check_result_bytes
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.support.arithmetic import is_narrow, round_to_type
from sardonyx._src.ops.support.body_text import element_type, scalar
from sardonyx._src.ops.support.shapes import first_element_type
from sardonyx._src.ops.tensor.elements import MAX_KNOWN_ELEMENTS, vector
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

op = Operator("Range", tolerance="rounding", fixed_rounding=True, parameters=(0, 1, 2))
RANGE_INTEGERS = (DataType.INT16, DataType.INT32, DataType.INT64)


@op.eval(11)
def eval_11(start: Array, limit: Array, delta: Array, *, context: RunContext) -> Array:
    """start, limit, delta: scalars; result: [count] of their type."""
    return numbers(start, limit, delta, start.dtype, context)


@op.eval(27)
def eval_27(start: Array, limit: Array, delta: Array, *, stash_type: int, context: RunContext) -> Array:
    stash = computation_type(start.dtype, stash_type)
    if stash is None:
        raise EvaluationError(f"stash_type must be a floating-point type; got {stash_type}")
    return numbers(start, limit, delta, stash, context)


def computation_type(dtype: np.dtype[np.generic], stash_type: int) -> np.dtype[np.generic] | None:
    """The type of the computation; None if `stash_type`, which defines it for narrow floats, is no float type."""
    if not is_narrow(dtype):
        return dtype
    allowed = (DataType.FLOAT, DataType.DOUBLE, DataType.FLOAT16, DataType.BFLOAT16)
    return DataType.from_number(stash_type).numpy if stash_type in allowed else None


def numbers(
    start: Array, limit: Array, delta: Array, dtype: np.dtype[np.generic], context: RunContext
) -> Array:
    """The range computed in `dtype`; narrow floats are rounded to the type of `start` at the end."""
    first, end, step = (x.reshape(()).astype(dtype) for x in (start, limit, delta))
    count = count_of(first, end, step)
    if count is None:
        raise EvaluationError(
            f"delta must lead from start to limit in a finite number of steps; got {first}, {end}, {step}"
        )
    check_result_bytes(context, [count], dtype, "Range result")
    if dtype.kind == "i":
        return first + np.arange(count, dtype=np.int64).astype(dtype) * step
    return round_to_type(first + np.arange(count).astype(dtype) * step, start.dtype)


def count_of(start: Array, limit: Array, delta: Array) -> int | None:
    """The number of elements of the range; None if it is undefined or infinite."""
    if delta == 0:
        return None
    if start.dtype.kind == "i":
        return max(-(-(int(limit) - int(start)) // int(delta)), 0)
    with np.errstate(all="ignore"):
        steps = float((limit - start) / delta)
    return max(math.ceil(steps), 0) if math.isfinite(steps) else None


@op.convert((11, 27))
def to_27(adapter: Adapter) -> AdaptedNode:
    return adapter.same()


@op.convert((27, 11))
def to_11(adapter: Adapter) -> AdaptedNode:
    """Drop `stash_type`, which affects only types that version 11 lacks."""
    return adapter.same(drop=("stash_type",))


# --- inference -------------------------------------------------------------------------------


@op.infer(11, 27)
def infer(inference: Inference) -> Result:
    dtype = first_element_type(*inference.inputs)
    if dtype is None:
        return None
    values = count(inference, dtype)
    return TensorType(dtype, (inference.new_dim() if values is None else values,))


def count(inference: Inference, dtype: DataType) -> Dim:
    """The number of elements; None if it is not known."""
    if dtype not in RANGE_INTEGERS:
        return float_count(inference)
    start, limit, delta = (integer(inference, i) for i in range(3))
    if not isinstance(delta, int):
        return None
    if delta == 0:
        inference.fail("delta must not be 0")
    steps = ceil_div(dim_sub(limit, start), delta)
    return None if steps is None else dim_max(steps, 0)


def float_count(inference: Inference) -> int | None:
    """The number of elements of a range of floats; None unless all inputs are constants."""
    constants = [inference.constant(i) for i in range(3)]
    start, limit, delta = (None if x is None or x.size != 1 else x.reshape(()) for x in constants)
    if start is None or limit is None or delta is None:
        return None
    stash_type = inference.attributes.get("stash_type", DataType.FLOAT)
    stash = computation_type(start.dtype, stash_type) if isinstance(stash_type, int) else None
    return None if stash is None else count_of(*(x.astype(stash) for x in (start, limit, delta)))


def integer(inference: Inference, i: int) -> Dim:
    """The element of input i, an integer scalar; None if unknown."""
    dims = inference.dims(i)
    return dims[0] if dims is not None and len(dims) == 1 else None


@op.value(11, 27)
def value(inference: Inference) -> Known | None:
    dtype = first_element_type(*inference.inputs)
    if dtype not in RANGE_INTEGERS:
        return None
    steps, start, delta = count(inference, dtype), integer(inference, 0), integer(inference, 2)
    if not isinstance(steps, int) or steps > MAX_KNOWN_ELEMENTS or not isinstance(delta, int):
        return None
    if not isinstance(start, int | Expr):
        return None
    values = vector([start + i * delta for i in range(steps)])
    return values.astype(dtype.numpy) if values.dtype != object else values


@op.body(27, opset=13)
@op.body(11, opset=11)
def body(inference: Inference) -> str:
    """Integers are computed in int64, which Mul supports in every operator set."""
    dtype = element_type(inference)
    stash = computation_type(dtype.numpy, inference.integer("stash_type", DataType.FLOAT))
    if stash is None:
        inference.fail(f"stash_type must be a floating-point type; got {inference.attributes['stash_type']}")
    wide = DataType.INT64 if dtype in RANGE_INTEGERS else DataType.of(stash)
    return f"""(start, limit, delta) => (y) {{
      first = Cast <to = {int(wide)}> (start)
      end = Cast <to = {int(wide)}> (limit)
      step = Cast <to = {int(wide)}> (delta)
      none = {scalar(0, DataType.INT64)}{INTEGER_STEPS if dtype in RANGE_INTEGERS else REAL_STEPS}
      single = Constant <value = int64[1] {{1}}> ()
      count = Reshape(steps, single)
      ones = ConstantOfShape <value = int64[1] {{1}}> (count)
      places = CumSum <exclusive = 1> (ones, none)
      times = Cast <to = {int(wide)}> (places)
      ways = Mul(times, step)
      numbers = Add(first, ways)
      y = Cast <to = {int(dtype)}> (numbers)
    }}"""


REAL_STEPS = """
      way = Sub(end, first)
      ratio = Div(way, step)
      whole = Ceil(ratio)
      found = Cast <to = 7> (whole)
      is_way = Less(none, found)
      steps = Where(is_way, found, none)"""
# The distance between start and limit can exceed the largest int64: it wraps around, and is right again as uint64.
INTEGER_STEPS = """
      one = Constant <value = uint64 {1}> ()
      is_falling = Less(step, none)
      low = Where(is_falling, end, first)
      high = Where(is_falling, first, end)
      is_way = Less(low, high)
      way = Sub(high, low)
      length = Cast <to = 13> (way)
      size = Abs(step)
      stride = Cast <to = 13> (size)
      short = Sub(length, one)
      full = Div(short, stride)
      all = Add(full, one)
      found = Cast <to = 7> (all)
      steps = Where(is_way, found, none)"""
