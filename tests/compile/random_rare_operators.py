"""Random nodes of rarer operators: recurrent layers, quantization, shape arithmetic, rotary embedding, masks."""

from __future__ import annotations

import numpy as np

from compile.random_data_movement import GenerateNode
from compile.random_graphs import I64, F, RandomGraphBuilder, RandomValue
from sardonyx._src.ir import Array

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def add_recurrence(g: RandomGraphBuilder) -> object:
    """Of finite numbers only: saturated gates would hide differences."""
    x = g.pick_value(
        lambda m: (
            m.rank == 3 and m.fixed[2] and m.shape[2] > 0 and all(np.isfinite(a).all() for a in m.arrays)
        )
    )
    if x is None:
        return None
    op_type = g.choose_name(*GATES)
    size, directions = g.choose((1, 3, 8, 17)), 1 + g.flip(0.3)
    rows = GATES[op_type] * size
    weights = [g.add_constant(g.draw_normal((directions, rows, n)) * 0.3) for n in (x.shape[2], size)]
    bias = [g.add_constant(g.draw_normal((directions, 2 * rows)) * 0.3)] if g.flip() else []
    direction = "bidirectional" if directions == 2 else g.choose_name("forward", "reverse")
    attributes: dict[str, object] = {"hidden_size": size, "direction": direction}
    if op_type == "GRU":
        attributes["linear_before_reset"] = int(g.flip())
    return g.add_node(
        op_type, x, *weights, *bias, outputs=3 if op_type == "LSTM" else 2, extra_attributes=attributes
    )


def add_quantization(g: RandomGraphBuilder) -> object:
    """QuantizeLinear to 8 bits, and DequantizeLinear."""
    x = g.pick_value(lambda m: m.is_exact)
    if x is None:
        return None
    axis = g.draw_int(x.rank - 1) if x.rank and g.flip(0.4) else None
    count = [] if axis is None or not x.fixed[axis] else [x.shape[axis]]
    scale = g.add_constant(2.0 ** g.rng.integers(-4, 1, count))  # powers of two: quotients are exact
    dtype = np.uint8 if g.flip() else np.int8
    zero = g.add_constant(g.rng.integers(0, 9, count), dtype)
    attributes = {} if axis is None else {"axis": axis}
    quantized = g.add_node("QuantizeLinear", x, scale, zero, exact=True, extra_attributes=attributes)
    if quantized is None or g.flip(0.1):
        return quantized
    return g.add_node("DequantizeLinear", quantized[0], scale, zero, exact=True, extra_attributes=attributes)


def add_integer_product(g: RandomGraphBuilder) -> object:
    """MatMulInteger or ConvInteger of 8-bit values and weights, cast to float."""
    x = g.pick_value(lambda m: m.is_exact and m.rank > 1 and m.fixed[-1] and m.fixed[1])
    if x is None:
        return None
    dtype, weight_type = (np.uint8 if g.flip() else np.int8 for _ in range(2))
    zero = g.add_constant(g.draw_int(9), dtype)
    quantized = g.add_node("QuantizeLinear", x, g.add_constant(0.25), zero, exact=True)
    if quantized is None:
        return None
    if x.rank == 4 and g.flip():
        kernel = (g.choose((1, 2, 3)), g.choose((1, 3)))
        weights = g.add_constant(
            g.rng.integers(0, 100, (g.choose((1, 4, 9)), x.shape[1], *kernel)), weight_type
        )
        product = g.add_node("ConvInteger", quantized[0], weights, zero, exact=True, pads=[1, 0, 0, 1])
    else:
        n = g.choose((1, 5, 16, 33))
        weights = g.add_constant(g.rng.integers(0, 100, (x.shape[-1], n)), weight_type)
        zeros = g.add_constant(g.rng.integers(0, 9, [n] if g.flip(0.3) else []), weight_type)
        product = g.add_node("MatMulInteger", quantized[0], weights, zero, zeros, exact=True)
    return product and g.add_node("Cast", product[0], to=F, exact=True)


