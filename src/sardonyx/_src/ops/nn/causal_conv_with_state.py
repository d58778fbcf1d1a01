"""CausalConvWithState: causal depthwise convolution along time, with the last inputs as explicit state.

Spec: ai.onnx CausalConvWithState-27.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ir.dims import Dim, dim_sub
from sardonyx._src.ops.api import Operator, RunContext, check_result_bytes
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.support.arithmetic import promote_to_float32, round_to_type
from sardonyx._src.ops.support.body_text import SLICE_END, element_type, vector
from sardonyx._src.ops.support.shapes import merge_dims, merge_shapes
from sardonyx._src.ops.traits import enum_values

ACTIVATIONS = ("none", "silu", "swish")
op = Operator(
    "CausalConvWithState", tolerance="rounding", enum_attributes={"activation": enum_values(*ACTIVATIONS)}
)


@op.infer(27)
def infer(inference: Inference) -> Result:
    """The output has the type of the input; the state has the kernel length minus one."""
    dtype = inference.dtype(0)
    if dtype is None:
        return None
    x, weight, past = (three_dims(inference, i) for i in (0, 1, 3))
    batch = merge_dims(inference, [x[0], past[0]], "the batch sizes")
    channels = merge_dims(inference, [x[1], weight[0], past[1]], "the numbers of channels")
    merge_dims(inference, [1, weight[1]], "the channels of a group")
    bias = inference.shape(2)
    if bias is not None:
        merge_shapes(inference, [bias, (channels,)], "the bias and the channels")
    state_length = merge_dims(inference, [dim_sub(weight[2], 1), past[2]], "the lengths of the state")
    return [TensorType(dtype, (batch, channels, x[2])), TensorType(dtype, (batch, channels, state_length))][
        : inference.outputs
    ]


def three_dims(inference: Inference, i: int) -> tuple[Dim, ...]:
    shape = inference.shape(i)
    if shape is not None and len(shape) != 3:
        inference.fail(f"input {i} must have rank 3; got rank {len(shape)}")
    return (None, None, None) if shape is None else shape


@op.eval(27)
def evaluate(
    input: Array,
    weight: Array,
    bias: Array | None = None,
    past_state: Array | None = None,
    *,
    activation: str,
    context: RunContext,
) -> tuple[Array, Array]:
    """The output and present_state.

    input, output: [batch, channels, length]; weight: [channels, 1, k]; bias: [channels].
    past_state, present_state: [batch, channels, k - 1], the inputs before the first one, and the last inputs.
    """
    if activation not in ACTIVATIONS:
        raise EvaluationError(f"activation must be none, silu or swish; got {activation!r}")
    if input.ndim != 3 or weight.ndim != 3 or weight.shape[:2] != (input.shape[1], 1) or weight.shape[2] < 1:
        raise EvaluationError(
            f"weight must have shape [channels, 1, k] for input {list(input.shape)}; got {list(weight.shape)}"
        )
    batch, channels, length = input.shape
    k = weight.shape[2]
    check_result_bytes(
        context, (batch, channels, length + k - 1), np.float32, "CausalConvWithState input and state"
    )
    before = np.zeros((batch, channels, k - 1), input.dtype) if past_state is None else past_state
    if before.shape != (batch, channels, k - 1):
        raise EvaluationError(
            f"past_state must have shape {[batch, channels, k - 1]}; got {list(before.shape)}"
        )
    if bias is not None and bias.shape != (channels,):
        raise EvaluationError(f"bias must have shape {[channels]}; got {list(bias.shape)}")
    values = np.concatenate([before, input], 2)
    wide, taps = promote_to_float32(values), promote_to_float32(weight)[:, 0]
    y = np.zeros((batch, channels, length), np.float32)
    for tap in range(k):
        y += taps[:, tap, None] * wide[:, :, tap : tap + length]
    if bias is not None:
        y = y + promote_to_float32(bias)[:, None]
    if activation != "none":
        y = y / (1 + np.exp(-y))
    return round_to_type(y, input.dtype), values[:, :, length:]


@op.body(27, opset=15)
def body(inference: Inference) -> str:
    """A depthwise Conv, whose attribute `group` is the number of channels, which must therefore be known.

    Half precision is computed as float.
    """
    dtype = element_type(inference)
    sizes = [
        shape[axis]
        for i, axis in ((0, 1), (1, 0), (2, 0), (3, 1))
        if (shape := inference.shape(i)) is not None
    ]
    groups = next((n for n in sizes if isinstance(n, int)), None)
    if groups is None:
        inference.fail("the number of channels must be known for a function body")
    past = "state = Cast <to = 1> (past)" if inference.has(3) else ZEROS
    bias = "wide_bias = Cast <to = 1> (bias)" if inference.has(2) else ""
    swish = "gate = Sigmoid(sums)  result = Mul(sums, gate)"
    return f"""(x, weight, bias, past) => ({"y, present" if inference.outputs > 1 else "y"}) {{
      {past}
      wide = Cast <to = 1> (x)
      values = Concat <axis = 2> (state, wide)
      wide_weight = Cast <to = 1> (weight)
      {bias}
      sums = Conv <group = {groups}> (values, wide_weight{", wide_bias" if inference.has(2) else ""})
      {"result = Identity(sums)" if inference.attributes["activation"] == "none" else swish}
      y = Cast <to = {int(dtype)}> (result)
      {present_text(dtype) if inference.outputs > 1 else ""}
    }}"""


ZEROS = """
      one = Constant <value = int64[1] {1}> ()
      taps = Shape <start = 2> (weight)
      before = Sub(taps, one)
      channels = Shape <end = 2> (x)
      state_shape = Concat <axis = 0> (channels, before)
      state = ConstantOfShape(state_shape)"""


def present_text(dtype: DataType) -> str:
    """The nodes of `present`: the values after the first `length`, the length of the input."""
    return f"""
      length = Shape <start = 2> (x)
      end = {vector([SLICE_END])}
      axis = {vector([2])}
      rest = Slice(values, length, end, axis)
      present = Cast <to = {int(dtype)}> (rest)"""
