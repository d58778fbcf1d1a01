"""Convolution, pooling and means of com.microsoft on quantized images, and MaxPool with channels last.

Spec: com.microsoft NhwcMaxPool-1 QLinearAveragePool-1 QLinearConv-1 QLinearGlobalAveragePool-1 QLinearReduceMean-1, as
onnxruntime computes them.
"""

from __future__ import annotations

from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.microsoft.quantized_text import dequantize_text, names_of, quantize_text
from sardonyx._src.ops.microsoft.text import DOMAIN
from sardonyx._src.ops.support.body_text import rank_of

average_pool = Operator(
    "QLinearAveragePool", DOMAIN, tolerance="rounding", about="AveragePool of a quantized image"
)
global_average_pool = Operator(
    "QLinearGlobalAveragePool", DOMAIN, tolerance="rounding", about="GlobalAveragePool of a quantized image"
)
reduce_mean = Operator(
    "QLinearReduceMean", DOMAIN, tolerance="rounding", about="ReduceMean of a quantized tensor"
)
conv = Operator(
    "QLinearConv", DOMAIN, tolerance="rounding", about="QLinearConv, optionally with channels last"
)
nhwc_max_pool = Operator("NhwcMaxPool", DOMAIN, about="MaxPool of an image with channels last")
WINDOW = "auto_pad = @auto_pad, kernel_shape = @kernel_shape, pads = @pads, strides = @strides"


@average_pool.body(1, opset=13)
def average_pool_body(inference: Inference) -> str:
    options = "ceil_mode = @ceil_mode, count_include_pad = @count_include_pad"
    return pooling_text(inference, f"AveragePool <{WINDOW}, {options}>")


@global_average_pool.body(1, opset=13)
def global_average_pool_body(inference: Inference) -> str:
    return pooling_text(inference, "GlobalAveragePool")


@reduce_mean.body(1, opset=13)
def reduce_mean_body(inference: Inference) -> str:
    return pooling_text(inference, "ReduceMean <axes = @axes, keepdims = @keepdims>")


def pooling_text(inference: Inference, call: str) -> str:
    """The body that applies `call` to the dequantized input with channels first, and quantizes the result."""
    names = names_of("x x_scale x_zero y_scale y_zero")
    before, after = channel_orders(inference)
    return f"""({", ".join(names)}) => (y) {{
      {dequantize_text(inference, names, 0, "wide")}
      {transpose_text("wide", "image", before)}
      pooled = {call} (image)
      {transpose_text("pooled", "result", after)}
      {quantize_text(inference, names, 3, "result", "y")}
    }}"""


def channel_orders(inference: Inference) -> tuple[list[int], list[int]]:
    """The permutations from channels last to channels first, and back; empty if the data have channels first."""
    if not inference.integer("channels_last", 0):
        return [], []
    rank = rank_of(inference)
    return [0, rank - 1, *range(1, rank - 1)], [0, *range(2, rank), 1]


def transpose_text(value: str, result: str, order: list[int]) -> str:
    return f"{result} = Transpose <perm = {order}> ({value})" if order else f"{result} = Identity({value})"


@conv.body(1, opset=13)
def conv_body(inference: Inference) -> str:
    names = names_of("x x_scale x_zero w w_scale w_zero y_scale y_zero b")
    before, after = channel_orders(inference)
    operands = ", ".join(["image", *names[1 : 9 if inference.has(8) else 8]])
    attributes = f"{WINDOW}, dilations = @dilations, group = @group"
    return f"""({", ".join(names)}) => (y) {{
      {transpose_text("x", "image", before)}
      product = QLinearConv <{attributes}> ({operands})
      {transpose_text("product", "y", after)}
    }}"""


@nhwc_max_pool.body(1, opset=13)
def nhwc_max_pool_body(inference: Inference) -> str:
    rank = rank_of(inference)
    attributes = f"{WINDOW}, ceil_mode = @ceil_mode, dilations = @dilations"
    return f"""(x) => (y) {{
      image = Transpose <perm = {[0, rank - 1, *range(1, rank - 1)]}> (x)
      largest = MaxPool <{attributes}> (image)
      y = Transpose <perm = {[0, *range(2, rank), 1]}> (largest)
    }}"""
