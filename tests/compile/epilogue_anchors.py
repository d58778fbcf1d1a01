"""Layers of each kind whose kernel takes elementwise consumers, with results of given dims.

A layer computes `a@` from `x@`; `@` stands for the number of the layer in its model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from math import prod

import numpy as np

from compile.reference_comparison import normal
from sardonyx._src.ir import Array

Shape = tuple[int, ...]
TRANSPOSED = {
    1: (1, 1),
    2: (1, 2),
    3: (2, 1),
    17: (8, 3),
}  # length and kernel of a stride of 2, by length of the result
POINTWISE, SAME = (1, 0), (3, 1)  # kernel and pads of windows that keep the size
QUANTIZATION: dict[str, Array] = {
    "xs@": np.array(0.1, np.float32),
    "xz@": np.array(3, np.uint8),
    "ws@": np.array(0.05, np.float32),
    "wz@": np.array(0, np.int8),
    "ys@": np.array(0.2, np.float32),
    "yz@": np.array(9, np.uint8),
}
DEQUANTIZED = "xd@ = DequantizeLinear (x@, xs@, xz@) wd@ = DequantizeLinear (w@, ws@, wz@)"
FLOAT_OF = "a@ = DequantizeLinear (q@, ys@, yz@)"


@dataclass(frozen=True)
class Layer:
    """The text of the nodes, and the arrays that are fed or constant, by name."""

    text: str
    feeds: Mapping[str, Array]
    constants: Mapping[str, Array] = field(default_factory=dict)


Anchor = Callable[[Shape], Layer | None]


def integers(dtype: type[np.generic], *shape: int) -> Array:
    return np.random.default_rng(0).integers(0, 9, shape).astype(dtype)


# --- images [N, C, ...] ----------------------------------------------------------------------


def conv(
    shape: Shape, window: tuple[int, int], channels: int = 5, groups: int = 1, *, fed: bool = False
) -> Layer | None:
    """channels: of each group of the input.  groups: 0 for one of each output channel.  fed: whether weights are."""
    if len(shape) not in (3, 4) or (groups == 0 and shape[1] == 1) or (groups > 1 and shape[1] % groups):
        return None
    (n, c, *sizes), (kernel, pad), group = shape, window, groups or shape[1]
    text = f"a@ = Conv <pads = {[pad] * 2 * len(sizes)}, group = {group}> (x@, w@)"
    x, w = normal(n, channels * group, *sizes), normal(c, channels, *(kernel for _ in sizes), seed=1)
    return Layer(text, {"x@": x, "w@": w}) if fed else Layer(text, {"x@": x}, {"w@": w})


def conv_transpose(shape: Shape) -> Layer | None:
    if len(shape) not in (3, 4):
        return None
    n, c, *sizes = shape
    lengths, kernel = zip(*(TRANSPOSED[size] for size in sizes), strict=True)
    text = f"a@ = ConvTranspose <strides = {[2 for _ in sizes]}> (x@, w@)"
    return Layer(text, {"x@": normal(n, 5, *lengths)}, {"w@": normal(5, c, *kernel, seed=1)})


def image_operator(shape: Shape, operator: str, attributes: str) -> Layer | None:
    """An operator that keeps the dims of an image.  attributes: with K for a kernel of 3 along each dim, P for pads of 1."""
    if len(shape) not in (3, 4):
        return None
    spatial = len(shape) - 2
    attributes = attributes.replace("K", str([3] * spatial)).replace("P", str([1] * 2 * spatial))
    return Layer(f"a@ = {operator} <{attributes}> (x@)", {"x@": normal(*shape)})


def channel_norm(shape: Shape, operator: str, attributes: str = "epsilon = 1e-5") -> Layer | None:
    """A norm of an image that is held channels-last, as that of a Conv is."""
    image = conv(shape, POINTWISE)
    if image is None:
        return None
    text = f"{image.text.replace('a@', 'c@')} a@ = {operator} <{attributes}> (c@, s@, b@)"
    scale_and_bias = {"s@": normal(shape[1], seed=2), "b@": normal(shape[1], seed=3)}
    return Layer(text, image.feeds, {**image.constants, **scale_and_bias})


def global_pool(shape: Shape, operator: str) -> Layer | None:
    if len(shape) not in (3, 4) or prod(shape[2:]) > 1:
        return None
    return Layer(f"a@ = {operator} (x@)", {"x@": normal(*shape[:2], *(5 for _ in shape[2:]))})


def pixel_mean(shape: Shape, keepdims: int) -> Layer | None:
    """The mean over the pixels of an image that is held channels-last, [N, C, 1, 1] or [N, C]."""
    if prod(shape[2:]) > 1 or len(shape) != (4 if keepdims else 2):
        return None
    image = conv((*shape[:2], 5, 5), POINTWISE)
    assert image is not None, "an image has a Conv"
    text = f"{image.text.replace('a@', 'c@')} a@ = ReduceMean <keepdims = {keepdims}> (c@, axes@)"
    return Layer(text, image.feeds, {**image.constants, "axes@": np.array([2, 3])})


def resize(shape: Shape, mode: str) -> Layer | None:
    """From an image of one pixel, or of half the size."""
    if len(shape) not in (3, 4):
        return None
    sizes = [1 if mode == "nearest" else (size + 1) // 2 for size in shape[2:]]
    attributes = f'mode = "{mode}", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"'
    text = f"a@ = Resize <{attributes}> (x@, , , sizes@)"
    return Layer(text, {"x@": normal(*shape[:2], *sizes)}, {"sizes@": np.array(shape)})


def quantized_conv(
    shape: Shape, window: tuple[int, int], channels: int, groups: int, text: str
) -> Layer | None:
    """A convolution of bytes.  text: with CONV for attributes of a Conv, of `x@` and `w@`."""
    layer = conv(shape, window, channels, groups)
    if layer is None:
        return None
    attributes = layer.text.split("Conv")[1].split(" (")[0]
    x, w = layer.feeds["x@"].shape, layer.constants["w@"].shape
    used = {name: value for name, value in QUANTIZATION.items() if name in text}
    return Layer(
        text.replace("CONV", attributes),
        {"x@": integers(np.uint8, *x)},
        {"w@": integers(np.int8, *w), **used},
    )


# --- rows ------------------------------------------------------------------------------------


def product(shape: Shape, operator: str = "MatMul", *, fed: bool = False, c: str = "") -> Layer | None:
    """A product by a matrix.  c: the dims of the addend of a Gemm, by the letters of [M, N]."""
    if len(shape) < 2 or (operator == "Gemm" and len(shape) > 2):
        return None
    x, w = {"x@": normal(*shape[:-1], 7)}, {"w@": normal(7, shape[-1], seed=1)}
    dims = {"M": shape[0], "N": shape[-1], "1": 1}
    addend = {"c@": normal(*(dims[letter] for letter in c), seed=2)} if c else {}
    text = f"a@ = {operator} (x@, w@{', c@' if c else ''})"
    return Layer(text, {**x, **(w if fed else {}), **addend}, {} if fed else w)


def batched_product(shape: Shape) -> Layer | None:
    if len(shape) < 3:
        return None
    w = normal(*shape[:-2], 7, shape[-1], seed=1)
    return Layer("a@ = MatMul (x@, w@)", {"x@": normal(*shape[:-1], 7), "w@": w})


def low_rank_product(shape: Shape) -> Layer | None:
    if len(shape) not in (3, 4):
        return None
    text = (
        "t@ = MatMul (x@, p@) u@ = MatMul (t@, q@) v@ = MatMul (x@, w@) vb@ = Add (v@, b@) a@ = Add (vb@, u@)"
    )
    matrices = {"p@": (32, 2), "q@": (2, shape[-1]), "w@": (32, shape[-1]), "b@": (shape[-1],)}
    constants = {name: normal(*dims, seed=i) for i, (name, dims) in enumerate(matrices.items(), 1)}
    return Layer(text, {"x@": normal(*shape[:-1], 32)}, constants)


def block_quantized_product(shape: Shape) -> Layer | None:
    if len(shape) < 2:
        return None
    text = "wd@ = DequantizeLinear <axis = 0, block_size = 16> (w@, s@) a@ = MatMul (x@, wd@)"
    constants = {"w@": integers(np.int8, 512, shape[-1]), "s@": np.abs(normal(32, shape[-1])) + 1}
    return Layer(text, {"x@": normal(*shape[:-1], 512)}, constants)


def quantized_product(shape: Shape, text: str) -> Layer | None:
    """A product of bytes `x@` by `w@`."""
    if len(shape) < 2:
        return None
    used = {name: value for name, value in QUANTIZATION.items() if name in text}
    return Layer(
        text, {"x@": integers(np.uint8, *shape[:-1], 8)}, {"w@": integers(np.int8, 8, shape[-1]), **used}
    )


def row_norm(shape: Shape, operator: str) -> Layer:
    return Layer(
        f"a@ = {operator} <axis = -1> (x@, s@)", {"x@": normal(*shape)}, {"s@": normal(shape[-1], seed=1)}
    )


def row_mean(shape: Shape) -> Layer:
    text = "a@ = ReduceMean <keepdims = 0> (x@, axes@)"
    return Layer(text, {"x@": normal(*shape, 5)}, {"axes@": np.array([-1])})


def softmax_gradient(shape: Shape) -> Layer:
    text = "p@ = Mul (x@, g@) s@ = ReduceSum (p@, axes@) d@ = Sub (x@, s@) a@ = Mul (g@, d@)"
    return Layer(text, {"x@": normal(*shape), "g@": normal(*shape, seed=1)}, {"axes@": np.array([-1])})


def unary(shape: Shape, operator: str) -> Layer:
    return Layer(f"a@ = {operator} (x@)", {"x@": normal(*shape)})


def recurrence(shape: Shape) -> Layer | None:
    """[length, 1, batch, hidden]"""
    if len(shape) != 4 or shape[1] != 1:
        return None
    length, _, batch, hidden = shape
    constants = {"w@": normal(1, 4 * hidden, 3, seed=1), "h@": normal(1, 4 * hidden, hidden, seed=2)}
    return Layer(
        f"a@ = LSTM <hidden_size = {hidden}> (x@, w@, h@)", {"x@": normal(length, batch, 3)}, constants
    )


ANCHORS: dict[str, Anchor] = {
    "pointwise Conv": partial(conv, window=POINTWISE),
    "Conv": partial(conv, window=SAME),
    "im2row Conv": partial(conv, window=SAME, channels=1),
    "Winograd Conv": partial(conv, window=SAME, channels=8),
    "depthwise Conv": partial(conv, window=SAME, channels=1, groups=0),
    "narrow groups": partial(conv, window=SAME, channels=2, groups=0),
    "two groups": partial(conv, window=POINTWISE, channels=3, groups=2),
    "computed pointwise Conv": partial(conv, window=POINTWISE, fed=True),
    "computed Conv": partial(conv, window=SAME, fed=True),
    "computed depthwise Conv": partial(conv, window=SAME, channels=1, groups=0, fed=True),
    "ConvTranspose": conv_transpose,
    "MaxPool": partial(image_operator, operator="MaxPool", attributes="kernel_shape = K, pads = P"),
    "AveragePool": partial(image_operator, operator="AveragePool", attributes="kernel_shape = K, pads = P"),
    "LRN": partial(image_operator, operator="LRN", attributes="size = 3"),
    "GlobalAveragePool": partial(global_pool, operator="GlobalAveragePool"),
    "GlobalMaxPool": partial(global_pool, operator="GlobalMaxPool"),
    "mean of pixels": partial(pixel_mean, keepdims=1),
    "mean of pixels as rows": partial(pixel_mean, keepdims=0),
    "InstanceNormalization": partial(channel_norm, operator="InstanceNormalization"),
    "GroupNormalization": partial(channel_norm, operator="GroupNormalization", attributes="num_groups = 1"),
    "Resize by integers": partial(resize, mode="nearest"),
    "Resize": partial(resize, mode="linear"),
    "quantized Conv": partial(
        quantized_conv, window=SAME, channels=4, groups=1, text=f"{DEQUANTIZED} a@ = Conv CONV (xd@, wd@)"
    ),
    "quantized depthwise Conv": partial(
        quantized_conv, window=SAME, channels=1, groups=0, text=f"{DEQUANTIZED} a@ = Conv CONV (xd@, wd@)"
    ),
    "QLinearConv": partial(
        quantized_conv,
        window=POINTWISE,
        channels=4,
        groups=0,
        text=f"q@ = QLinearConv CONV (x@, xs@, xz@, w@, ws@, wz@, ys@, yz@) {FLOAT_OF}",
    ),
    "ConvInteger": partial(
        quantized_conv,
        window=SAME,
        channels=4,
        groups=1,
        text="i@ = ConvInteger CONV (x@, w@, xz@) a@ = Cast <to = 1> (i@)",
    ),
    "MatMul": product,
    "computed MatMul": partial(product, fed=True),
    "batched MatMul": batched_product,
    "Gemm": partial(product, operator="Gemm"),
    "computed Gemm": partial(product, operator="Gemm", fed=True),
    "Gemm with a matrix": partial(product, operator="Gemm", c="MN"),
    "Gemm with a row": partial(product, operator="Gemm", fed=True, c="1N"),
    "Gemm with a column": partial(product, operator="Gemm", c="M1"),
    "low-rank update": low_rank_product,
    "block-quantized MatMul": block_quantized_product,
    "quantized MatMul": partial(quantized_product, text=f"{DEQUANTIZED} a@ = MatMul (xd@, wd@)"),
    "QLinearMatMul": partial(
        quantized_product, text=f"q@ = QLinearMatMul (x@, xs@, xz@, w@, ws@, wz@, ys@, yz@) {FLOAT_OF}"
    ),
    "MatMulInteger": partial(
        quantized_product, text="i@ = MatMulInteger (x@, w@, xz@) a@ = Cast <to = 1> (i@)"
    ),
    "LayerNormalization": partial(row_norm, operator="LayerNormalization"),
    "RMSNormalization": partial(row_norm, operator="RMSNormalization"),
    "ReduceMean": row_mean,
    "Softmax": partial(unary, operator="Softmax"),
    "gradient of Softmax": softmax_gradient,
    "Exp": partial(unary, operator="Exp"),
    "LSTM": recurrence,
}
