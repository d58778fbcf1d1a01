"""GroupNormalization: each group of channels normalized to mean 0 and variance 1, then scaled and shifted.

Spec: ai.onnx GroupNormalization-18, -21.  Version 18, which is deprecated, has one scale and bias for each group; 21
has one for each channel, and `stash_type`, a separate precision for the statistics.
"""

from __future__ import annotations

import math

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, Value
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn.normalizing import (
    by_channel,
    check_channels,
    round_and_promote,
    stage_one,
    stage_one_type,
    standardize,
)
from sardonyx._src.ops.support.arithmetic import compute_in_float32
from sardonyx._src.ops.support.body_text import element_type, promoted_type, scalar, vector
from sardonyx._src.ops.support.promotion import cast
from sardonyx._src.ops.support.shapes import same_tensor
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

op = Operator("GroupNormalization", tolerance="rounding", computes_in_float32=True)


@op.infer(18, 21)
def infer(inference: Inference) -> Result:
    groups = inference.integer("num_groups")
    shape = inference.shape(0)
    if groups < 1:
        inference.fail(f"num_groups must be >= 1; got {groups}")
    if shape is not None and len(shape) < 2:
        inference.fail(f"the input must have rank >= 2 ([N, C, ...]); got rank {len(shape)}")
    channels = None if shape is None else shape[1]
    if isinstance(channels, int) and channels % groups:
        inference.fail(f"num_groups must divide the {channels} channels; got {groups}")
    check_channels(inference, (1, 2), groups if inference.version == 18 else channels)
    return same_tensor(inference)


@op.convert((18, 21))
def to_21(adapter: Adapter) -> AdaptedNode:
    """Repeat the scale and bias of each group for its channels, and compute in float or double.

    Version 18 rounds only once, at the end, but 21 after each step in the type of its data.
    """
    dtype, wide = adapter.dtype(0), promoted_type(adapter.dtype(0))
    groups = adapter.integers([adapter.inference.integer("num_groups")])
    shape = adapter.Shape(adapter.input(0), start=1, end=2)
    sizes = adapter.Concat(adapter.integers([1]), adapter.Div(shape, groups), axis=0)
    inputs = [adapter.input(0), *(repeat_per_channel(adapter, adapter.input(i), sizes) for i in (1, 2))]
    if dtype is not wide:
        inputs = [cast(adapter, value, wide) for value in inputs]
    replacement = adapter.same(inputs, stash_type=int(wide))
    (y,) = adapter.add(replacement.op_type, replacement.inputs, dict(replacement.attributes), 1)
    return y if dtype is wide else cast(adapter, y, dtype)


def repeat_per_channel(adapter: Adapter, values: Value, sizes: Value) -> Value:
    """values [groups] as [C]; sizes: 1, C / groups."""
    return adapter.Reshape(
        adapter.Expand(adapter.Unsqueeze(values, adapter.integers([1])), sizes), adapter.integers([-1])
    )


@op.eval(21)
def eval_21(
    x: Array, scale: Array, bias: Array, *, num_groups: int, epsilon: float, stash_type: int
) -> Array:
    """x, result: [N, C, *spatial], scale, bias: [C]; both applied in the precision of x, rounding each step."""
    stash = stage_one_type(stash_type)
    groups = by_group(round_and_promote(x, stash), num_groups)
    normalized, _, _ = standardize(groups, (2,), epsilon)
    y = normalized.reshape(x.shape).astype(stash, copy=False).astype(x.dtype, copy=False)
    return y * by_channel(scale, "scale", x.shape) + by_channel(bias, "bias", x.shape)


@op.eval(18)
@compute_in_float32
def eval_18(x: Array, scale: Array, bias: Array, *, num_groups: int, epsilon: float) -> Array:
    """x, result: [N, C, *spatial], scale, bias: [num_groups]."""
    groups = by_group(x, num_groups)
    normalized, _, _ = standardize(groups, (2,), epsilon)
    normalized *= by_channel(scale, "scale", groups.shape)
    normalized += by_channel(bias, "bias", groups.shape)
    return normalized.reshape(x.shape)


def by_group(x: Array, num_groups: int) -> Array:
    """x [N, C, *spatial] as [N, groups, elements of a group]; raises EvaluationError for an indivisible C."""
    if x.ndim < 2 or num_groups < 1 or x.shape[1] % num_groups:
        actual = f"shape {list(x.shape)} and num_groups {num_groups}"
        raise EvaluationError(f"x must be [N, C, ...] with C a multiple of num_groups; got {actual}")
    elements = x.shape[1] // num_groups * math.prod(x.shape[2:])
    return x.reshape(x.shape[0], num_groups, elements)


@op.body(18, 21, opset=15)
def body(inference: Inference) -> str:
    """Version 18 scales each group in the type of the statistics, 21 each channel in the type of x."""
    dtype = element_type(inference)
    wide, rows = (
        (promoted_type(dtype), "by_group")
        if inference.version == 18
        else (stage_one(inference), "by_channel")
    )
    scaling = wide if inference.version == 18 else dtype
    return f"""(x, scale, bias) => (y) {{
      shape = Shape(x)
      batch = Shape <end = 1> (x)
      channels = Shape <start = 1, end = 2> (x)
      spatial = Shape <start = 2> (x)
      pixels = ReduceProd(spatial)
      elements = Mul(channels, pixels)
      groups = {vector([inference.integer("num_groups")])}
      group = Div(elements, groups)
      by_group = Concat <axis = 0> (batch, groups, group)
      {"" if inference.version == 18 else "by_channel = Concat <axis = 0> (batch, channels, pixels)"}
      wide = Cast <to = {int(wide)}> (x)
      grouped = Reshape <allowzero = 1> (wide, by_group)
      mean = ReduceMean <axes = [2]> (grouped)
      deviation = Sub(grouped, mean)
      square = Mul(deviation, deviation)
      variance = ReduceMean <axes = [2]> (square)
      epsilon = {scalar(inference.number("epsilon"), wide)}
      positive = Add(variance, epsilon)
      root = Sqrt(positive)
      standard = Div(deviation, root)
      placed = Reshape <allowzero = 1> (standard, {rows})
      normalized = Cast <to = {int(scaling)}> (placed)
      one = {vector([1])}
      factor = Cast <to = {int(scaling)}> (scale)
      factors = Unsqueeze(factor, one)
      scaled = Mul(normalized, factors)
      shift = Cast <to = {int(scaling)}> (bias)
      shifts = Unsqueeze(shift, one)
      shifted = Add(scaled, shifts)
      whole = Reshape <allowzero = 1> (shifted, shape)
      y = Cast <to = {int(dtype)}> (whole)
    }}"""