def add_cumulative(g: RandomGraphBuilder) -> object:
    x = g.pick_value(lambda m: m.rank > 0)
    if x is None:
        return None
    axis = g.draw_int(x.rank - 1)
    if g.flip():
        if not all(have_products_in_range(a, axis) for a in x.arrays):
            return None
        return g.add_node("ReduceProd", x, g.add_ints(axis), keepdims=int(g.flip()))
    attributes = {"exclusive": int(g.flip(0.3)), "reverse": int(g.flip(0.3))}
    return g.add_node("CumSum", x, g.add_constant(axis, np.int64), extra_attributes=attributes)


def have_products_in_range(array: Array, axis: int) -> bool:
    """Whether no product of some elements along an axis is too large or too small: which of them are computed depends on
    the order of the factors, and an infinite one times 0 is NaN."""
    with np.errstate(all="ignore"):
        logs = np.log10(np.abs(array.astype(np.float64)))
    logs = np.where(np.isfinite(logs), logs, 0)
    return bool((np.maximum(logs, 0).sum(axis) < 30).all() and (np.minimum(logs, 0).sum(axis) > -30).all())


def add_reduce_log_sum(g: RandomGraphBuilder) -> object:
    x = g.pick_value(lambda m: m.rank > 0)
    magnitude = x and g.add_node("Abs", x, exact=True)
    return magnitude and g.add_node(
        "ReduceLogSum", magnitude[0], g.add_ints(g.draw_int(magnitude[0].rank - 1)), keepdims=int(g.flip())
    )


def add_constant_of_shape(g: RandomGraphBuilder) -> object:
    """ConstantOfShape with the shape of a value."""
    x = g.pick_value()
    shape = x and g.add_node("Shape", x, exact=True)
    return shape and g.add_node("ConstantOfShape", shape[0], exact=True, value=np.array([0.5], np.float32))


def add_arange(g: RandomGraphBuilder) -> object:
    """Range up to the size of a value."""
    n = g.pick_value(lambda m: m.rank == 0 and all(0 <= int(a) < 500 for a in m.arrays), I64)
    if n is None:
        x = g.pick_value(lambda m: all(a.size < 500 for a in m.arrays))
        size = x and g.add_node("Size", x, exact=True)
        if not size:
            return None
        n = size[0]
    result = g.add_node(
        "Range", g.add_constant(0, np.int64), n, g.add_constant(g.choose((1, 2, 3)), np.int64), exact=True
    )
    return result and g.add_node("Cast", result[0], to=F, exact=True)


def add_rotary_embedding(g: RandomGraphBuilder) -> object:
    """RotaryEmbedding; heads have an even size, which is the same for all feeds."""
    x = g.pick_value(
        lambda m: m.rank == 4 and m.fixed[3] and m.fixed[2] and m.fixed[0] and m.shape[3] % 2 == 0
    )
    if x is None or not all(x.shape):
        return None
    half = x.shape[3] // 2
    caches = [g.add_constant(np.clip(g.draw_normal((x.shape[0], x.shape[2], half)), -1, 1)) for _ in range(2)]
    return g.add_node("RotaryEmbedding", x, *caches, interleaved=int(g.flip()))


def add_masked_attention(g: RandomGraphBuilder) -> object:
    """Attention with an additive mask."""
    x = g.pick_value(is_finite_rank_4)
    if x is None:
        return None
    queries, keys = x.shape[2], x.shape[2]
    mask = g.add_constant(g.draw_normal((g.choose((1, queries)), keys)))
    return g.add_node(
        "Attention", x, x, x, mask, is_causal=int(g.flip(0.3)), softcap=float(g.choose((0, 0, 5)))
    )


def is_finite_rank_4(value: RandomValue) -> bool:
    is_supported = (
        value.rank == 4 and value.fixed[2] and value.fixed[3] and value.shape[3] > 0 and value.shape[2] > 0
    )
    return is_supported and all(bool(np.isfinite(a).all()) for a in value.arrays)


RARE_OPERATORS: tuple[GenerateNode, ...] = (
    add_recurrence, add_recurrence,
    add_quantization, add_integer_product, add_cumulative, add_reduce_log_sum, add_constant_of_shape, add_arange, add_rotary_embedding, add_masked_attention,
)  # fmt: skip
