"""DynamicQuantizeLinear: x quantized to uint8, with a scale and a zero point computed from the range of its elements.

Spec: ai.onnx DynamicQuantizeLinear-11.  The range is extended to include 0.  If minimum and maximum are then equal, because
all elements are 0 or there are none, the scale is 1, as the specification says since release 1.24.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.quantization.conversion import CastRule
from sardonyx._src.ops.quantization.quantize_linear import round_to_quantized

op = Operator("DynamicQuantizeLinear", tolerance="rounding")


@op.infer(11)
def infer(inference: Inference) -> Result:
    shape = inference.shape(0)
    return [TensorType(DataType.UINT8, shape), TensorType(DataType.FLOAT, ()), TensorType(DataType.UINT8, ())]


@op.eval(11)
def evaluate(x: Array) -> tuple[Array, Array, Array]:
    """x: float32; results: y of its shape, y_scale and y_zero_point: scalars."""
    low = x.min(initial=0)
    with np.errstate(all="ignore"):
        length = np.asarray(x.max(initial=0) - low)
        scale = np.where(length == 0, np.float32(1), length / np.float32(255))
        zero_point = round_to_quantized(-low / scale, None, DataType.UINT8, CastRule())
        y = round_to_quantized(x / scale, zero_point, DataType.UINT8, CastRule())
    return y, scale, zero_point


@op.body(11, opset=11)
def body(inference: Inference) -> str:
    return """(x) => (y, scale, zero_point) {
      zero = Constant <value = float {0.0}> ()
      most = Constant <value = float {255.0}> ()
      least = ReduceMin <keepdims = 0> (x)
      greatest = ReduceMax <keepdims = 0> (x)
      low = Min(least, zero)
      high = Max(greatest, zero)
      range = Sub(high, low)
      is_empty = Equal(range, zero)
      one = Constant <value = float {1.0}> ()
      step = Div(range, most)
      scale = Where(is_empty, one, step)
      below = Neg(low)
      place = Div(below, scale)
      inside = Clip(place, zero, most)
      nearest = Round(inside)
      zero_point = Cast <to = 2> (nearest)
      y = QuantizeLinear(x, scale, zero_point)
    }"""
