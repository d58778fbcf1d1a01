"""Numbers of operations of products: matrix products, convolutions, recurrent layers, attention, experts, Einsum, Fourier transforms.

They depend only on sizes; a multiply-add counts as two operations.  A Fourier transform of any length counts as a fast one.
Masked positions of attention count; bias, scale, softmax and activations do not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Node, Tensor
from sardonyx._src.ops.bind import literal_of
from sardonyx._src.ops.math.einsum import number_axes, parse

Shape = Sequence[int]
MICROSOFT = "com.microsoft"


class UnknownSizes(Exception):
    """A shape that the count depends on is unknown."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """The shapes of a node's inputs and outputs, None for those that are left out or unknown."""

    node: Node
    inputs: Sequence[Shape | None]
    outputs: Sequence[Shape | None]

    def input(self, position: int) -> Shape:
        return require_shape(self.inputs, position)

    def output(self, position: int = 0) -> Shape:
        return require_shape(self.outputs, position)

    def has_input(self, position: int) -> bool:
        return position < len(self.node.inputs) and self.node.inputs[position] is not None

    def has_output(self, position: int) -> bool:
        return position < len(self.node.outputs) and bool(self.node.outputs[position].name)

    def flag(self, name: str) -> bool:
        return bool(self.integer(name, 0))

    def integer(self, name: str, default: int) -> int:
        """The value of an integer attribute."""
        attribute = self.node.attributes.get(name)
        return attribute.value if attribute is not None and isinstance(attribute.value, int) else default

    def text(self, name: str, default: str) -> str:
        """The value of a string attribute."""
        attribute = self.node.attributes.get(name)
        value = None if attribute is None else attribute.value
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else default

    def number(self, position: int, default: int) -> int:
        """The integer in a constant input, or the default if the input is omitted."""
        value = self.node.inputs[position] if position < len(self.node.inputs) else None
        if value is None:
            return default
        tensor = value.initializer if value.producer is None else literal_of(value.producer)
        if not isinstance(tensor, Tensor) or tensor.size != 1:
            raise UnknownSizes
        return int(tensor.numpy().item())


def require_shape(shapes: Sequence[Shape | None], position: int) -> Shape:
    shape = shapes[position] if position < len(shapes) else None
    if shape is None:
        raise UnknownSizes
    return shape


def is_product(node: Node) -> bool:
    return (node.domain, node.op_type) in {**MULTIPLY_ADDS, **OPERATIONS}


def product_operations(
    node: Node, inputs: Sequence[Shape | None], outputs: Sequence[Shape | None]
) -> int | None:
    """The operations of a product, two for a multiply-add; None where sizes are unknown."""
    sizes = Sizes(node, inputs, outputs)
    try:
        if (node.domain, node.op_type) in OPERATIONS:
            return OPERATIONS[node.domain, node.op_type](sizes)
        return 2 * MULTIPLY_ADDS[node.domain, node.op_type](sizes)
    except UnknownSizes:
        return None


def matmul(sizes: Sizes) -> int:
    return math.prod(sizes.output()) * sizes.input(0)[-1]


def gemm(sizes: Sizes) -> int:
    a, out = sizes.input(0), sizes.output()
    return math.prod(out) * a[0 if sizes.flag("transA") else -1]


def fused_matmul(sizes: Sizes) -> int:
    """`transBatchA` moves the first axis of A after its batch axes, so that axis 0 is a matrix axis."""
    a = sizes.input(0)
    is_reduced_last = not sizes.flag("transA") or len(a) == 1
    axis = -1 if is_reduced_last else 0 if sizes.flag("transBatchA") else -2
    return math.prod(sizes.output()) * a[axis]


def conv(sizes: Sizes) -> int:
    return math.prod(sizes.output()) * math.prod(sizes.input(1)[1:])


def quantized_conv(sizes: Sizes) -> int:
    return math.prod(sizes.output()) * math.prod(sizes.input(3)[1:])


def conv_transpose(sizes: Sizes) -> int:
    return math.prod(sizes.input(0)) * math.prod(sizes.input(1)[1:])


