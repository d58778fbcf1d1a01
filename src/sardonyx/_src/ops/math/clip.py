"""Clip: elements kept within limits; `max` wins where it is below `min`.

Spec: ai.onnx Clip-1, -6, -11, -12, -13.  The limits are attributes in 1 and 6, scalar inputs from 11 on.  12 adds
integers, 13 bfloat16 and the rule for limits that cross, of which the others do not speak.  A limit left out is the
element type's least or greatest number, so that infinities are clipped; in 6 the default is that of float.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.graph import Attribute, Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.arithmetic import is_float
from sardonyx._src.ops.body_text import element_type, scalar
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.math.comparison_steps import pick
from sardonyx._src.ops.math.elementwise import in_own_type
from sardonyx._src.ops.shapes import same_tensor

op = Operator("Clip", elementwise=True)
op.infer(1, 6)(same_tensor)


@op.infer(11, 12, 13)
def infer(t: Inference) -> Result:
    for i, name in ((1, "min"), (2, "max")):
        wide = [d for d in t.shape(i) or () if isinstance(d, int) and d != 1]
        if wide:
            t.fail(f"{name} has an axis of size {wide[0]}; it has to be a scalar")
    return same_tensor(t)


@op.convert((12, 11))
def down_to_11(c: Change) -> Converted:
    """Integers, which the others do not take, are picked by comparing."""
    dtype = c.t.dtype(0)
    if dtype is None or not dtype.is_integer:
        return c.same()
    result = c.input(0)
    for i, op_type in ((1, "Max"), (2, "Min")):
        if (limit := c.optional(i)) is not None:
            result = pick(c, op_type, result, c.Reshape(limit, c.constant(np.zeros(0, np.int64))))
    return c.Identity(result) if result is c.input(0) else result


@op.convert((1, 6), (11, 6))
def to_6(c: Change) -> Converted:
    """A limit left out is the element type's extreme elsewhere and that of float in version 6.

    A limit that is no FLOAT, or not known, is spread over the shape of the input for Max or Min.
    """
    if c.has("min") and c.has("max"):
        return c.same(drop=("consumed_inputs",))
    low, high = extremes(number_type(c).numpy)
    least, greatest = float_limit(c, 1, "min", low), float_limit(c, 2, "max", high)
    if least is not None and greatest is not None:
        return c.same([c.input(0)], drop=("consumed_inputs",), min=least, max=greatest)
    raised = c.Max(c.input(0), spread(c, 1, "min", low))
    return c.Min(raised, spread(c, 2, "max", high))


def number_type(c: Change) -> DataType:
    dtype = c.dtype(0)
    if not dtype.is_float and not dtype.is_integer:
        c.refuse(f"input is of {dtype.text}, of which there is no extreme")
    return dtype


def float_limit(c: Change, i: int, name: str, extreme: Array) -> Attribute | None:
    """A limit as the attribute of version 6; None where that cannot hold it."""
    if name in c.node.attributes:
        return c.node.attributes[name]
    found = extreme if c.optional(i) is None else c.t.constant(i)
    if found is None or found.size != 1:
        return None
    number = float(found.reshape(()))
    with np.errstate(over="ignore"):
        fits = number != number or float(np.float32(number)) == number
    return Attribute(name, AttributeType.FLOAT, number) if fits else None


def spread(c: Change, i: int, name: str, extreme: Array) -> Value:
    """A limit that Max and Min put together with input 0."""
    dtype = c.dtype(0)
    limit = c.optional(i) or (c.as_input(name, dtype) if c.has(name) else c.constant(extreme, dtype))
    assert limit is not None, f"{name} is there"
    if c.imports.get("", 0) >= 8:  # which broadcasts
        return c.Reshape(limit, c.constant(np.zeros(0, np.int64)))
    x, one = c.input(0), c.integers([1])
    return c.Reshape(c.Tile(c.Reshape(limit, one), c.Reshape(c.Size(x), one)), c.Shape(x))


@op.convert((6, 11))
def to_11(c: Change) -> Converted:
    """Limits become scalars of input's type; float's own extremes need not be said."""
    dtype = c.dtype(0)
    with np.errstate(over="ignore"):  # the extremes of float are infinities of narrower types
        limits = [
            c.as_input(name, dtype) if c.has(name) or dtype is not DataType.FLOAT else None
            for name in ("min", "max")
        ]
    return c.same([c.input(0), *limits], drop=("min", "max"))


@op.eval(11, 12, 13)
def eval_11(input: Array, min: Array | None = None, max: Array | None = None) -> Array:
    """min, max: one element of input's type."""
    least, greatest = extremes(input.dtype)
    low = least if min is None else one_element(min, "min")
    high = greatest if max is None else one_element(max, "max")
    return clipped(input, low, high)


@op.eval(6)
@op.eval(1, ignores=("consumed_inputs",))
def eval_1(input: Array, *, min: float | None = None, max: float | None = None) -> Array:
    least, greatest = extremes(input.dtype)
    low = least if min is None else np.asarray(min, np.float32)
    high = greatest if max is None else np.asarray(max, np.float32)
    return clipped(input, low, high)


@in_own_type
def clipped(x: Array, low: Array, high: Array) -> Array:
    return np.minimum(np.maximum(x, low.astype(x.dtype)), high.astype(x.dtype))


def one_element(limit: Array, name: str) -> Array:
    """The limit as a scalar; files with a vector of one element exist."""
    if limit.size != 1:
        raise EvaluationError(f"{name} has shape {list(limit.shape)}; it has to be a scalar")
    return limit.reshape(())


def extremes(dtype: np.dtype[Any]) -> tuple[Array, Array]:
    """The least and the greatest finite number of the type."""
    info = ml_dtypes.finfo(dtype) if is_float(dtype) else np.iinfo(dtype)
    return np.asarray(info.min, dtype), np.asarray(info.max, dtype)


@op.body(13, opset=13)
def body(t: Inference) -> str:
    dtype = element_type(t)
    low, high = "min" if t.has(1) else "least", "max" if t.has(2) else "greatest"
    ends = zip(("least", "greatest"), extremes(dtype.numpy), strict=True)
    needed = [f"{name} = {scalar(end.item(), dtype)}" for name, end in ends if name in (low, high)]
    return f"""(x, min, max) => (y) {{
      {" ".join(needed)}
      raised = Max(x, {low})
      y = Min(raised, {high})
    }}"""
