"""CausalConvWithState: each channel convolved along time with a kernel of its own that looks back only.

Spec: ai.onnx CausalConvWithState-27.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import Dim, dim_sub
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Call, Operator, claim
from sardonyx._src.ops.arithmetic import narrow, widen
from sardonyx._src.ops.body_text import END, element_type, vector
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.shapes import merge_dims, merge_shapes

op = Operator("CausalConvWithState", tolerance="rounding")


@op.infer(27)
def infer(t: Inference) -> Result:
    """The output is like the input; the state has a length of one less than the kernel."""
    dtype = t.dtype(0)
    if dtype is None:
        return None
    x, weight, past = (three_dims(t, i) for i in (0, 1, 3))
    batch = merge_dims(t, [x[0], past[0]], "the batch sizes")
    channels = merge_dims(t, [x[1], weight[0], past[1]], "the numbers of channels")
    bias = t.shape(2)
    if bias is not None:
        merge_shapes(t, [bias, (channels,)], "the bias and the channels")
    kept = merge_dims(t, [dim_sub(weight[2], 1), past[2]], "the lengths of the state")
    return [TensorType(dtype, (batch, channels, x[2])), TensorType(dtype, (batch, channels, kept))][
        : t.outputs
    ]


def three_dims(t: Inference, i: int) -> tuple[Dim, ...]:
    shape = t.shape(i)
    if shape is not None and len(shape) != 3:
        t.fail(f"input {i} has {len(shape)} axes; 3 are wanted")
    return (None, None, None) if shape is None else shape


@op.eval(27)
def evaluate(
    input: Array,
    weight: Array,
    bias: Array | None = None,
    past_state: Array | None = None,
    *,
    activation: str,
    call: Call,
) -> tuple[Array, Array]:
    """input, output: [batch, channels, length]; weight: [channels, 1, k]; bias: [channels]; states: [batch, channels,
    k - 1], the values before the input and the last ones of both.
    """
    if activation not in ("none", "silu", "swish"):
        raise EvaluationError(f"activation is {activation!r}; none, silu or swish is wanted")
    if input.ndim != 3 or weight.ndim != 3 or weight.shape[:2] != (input.shape[1], 1) or weight.shape[2] < 1:
        raise EvaluationError(
            f"a weight of shape {list(weight.shape)} does not fit an input of {list(input.shape)}"
        )
    batch, channels, length = input.shape
    k = weight.shape[2]
    claim(call, (batch, channels, length + k - 1), np.float32, "CausalConvWithState input and state")
    before = np.zeros((batch, channels, k - 1), input.dtype) if past_state is None else past_state
    if before.shape != (batch, channels, k - 1):
        raise EvaluationError(
            f"past_state is of shape {list(before.shape)}; {[batch, channels, k - 1]} is wanted"
        )
    if bias is not None and bias.shape != (channels,):
        raise EvaluationError(f"bias is of shape {list(bias.shape)}; {[channels]} is wanted")
    values = np.concatenate([before, input], 2)
    wide, taps = widen(values), widen(weight)[:, 0]
    y = np.zeros((batch, channels, length), np.float32)
    for tap in range(k):
        y += taps[:, tap, None] * wide[:, :, tap : tap + length]
    if bias is not None:
        y = y + widen(bias)[:, None]
    if activation != "none":
        y = y / (1 + np.exp(-y))
    return narrow(y, input.dtype), values[:, :, length:]


@op.body(27, opset=15)
def body(t: Inference) -> str:
    """A Conv of one group for each channel, of which there have to be a known number; narrow floats work as float."""
    dtype = element_type(t)
    sizes = [shape[axis] for i, axis in ((0, 1), (1, 0), (2, 0), (3, 1)) if (shape := t.shape(i)) is not None]
    groups = next((n for n in sizes if isinstance(n, int)), None)
    if groups is None:
        t.fail("the number of channels has to be known")
    past = "state = Cast <to = 1> (past)" if t.has(3) else ZEROS
    bias = "wide_bias = Cast <to = 1> (bias)" if t.has(2) else ""
    swish = "gate = Sigmoid(sums)  result = Mul(sums, gate)"
    return f"""(x, weight, bias, past) => ({"y, present" if t.outputs > 1 else "y"}) {{
      {past}
      wide = Cast <to = 1> (x)
      values = Concat <axis = 2> (state, wide)
      wide_weight = Cast <to = 1> (weight)
      {bias}
      sums = Conv <group = {groups}> (values, wide_weight{", wide_bias" if t.has(2) else ""})
      {"result = Identity(sums)" if t.attributes["activation"] == "none" else swish}
      y = Cast <to = {int(dtype)}> (result)
      {present_text(dtype) if t.outputs > 1 else ""}
    }}"""


ZEROS = """
      one = Constant <value = int64[1] {1}> ()
      taps = Shape <start = 2> (weight)
      before = Sub(taps, one)
      channels = Shape <end = 2> (x)
      state_shape = Concat <axis = 0> (channels, before)
      state = ConstantOfShape(state_shape)"""


def present_text(dtype: DataType) -> str:
    """The nodes of `present`, all values but as many as the input has."""
    return f"""
      length = Shape <start = 2> (x)
      end = {vector([END])}
      axis = {vector([2])}
      rest = Slice(values, length, end, axis)
      present = Cast <to = {int(dtype)}> (rest)"""