def recurrent(sizes: Sizes) -> int:
    return math.prod(sizes.input(0)[:2]) * (math.prod(sizes.input(1)) + math.prod(sizes.input(2)))


def attention(sizes: Sizes) -> int:
    """Products of queries with all keys, and of the scores with the values, of ai.onnx Attention.

    Q, K, V: [B, heads, length, size] or [B, length, heads * size].
    """
    keys = sizes.input(1)
    length = keys[2 if len(keys) == 4 else 1]
    if sizes.has_input(4):
        length += sizes.input(4)[2]
    return (math.prod(sizes.input(0)) + math.prod(sizes.output())) * length


def vendor_attention(sizes: Sizes) -> int:
    """As `attention`, for query, key and value of com.microsoft; the keys include those of the past, as in present_key."""
    if sizes.has_output(1):
        length = sizes.output(1)[2]
    else:
        keys = sizes.input(1 if sizes.has_input(1) else 0)
        length = keys[2 if len(keys) == 4 else 1]
        length += (
            sizes.input(6)[2] if sizes.node.op_type == "MultiHeadAttention" and sizes.has_input(6) else 0
        )
    return 2 * math.prod(sizes.output()) * length


def attention_with_projection(sizes: Sizes) -> int:
    """The projection of the input to queries, keys and values, and the attention to its positions and those of the past."""
    x, weights = sizes.input(0), sizes.input(1)
    length = x[1]
    past = 4 if sizes.node.op_type == "Attention" else 8  # [2, B, heads, length, size]
    if sizes.has_input(past):
        length += sizes.input(past)[3]
    return math.prod(x[:2]) * math.prod(weights) + 2 * math.prod(sizes.output()) * length


def linear_attention(sizes: Sizes) -> int:
    """For each token: the outer product of key and value, the reading of the state by a delta rule, and that by the query.

    Q: [B, length, query heads * key size], K: [B, length, heads * key size], V: [B, length, heads * value size].
    """
    heads = sizes.integer("kv_num_heads", 1)
    state = sizes.input(1)[-1] // heads * (sizes.input(2)[-1] // heads)
    updates = 2 if sizes.text("update_rule", "gated_delta").endswith("delta") else 1
    return math.prod(sizes.input(0)[:2]) * state * (sizes.integer("q_num_heads", 1) + updates * heads)


def experts(sizes: Sizes) -> int:
    """The layers of the `k` experts that are chosen for each token; weights: [experts, outputs, inputs]."""
    layers = [sizes.input(i) for i in (2, 4, 6) if sizes.has_input(i)]
    return chosen_experts(sizes) * sum(math.prod(layer[1:]) for layer in layers)


def quantized_experts(sizes: Sizes) -> int:
    """As `experts`, for packed weights [experts, outputs, bytes]."""
    total = 0
    for layer, i in enumerate((2, 5, 8), start=1):
        if sizes.has_input(i):
            bits = sizes.integer(f"fc{layer}_expert_weight_bits", 0) or sizes.integer("expert_weight_bits", 4)
            total += math.prod(sizes.input(i)[1:]) * 8 // bits
    return chosen_experts(sizes) * total


def chosen_experts(sizes: Sizes) -> int:
    return math.prod(sizes.input(0)[:-1]) * sizes.integer("k", 1)


def dft_operations(sizes: Sizes) -> int:
    """The operations of all transforms along the axis; the axis is an attribute before version 20, then an input."""
    x, y = sizes.input(0), sizes.output()
    axis = sizes.integer("axis", 1) if "axis" in sizes.node.attributes else sizes.number(2, -2)
    transforms = math.prod(y) // (y[axis] * y[-1] or 1)
    return transforms * fft_operations(sizes.number(1, x[axis]), is_real=x[-1] == 1)


def stft_operations(sizes: Sizes) -> int:
    """The operations of the transforms of all frames; output: [B, frames, bins, 2]."""
    y = sizes.output()
    length = sizes.input(2)[0] if sizes.has_input(2) else sizes.number(3, 0)
    x = sizes.input(0)
    return math.prod(y[:2]) * fft_operations(length, is_real=len(x) == 2 or x[-1] == 1)


