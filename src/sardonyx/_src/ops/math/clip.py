"""Clip: elements limited to [min, max]; `max` wins where it is below `min`.

Spec: ai.onnx Clip-1, -6, -11, -12, -13.  The limits are attributes in 1 and 6, scalar inputs from 11 on.  12 adds
integers, 13 bfloat16 and the rule for a `max` below `min`, which older versions do not mention.  The default of a limit
is the element type's least or greatest finite number, so that infinities are clipped; in 6 it is that of float.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, Attribute, Value
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.math.comparison_steps import select_extreme
from sardonyx._src.ops.math.elementwise import round_to_input_type
from sardonyx._src.ops.support.arithmetic import is_float
from sardonyx._src.ops.support.body_text import element_type, scalar
from sardonyx._src.ops.support.shapes import same_tensor
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

op = Operator("Clip", elementwise=True, exact_in_half=True)
op.infer(1, 6)(same_tensor)


@op.infer(11, 12, 13)
def infer(inference: Inference) -> Result:
    for i, name in ((1, "min"), (2, "max")):
        wide = [d for d in inference.shape(i) or () if isinstance(d, int) and d != 1]
        if wide:
            inference.fail(f"{name} must be a scalar; got an axis of size {wide[0]}")
        inference.require_equal(1, *(inference.shape(i) or ()))
    return same_tensor(inference)


@op.convert((12, 11))
def convert_12_to_11(adapter: Adapter) -> AdaptedNode:
    """Integers, which 11 does not accept, are clipped by Less, Greater and Where."""
    dtype = adapter.inference.dtype(0)
    if dtype is None or not dtype.is_integer:
        return adapter.same()
    result = adapter.input(0)
    for i, op_type in ((1, "Max"), (2, "Min")):
        if (limit := adapter.optional(i)) is not None:
            result = select_extreme(
                adapter, op_type, result, adapter.Reshape(limit, adapter.constant(np.zeros(0, np.int64)))
            )
    return adapter.Identity(result) if result is adapter.input(0) else result


@op.convert((1, 6), (11, 6))
def convert_to_6(adapter: Adapter) -> AdaptedNode:
    """Write each limit as an attribute, which is a float: in version 6, the default of an absent limit is that of float.

    Where a limit is not known, or no float equals it, Max and Min with broadcast limits replace the node.
    """
    if adapter.has("min") and adapter.has("max"):
        return adapter.same(drop=("consumed_inputs",))
    low, high = extremes(number_type(adapter).numpy)
    lowest, highest = float_limit(adapter, 1, "min", low), float_limit(adapter, 2, "max", high)
    if lowest is not None and highest is not None:
        return adapter.same([adapter.input(0)], drop=("consumed_inputs",), min=lowest, max=highest)
    raised = adapter.Max(adapter.input(0), broadcast_limit(adapter, 1, "min", low))
    return adapter.Min(raised, broadcast_limit(adapter, 2, "max", high))


def number_type(adapter: Adapter) -> DataType:
    """The element type of input 0; refused unless it is an integer or float type."""
    dtype = adapter.dtype(0)
    if not dtype.is_float and not dtype.is_integer:
        adapter.refuse(f"input must have a type with a least and a greatest element; got {dtype.text}")
    return dtype


def float_limit(adapter: Adapter, i: int, name: str, extreme: Array) -> Attribute | None:
    """A limit as the attribute of version 6; None if the limit is not known or no float equals it."""
    if name in adapter.node.attributes:
        return adapter.node.attributes[name]
    limit = extreme if adapter.optional(i) is None else adapter.inference.constant(i)
    if limit is None or limit.size != 1:
        return None
    number = float(limit.reshape(()))
    with np.errstate(over="ignore"):
        fits = number != number or float(np.float32(number)) == number
    return Attribute(name, AttributeType.FLOAT, number) if fits else None


def broadcast_limit(adapter: Adapter, i: int, name: str, extreme: Array) -> Value:
    """A limit in a shape that Max and Min accept together with input 0: a scalar if they broadcast, else input 0's."""
    dtype = adapter.dtype(0)
    limit = adapter.optional(i) or (
        adapter.as_input(name, dtype) if adapter.has(name) else adapter.constant(extreme, dtype)
    )
    assert limit is not None, f"{name} is there"
    if adapter.imports.get("", 0) >= 8:  # the first version in which Max and Min broadcast
        return adapter.Reshape(limit, adapter.constant(np.zeros(0, np.int64)))
    x, vector_shape = adapter.input(0), adapter.integers([1])
    return adapter.Reshape(
        adapter.Tile(adapter.Reshape(limit, vector_shape), adapter.Reshape(adapter.Size(x), vector_shape)),
        adapter.Shape(x),
    )


@op.convert((6, 11))
def convert_6_to_11(adapter: Adapter) -> AdaptedNode:
    """Limits become scalar inputs of input 0's type.

    Defaults, the extremes of float in version 6, are omitted if that is the type of input 0, and else written.
    """
    dtype = adapter.dtype(0)
    with np.errstate(over="ignore"):  # in narrower types the extremes of float become infinities
        limits = [
            adapter.as_input(name, dtype) if adapter.has(name) or dtype is not DataType.FLOAT else None
            for name in ("min", "max")
        ]
    return adapter.same([adapter.input(0), *limits], drop=("min", "max"))


@op.eval(11, 12, 13)
def eval_11(input: Array, min: Array | None = None, max: Array | None = None) -> Array:
    """min, max: one element of input's type."""
    lowest, highest = extremes(input.dtype)
    low = lowest if min is None else one_element(min, "min")
    high = highest if max is None else one_element(max, "max")
    return clip(input, low, high)


@op.eval(6)
@op.eval(1, ignores=("consumed_inputs",))
def eval_1(input: Array, *, min: float | None = None, max: float | None = None) -> Array:
    lowest, highest = extremes(input.dtype)
    low = lowest if min is None else np.asarray(min, np.float32)
    high = highest if max is None else np.asarray(max, np.float32)
    return clip(input, low, high)


@round_to_input_type
def clip(x: Array, low: Array, high: Array) -> Array:
    return np.minimum(np.maximum(x, low.astype(x.dtype)), high.astype(x.dtype))


def one_element(limit: Array, name: str) -> Array:
    """The limit as a scalar; a vector of one element is accepted, since files contain it."""
    if limit.size != 1:
        raise EvaluationError(f"{name} must be a scalar; got shape {list(limit.shape)}")
    return limit.reshape(())


def extremes(dtype: np.dtype[Any]) -> tuple[Array, Array]:
    """The least and the greatest finite number of the type."""
    info = ml_dtypes.finfo(dtype) if is_float(dtype) else np.iinfo(dtype)
    return np.asarray(info.min, dtype), np.asarray(info.max, dtype)


@op.body(13, opset=13)
def body(inference: Inference) -> str:
    dtype = element_type(inference)
    low, high = "min" if inference.has(1) else "least", "max" if inference.has(2) else "greatest"
    ends = zip(("least", "greatest"), extremes(dtype.numpy), strict=True)
    needed = [f"{name} = {scalar(end.item(), dtype)}" for name, end in ends if name in (low, high)]
    return f"""(x, min, max) => (y) {{
      {" ".join(needed)}
      raised = Max(x, {low})
      y = Min(raised, {high})
    }}"""
