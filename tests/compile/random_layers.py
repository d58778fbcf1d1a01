"""Random nodes that compute (reductions, normalization, matrix products, convolution, pooling), and random models."""

from __future__ import annotations

import numpy as np

from compile.random_control_flow import CONTROL
from compile.random_data_movement import DATA_MOVEMENT, GenerateNode
from compile.random_elementwise import ELEMENTWISE
from compile.random_graphs import RandomGraphBuilder, RandomModel, RandomValue
from compile.random_rare_operators import RARE_OPERATORS

REDUCTIONS = ("ReduceSum", "ReduceMean", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp")


def add_reduction(g: RandomGraphBuilder) -> object:
    x = g.pick_value(lambda m: m.rank > 0)
    if x is None:
        return None
    axes = [int(i) for i in g.rng.permutation(x.rank)[: 1 + g.draw_int(x.rank - 1)]]
    if g.flip(0.3):
        axes = [axes[0] - x.rank]
    axes_input = [] if g.flip(0.1) else [g.add_ints(*axes)]
    if g.flip(0.3):
        return g.add_node(
            g.choose_name("ReduceMax", "ReduceMin"), x, *axes_input, keepdims=int(g.flip()), exact=True
        )
    return g.add_node(g.choose_name(*REDUCTIONS), x, *axes_input, keepdims=int(g.flip()))


def add_arg_reduction(g: RandomGraphBuilder) -> object:
    x = g.pick_value(lambda m: m.is_exact and m.rank > 0)
    if x is None or g.has_special_values:
        return None
    attributes = {
        "axis": g.draw_int(x.rank - 1),
        "keepdims": int(g.flip()),
        "select_last_index": int(g.flip()),
    }
    return g.add_node(g.choose_name("ArgMax", "ArgMin"), x, exact=True, extra_attributes=attributes)


def add_softmax(g: RandomGraphBuilder) -> object:
    x = g.pick_value(lambda m: m.rank > 0)
    return x and g.add_node(
        g.choose_name("Softmax", "Softmax", "LogSoftmax"), x, axis=g.draw_int(x.rank - 1) - x.rank * g.flip()
    )


def add_norm(g: RandomGraphBuilder) -> object:
    x = g.pick_value(lambda m: m.rank > 0 and m.fixed[-1])
    if x is None:
        return None
    axis = x.rank - 1 - (x.rank > 1 and x.fixed[-2] and g.flip(0.3))
    scale, bias = (g.add_constant(g.draw_normal(x.shape[axis:])) for _ in range(2))
    if g.flip():
        if not are_differences_accurate(x, range(axis, x.rank)):
            return None
        return g.add_node(
            "LayerNormalization", x, scale, bias if g.flip() else None, axis=int(axis), epsilon=1e-2
        )
    return g.add_node("RMSNormalization", x, scale, axis=int(axis), epsilon=1e-2)


def are_differences_accurate(x: RandomValue, axes: range) -> bool:
    """Whether the differences to the mean along axes have more than the rounding of the mean, which the order of its terms
    decides: not those of equal elements."""
    arrays = [np.where(np.isfinite(a), a, 0).astype(np.float64) for a in x.arrays if a.size]
    spreads = [np.ptp(a, tuple(axes)) for a in arrays]
    magnitudes = [np.abs(a).max(tuple(axes)) for a in arrays]
    return all(bool(((m == 0) | (s > 1e-3 * m)).all()) for s, m in zip(spreads, magnitudes, strict=True))


def add_channel_norm(g: RandomGraphBuilder) -> object:
    x = g.pick_value(lambda m: m.rank > 1 and m.fixed[1])
    if x is None:
        return None
    c = x.shape[1]
    scale, bias, mean = (g.add_constant(g.draw_normal((c,))) for _ in range(3))
    variance = g.add_constant(np.abs(g.draw_normal((c,))) + 0.5)
    match g.choose_name(
        "BatchNormalization", "BatchNormalization", "InstanceNormalization", "GroupNormalization", "LRN"
    ):
        case "BatchNormalization":
            return g.add_node("BatchNormalization", x, scale, bias, mean, variance)
        case "InstanceNormalization" | "GroupNormalization" if not are_differences_accurate(
            x, range(2, x.rank)
        ):
            return None
        case "InstanceNormalization":
            return g.add_node("InstanceNormalization", x, scale, bias, epsilon=1e-2)
        case "GroupNormalization":
            return g.add_node("GroupNormalization", x, scale, bias, num_groups=divisor(g, c), epsilon=1e-2)
    return g.add_node("LRN", x, size=g.choose((1, 3, 5)))


def divisor(g: RandomGraphBuilder, n: int) -> int:
    return g.choose([d for d in range(1, n + 1) if n % d == 0] or [1])


def add_matmul(g: RandomGraphBuilder) -> object:
    x = g.pick_value(lambda m: m.rank > 0)
    if x is None:
        return None
    if x.fixed[-1] and g.flip(0.6):
        weights = g.add_constant(g.draw_normal((x.shape[-1], g.choose((1, 2, 5, 8, 16, 17, 40)))) * 0.5)
        return g.add_node("MatMul", x, weights) if g.flip(0.85) else g.add_node("MatMul", weights, x)
    y = g.pick_value(
        lambda m: (
            m.rank > 1 and all(a.shape[-2] == b.shape[-1] for a, b in zip(m.arrays, x.arrays, strict=True))
        )
    )
    if y is not None:
        return g.add_node("MatMul", x, y)
    transposed = x.rank > 1 and g.add_node(
        "Transpose", x, perm=[*range(x.rank - 2), x.rank - 1, x.rank - 2], exact=True
    )
    return transposed and g.add_node("MatMul", x, transposed[0])


def add_gemm(g: RandomGraphBuilder) -> object:
    x = g.pick_value(lambda m: m.rank == 2 and any(m.fixed))
    if x is None:
        return None
    transpose_a = int(not x.fixed[1])
    k, n = x.shape[1 - transpose_a], g.choose((1, 3, 8, 10, 16, 33))
    transpose_b = int(g.flip())
    weights = g.add_constant(g.draw_normal((n, k) if transpose_b else (k, n)) * 0.5)
    bias = [g.add_constant(g.draw_normal(((n,), (1,), (), (1, n))[g.draw_int(3)]))] if g.flip(0.8) else []
    attributes = {
        "transA": transpose_a,
        "transB": transpose_b,
        "alpha": float(g.choose((1, 1, 2))),
        "beta": float(g.choose((1, 1, 3))),
    }
    return g.add_node("Gemm", x, weights, *bias, extra_attributes=attributes)


def window_attributes(g: RandomGraphBuilder, rank: int, *, max_size: int = 3) -> dict[str, object]:
    """Attributes of windows over `rank` spatial dims; max_size: the largest kernel dim."""
    kernel = [g.choose((1, 2, 3, max_size)) for _ in range(rank)]
    if g.flip(0.5):
        kernel = [3] * rank
    attributes: dict[str, object] = {"kernel_shape": kernel}
    if g.flip(0.4):
        attributes["strides"] = [g.choose((1, 2, 3)) for _ in range(rank)]
    if g.flip(0.2):
        attributes["dilations"] = [g.choose((1, 2)) for _ in range(rank)]
    if g.flip(0.5):
        attributes["pads"] = [min(g.choose((0, 1, 2)), k - 1) for k in (*kernel, *kernel)]
    elif g.flip(0.3):
        attributes["auto_pad"] = g.choose_name("SAME_UPPER", "SAME_LOWER", "VALID")
    return attributes


def is_image(value: RandomValue) -> bool:
    return value.rank in (3, 4) and value.fixed[1] and value.shape[1] > 0


def is_finite(value: RandomValue) -> bool:
    return all(bool(np.isfinite(a).all()) for a in value.arrays)


def add_conv(g: RandomGraphBuilder) -> object:
    """Of finite numbers only: Winograd convolution propagates NaN and infinity beyond their windows."""
    x = g.pick_value(lambda m: is_image(m) and is_finite(m))
    if x is None:
        return None
    channels, attributes = x.shape[1], window_attributes(g, x.rank - 2, max_size=5)
    group = g.choose((1, 1, divisor(g, channels), channels))
    kernel = attributes["kernel_shape"]
    assert isinstance(kernel, list), "windows have a kernel"
    if g.flip(0.25):
        group_channels = g.choose((1, 2, 5, 8))
        weights = g.add_constant(g.draw_normal((channels, group_channels, *kernel)) * 0.5)
        attributes.pop("auto_pad", None)
        bias = [g.add_constant(g.draw_normal((group_channels * group,)))] if g.flip() else []
        return g.add_node("ConvTranspose", x, weights, *bias, group=group, extra_attributes=attributes)
    group_channels = g.choose((1, 2, 3, 8, 16, 20)) if group < channels or g.flip(0.3) else 1
    weights = g.add_constant(g.draw_normal((group * group_channels, channels // group, *kernel)) * 0.5)
    bias = [g.add_constant(g.draw_normal((group * group_channels,)))] if g.flip() else []
    return g.add_node("Conv", x, weights, *bias, group=group, extra_attributes=attributes)


def add_pool(g: RandomGraphBuilder) -> object:
    x = g.pick_value(is_image)
    if x is None:
        return None
    attributes = window_attributes(g, x.rank - 2) | {"ceil_mode": int(g.flip(0.3))}
    match g.choose_name("MaxPool", "AveragePool", "LpPool", "GlobalAveragePool", "GlobalMaxPool"):
        case "MaxPool":
            return g.add_node("MaxPool", x, exact=True, extra_attributes=attributes)
        case "AveragePool":
            return g.add_node("AveragePool", x, count_include_pad=int(g.flip()), extra_attributes=attributes)
        case "LpPool":
            return g.add_node("LpPool", x, extra_attributes=attributes)
        case "GlobalAveragePool":
            return g.add_node("GlobalAveragePool", x)
    return g.add_node("GlobalMaxPool", x, exact=True)


def add_resize(g: RandomGraphBuilder) -> object:
    x = g.pick_value(lambda m: m.rank == 4)
    if x is None:
        return None
    mode = g.choose_name("nearest", "linear", "cubic")
    scales = g.add_constant([1, 1, g.choose((1, 2, 3)), g.choose((1, 2, 2))])
    coordinate_mode = g.choose_name("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")
    return g.add_node("Resize", x, None, scales, mode=mode, coordinate_transformation_mode=coordinate_mode)


def add_attention(g: RandomGraphBuilder) -> object:
    """Of finite numbers only: the reference multiplies causally masked values by 0, and NaN * 0 is NaN."""
    x = g.pick_value(lambda m: m.rank == 3 and m.fixed[2] and m.shape[2] > 0 and is_finite(m))
    if x is None:
        return None
    size = x.shape[2]
    projections = [
        g.add_node("MatMul", x, g.add_constant(g.draw_normal((size, size)) * 0.3)) for _ in range(3)
    ]
    heads = divisor(g, size)
    q, k, v = (projection[0] if projection else x for projection in projections)
    return g.add_node("Attention", q, k, v, q_num_heads=heads, kv_num_heads=heads, is_causal=int(g.flip()))


def add_fallback_with_rounding(g: RandomGraphBuilder) -> object:
    x = g.pick_value(lambda m: m.rank > 1)
    if x is None:
        return None
    match g.choose_name("CumSum", "Einsum", "MeanVarianceNormalization", "Hardmax"):
        case "CumSum":
            return g.add_node("CumSum", x, g.add_constant(g.draw_int(x.rank - 1), np.int64))
        case "Einsum":
            return g.add_node("Einsum", x, x, equation="...i,...i->...i")
        case "Hardmax":
            return x.is_exact and not g.has_special_values and g.add_node("Hardmax", x, exact=True)
    # NumPy sums long strided rows of float32 sequentially: its rounding depends on their memory layout.
    is_small = all(a.size <= 300 * a.shape[1] for a in x.arrays if x.rank == 4)
    is_small = is_small and x.rank == 4 and are_differences_accurate(x, range(2, 4))
    return is_small and g.add_node("MeanVarianceNormalization", x)


LAYERS: tuple[GenerateNode, ...] = (
    *ELEMENTWISE,
    add_reduction, add_reduction,
    add_arg_reduction, add_softmax, add_norm, add_channel_norm,
    add_matmul, add_matmul, add_gemm,
    add_conv, add_conv, add_conv, add_pool, add_pool, add_resize,
    add_attention, add_fallback_with_rounding,
)  # fmt: skip


def sample(seed: int, max_nodes: int = 14) -> RandomModel:
    """The random model of a seed, with about `max_nodes` nodes."""
    g = RandomGraphBuilder(seed)
    rank = g.choose((4, 4, 4, 3, 3, 2, 2, 1, 5, 0))
    for _ in range(1 + g.draw_int(2)):
        g.add_input(rank if g.flip(0.7) else g.draw_int(4))
    share = g.choose((2, 5, 8)) / 10
    control = 0.12 if seed % 4 == 3 else 0.0
    for _ in range(4 * max_nodes):
        generators = DATA_MOVEMENT if g.flip(share) else LAYERS
        if control and g.flip(control):
            generators = CONTROL
        elif seed % 4 == 2 and g.flip(0.25):
            generators = RARE_OPERATORS
        generators[g.draw_int(len(generators) - 1)](g)
        if len(list(g.builder.graph.nodes)) >= max_nodes:
            break
    return g.build_model(seed)