def fft_operations(length: int, *, is_real: bool) -> int:
    """5 N log2 N, the usual count for fast Fourier transforms, and half of that for real numbers."""
    return round((2.5 if is_real else 5) * length * math.log2(length)) if length > 1 else 0


def einsum_operations(sizes: Sizes) -> int:
    """The operations of multiplying one term after the other.

    Each product is summed over the indices that neither later terms nor the output have.  A product that sums nothing has one
    operation for each element; so has a single term with a sum, and one that only moves data has none.
    """
    shapes = [sizes.input(i) for i in range(len(sizes.inputs))]
    equation = sizes.node.attributes.get("equation")
    text = equation.value if equation is not None else None
    try:
        axes = number_axes(parse(text.decode() if isinstance(text, bytes) else ""), [len(s) for s in shapes])
    except (EvaluationError, UnicodeDecodeError):
        raise UnknownSizes from None
    assert axes is not None, "every rank is known"
    lengths: dict[int, int] = {}
    for term, shape in zip(axes.inputs, shapes, strict=True):
        for label, length in zip(term, shape, strict=True):
            lengths[label] = max(lengths.get(label, 1), length) if length else 0
    if len(shapes) == 1:
        return math.prod(shapes[0]) if set(axes.inputs[0]) - set(axes.output) else 0
    total, labels = 0, set(axes.inputs[0])
    for i, term in enumerate(axes.inputs[1:], start=2):
        labels |= set(term)
        remaining = labels & {label for later in (*axes.inputs[i:], axes.output) for label in later}
        total += math.prod(lengths[label] for label in labels) * (1 if remaining == labels else 2)
        labels = remaining
    return total


OPERATIONS: dict[tuple[str, str], Callable[[Sizes], int]] = {
    ("", "Einsum"): einsum_operations,
    ("", "DFT"): dft_operations,
    ("", "STFT"): stft_operations,
}
MULTIPLY_ADDS: dict[tuple[str, str], Callable[[Sizes], int]] = {
    ("", "MatMul"): matmul,
    ("", "MatMulInteger"): matmul,
    ("", "QLinearMatMul"): matmul,
    ("", "Gemm"): gemm,
    ("", "Conv"): conv,
    ("", "ConvInteger"): conv,
    ("", "QLinearConv"): quantized_conv,
    ("", "ConvTranspose"): conv_transpose,
    ("", "DeformConv"): conv,
    ("", "CausalConvWithState"): conv,
    ("", "LSTM"): recurrent,
    ("", "GRU"): recurrent,
    ("", "RNN"): recurrent,
    ("", "Attention"): attention,
    ("", "LinearAttention"): linear_attention,
    (MICROSOFT, "LinearAttention"): linear_attention,
    (MICROSOFT, "MoE"): experts,
    (MICROSOFT, "QMoE"): quantized_experts,
    (MICROSOFT, "FusedMatMul"): fused_matmul,
    (MICROSOFT, "FusedMatMulActivation"): fused_matmul,
    (MICROSOFT, "TransposeMatMul"): fused_matmul,
    (MICROSOFT, "MatMulInteger16"): matmul,
    (MICROSOFT, "MatMulIntegerToFloat"): matmul,
    (MICROSOFT, "DynamicQuantizeMatMul"): matmul,
    (MICROSOFT, "MatMulNBits"): matmul,
    (MICROSOFT, "MatMulBnb4"): matmul,
    (MICROSOFT, "FusedGemm"): gemm,
    (MICROSOFT, "GemmFloat8"): gemm,
    (MICROSOFT, "QGemm"): gemm,
    (MICROSOFT, "FusedConv"): conv,
    (MICROSOFT, "QLinearConv"): quantized_conv,
    (MICROSOFT, "Attention"): attention_with_projection,
    (MICROSOFT, "QAttention"): attention_with_projection,
    (MICROSOFT, "MultiHeadAttention"): vendor_attention,
    (MICROSOFT, "GroupQueryAttention"): vendor_attention,
}
