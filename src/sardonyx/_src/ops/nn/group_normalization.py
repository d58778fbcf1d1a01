"""GroupNormalization: the channels of each group together brought to mean 0 and variance 1, then scaled and shifted.

Spec: ai.onnx GroupNormalization-18, -21.  Version 18, which is deprecated, has one scale and bias for each group; 21 one
for each channel, and a precision of its own for the statistics.
"""

from __future__ import annotations

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.arithmetic import in_float32
from sardonyx._src.ops.body_text import element_type, real, scalar, vector, wide_float
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn.normalizing import (
    by_channel,
    check_channels,
    stage_one,
    stage_one_type,
    standardized,
    working,
)
from sardonyx._src.ops.shapes import same_tensor
from sardonyx._src.ops.widening import cast

op = Operator("GroupNormalization", tolerance="rounding")


@op.infer(18, 21)
def infer(t: Inference) -> Result:
    groups = t.integer("num_groups")
    shape = t.shape(0)
    if groups < 1:
        t.fail(f"num_groups is {groups}, at least 1 is wanted")
    if shape is not None and len(shape) < 2:
        t.fail(f"the input has rank {len(shape)}, [N, C, ...] is wanted")
    channels = None if shape is None else shape[1]
    if isinstance(channels, int) and channels % groups:
        t.fail(f"num_groups {groups} does not divide {channels} channels")
    check_channels(t, (1, 2), groups if t.version == 18 else channels)
    return same_tensor(t)


@op.convert((18, 21))
def to_21(c: Change) -> Converted:
    """Each channel gets scale and bias of its group; what 18 rounds once is computed as float, or double."""
    dtype, wide = c.dtype(0), wide_float(c.dtype(0))
    groups = c.integers([c.t.integer("num_groups")])
    shape = c.Shape(c.input(0), start=1, end=2)
    sizes = c.Concat(c.integers([1]), c.Div(shape, groups), axis=0)
    inputs = [c.input(0), *(by_member(c, c.input(i), sizes) for i in (1, 2))]
    if dtype is not wide:
        inputs = [cast(c, value, wide) for value in inputs]
    kept = c.same(inputs, stash_type=int(wide))
    (y,) = c.add(kept.op_type, kept.inputs, dict(kept.attributes), 1)
    return y if dtype is wide else cast(c, y, dtype)


def by_member(c: Change, values: Value, sizes: Value) -> Value:
    """values [groups] as [C]; sizes: 1, C / groups."""
    return c.Reshape(c.Expand(c.Unsqueeze(values, c.integers([1])), sizes), c.integers([-1]))


@op.eval(21)
def eval_21(
    x: Array, scale: Array, bias: Array, *, num_groups: int, epsilon: float, stash_type: int
) -> Array:
    """x, result: [N, C, *spatial], scale, bias: [C]; both work in the precision of x, which rounds after each step."""
    stash = stage_one_type(stash_type)
    grouped = by_group(working(x, stash), num_groups)
    normalized, _, _ = standardized(grouped, (2,), epsilon)
    y = normalized.reshape(x.shape).astype(stash, copy=False).astype(x.dtype, copy=False)
    return y * by_channel(scale, "scale", x.shape) + by_channel(bias, "bias", x.shape)


@op.eval(18)
@in_float32
def eval_18(x: Array, scale: Array, bias: Array, *, num_groups: int, epsilon: float) -> Array:
    """x, result: [N, C, *spatial], scale, bias: [num_groups]."""
    grouped = by_group(x, num_groups)
    normalized, _, _ = standardized(grouped, (2,), epsilon)
    normalized *= by_channel(scale, "scale", grouped.shape)
    normalized += by_channel(bias, "bias", grouped.shape)
    return normalized.reshape(x.shape)


def by_group(x: Array, num_groups: int) -> Array:
    """x [N, C, *spatial] as [N, groups, elements of a group]; raises EvaluationError."""
    if x.ndim < 2 or num_groups < 1 or x.shape[1] % num_groups:
        what = f"x has shape {list(x.shape)} and num_groups is {num_groups}"
        raise EvaluationError(f"{what}: [N, C, ...] with a multiple of num_groups channels is wanted")
    elements = x.shape[1] // num_groups
    for dim in x.shape[2:]:
        elements *= dim
    return x.reshape(x.shape[0], num_groups, elements)


@op.body(18, 21, opset=15)
def body(t: Inference) -> str:
    """Version 18 scales groups in the type of the statistics, 21 channels in that of x."""
    dtype = element_type(t)
    wide, rows = (wide_float(dtype), "by_group") if t.version == 18 else (stage_one(t), "by_channel")
    scaling = wide if t.version == 18 else dtype
    return f"""(x, scale, bias) => (y) {{
      shape = Shape(x)
      batch = Shape <end = 1> (x)
      channels = Shape <start = 1, end = 2> (x)
      spatial = Shape <start = 2> (x)
      pixels = ReduceProd(spatial)
      elements = Mul(channels, pixels)
      groups = {vector([t.integer("num_groups")])}
      group = Div(elements, groups)
      by_group = Concat <axis = 0> (batch, groups, group)
      {"" if t.version == 18 else "by_channel = Concat <axis = 0> (batch, channels, pixels)"}
      wide = Cast <to = {int(wide)}> (x)
      grouped = Reshape <allowzero = 1> (wide, by_group)
      mean = ReduceMean <axes = [2]> (grouped)
      deviation = Sub(grouped, mean)
      square = Mul(deviation, deviation)
      variance = ReduceMean <axes = [2]> (square)
      epsilon = {scalar(real(t, "epsilon"), wide)}
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
