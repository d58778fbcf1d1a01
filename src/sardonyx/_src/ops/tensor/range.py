"""Range: numbers from `start` up to `limit`, which is not among them, by steps of `delta`.

Spec: ai.onnx Range-11, -27.  27 adds float16 and bfloat16, which are computed in the type that `stash_type` names and
rounded once.  Other types are computed in themselves: how many numbers there are is
max(ceil((limit - start) / delta), 0), and number i is start + i * delta.
"""

from __future__ import annotations

import math

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import Dim, Expr, ceil_div, dim_max, dim_sub
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Call, Operator, claim
from sardonyx._src.ops.arithmetic import is_narrow, narrow
from sardonyx._src.ops.body_text import element_type, scalar
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.shapes import element
from sardonyx._src.ops.tensor.elements import LIMIT, vector

op = Operator("Range", tolerance="rounding")
INTEGERS = (DataType.INT16, DataType.INT32, DataType.INT64)


@op.eval(11)
def eval_11(start: Array, limit: Array, delta: Array, *, call: Call) -> Array:
    """start, limit, delta: scalars; result: [count] of their type."""
    return numbers(start, limit, delta, start.dtype, call)


@op.eval(27)
def eval_27(start: Array, limit: Array, delta: Array, *, stash_type: int, call: Call) -> Array:
    stash = stashed(start.dtype, stash_type)
    if stash is None:
        raise EvaluationError(f"stash_type is {stash_type}, which is not the number of a floating-point type")
    return numbers(start, limit, delta, stash, call)


def stashed(dtype: np.dtype[np.generic], stash_type: int) -> np.dtype[np.generic] | None:
    """The type to compute in; None when `stash_type` is needed and no type to compute in."""
    if not is_narrow(dtype):
        return dtype
    allowed = (DataType.FLOAT, DataType.DOUBLE, DataType.FLOAT16, DataType.BFLOAT16)
    return DataType.numbered(stash_type).numpy if stash_type in allowed else None


def numbers(start: Array, limit: Array, delta: Array, dtype: np.dtype[np.generic], call: Call) -> Array:
    first, end, step = (x.reshape(()).astype(dtype) for x in (start, limit, delta))
    count = count_of(first, end, step)
    if count is None:
        raise EvaluationError(f"there is no number of steps of {step} from {first} to {end}")
    claim(call, [count], dtype, "Range result")
    if dtype.kind == "i":
        return first + np.arange(count, dtype=np.int64).astype(dtype) * step
    return narrow(first + np.arange(count).astype(dtype) * step, start.dtype)


def count_of(start: Array, limit: Array, delta: Array) -> int | None:
    """How many numbers lie in the range; None where it has no such number."""
    if delta == 0:
        return None
    if start.dtype.kind == "i":
        return max(-(-(int(limit) - int(start)) // int(delta)), 0)
    with np.errstate(all="ignore"):
        steps = float((limit - start) / delta)
    return max(math.ceil(steps), 0) if math.isfinite(steps) else None


@op.convert((11, 27))
def to_27(c: Change) -> Converted:
    return c.same()


@op.convert((27, 11))
def to_11(c: Change) -> Converted:
    """`stash_type` concerns the types alone that version 11 does not take."""
    return c.same(drop=("stash_type",))


# --- inference -------------------------------------------------------------------------------


@op.infer(11, 27)
def infer(t: Inference) -> Result:
    dtype = element(*t.inputs)
    if dtype is None:
        return None
    found = count(t, dtype)
    return TensorType(dtype, (t.new_dim() if found is None else found,))


def count(t: Inference, dtype: DataType) -> Dim:
    if dtype not in INTEGERS:
        return float_count(t)
    start, limit, delta = (integer(t, i) for i in range(3))
    if not isinstance(delta, int):
        return None
    if delta == 0:
        t.fail("delta is 0")
    steps = ceil_div(dim_sub(limit, start), delta)
    return None if steps is None else dim_max(steps, 0)


def float_count(t: Inference) -> int | None:
    constants = [t.constant(i) for i in range(3)]
    start, limit, delta = (None if x is None or x.size != 1 else x.reshape(()) for x in constants)
    if start is None or limit is None or delta is None:
        return None
    stash_type = t.attributes.get("stash_type", DataType.FLOAT)
    stash = stashed(start.dtype, stash_type) if isinstance(stash_type, int) else None
    return None if stash is None else count_of(*(x.astype(stash) for x in (start, limit, delta)))


def integer(t: Inference, i: int) -> Dim:
    """The element of input i, a scalar of integers."""
    dims = t.dims(i)
    return dims[0] if dims is not None and len(dims) == 1 else None


@op.value(11, 27)
def value(t: Inference) -> Known | None:
    dtype = element(*t.inputs)
    if dtype not in INTEGERS:
        return None
    steps, start, delta = count(t, dtype), integer(t, 0), integer(t, 2)
    if not isinstance(steps, int) or steps > LIMIT or not isinstance(delta, int):
        return None
    if not isinstance(start, int | Expr):
        return None
    found = vector([start + i * delta for i in range(steps)])
    return found.astype(dtype.numpy) if found.dtype != object else found


@op.body(27, opset=13)
@op.body(11, opset=11)
def body(t: Inference) -> str:
    """Integers are computed in int64, which Mul takes in every operator set."""
    dtype = element_type(t)
    stash = stashed(dtype.numpy, t.integer("stash_type", DataType.FLOAT))
    if stash is None:
        t.fail(
            f"stash_type is {t.attributes['stash_type']}, which is not the number of a floating-point type"
        )
    wide = DataType.INT64 if dtype in INTEGERS else DataType.of(stash)
    return f"""(start, limit, delta) => (y) {{
      first = Cast <to = {int(wide)}> (start)
      end = Cast <to = {int(wide)}> (limit)
      step = Cast <to = {int(wide)}> (delta)
      none = {scalar(0, DataType.INT64)}{WHOLE_STEPS if dtype in INTEGERS else REAL_STEPS}
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
# The way can be longer than the largest int64; as uint64 it is right.
WHOLE_STEPS = """
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
