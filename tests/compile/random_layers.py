"""Operators that compute, chosen by chance: reductions, norms, products, windows; and whole graphs."""

from __future__ import annotations

import numpy as np

from compile.random_control import CONTROL
from compile.random_elements import ELEMENTWISE
from compile.random_graphs import Growing, Made, Sample
from compile.random_more import MORE
from compile.random_moves import MOVES, Move

FOLDS = ("ReduceSum", "ReduceMean", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp")


def reduction(g: Growing) -> object:
    x = g.pick(lambda m: m.rank > 0)
    if x is None:
        return None
    axes = [int(i) for i in g.chance.permutation(x.rank)[: 1 + g.up_to(x.rank - 1)]]
    if g.coin(0.3):
        axes = [axes[0] - x.rank]
    given = [] if g.coin(0.1) else [g.ints(*axes)]
    if g.coin(0.3):
        return g.op(g.word("ReduceMax", "ReduceMin"), x, *given, keepdims=int(g.coin()), exact=True)
    return g.op(g.word(*FOLDS), x, *given, keepdims=int(g.coin()))


def extreme(g: Growing) -> object:
    x = g.pick(lambda m: m.is_exact and m.rank > 0)
    if x is None or g.is_wild:
        return None
    how = {"axis": g.up_to(x.rank - 1), "keepdims": int(g.coin()), "select_last_index": int(g.coin())}
    return g.op(g.word("ArgMax", "ArgMin"), x, exact=True, how=how)


def softmax(g: Growing) -> object:
    x = g.pick(lambda m: m.rank > 0)
    return x and g.op(
        g.word("Softmax", "Softmax", "LogSoftmax"), x, axis=g.up_to(x.rank - 1) - x.rank * g.coin()
    )


def norm(g: Growing) -> object:
    x = g.pick(lambda m: m.rank > 0 and m.fixed[-1])
    if x is None:
        return None
    axis = x.rank - 1 - (x.rank > 1 and x.fixed[-2] and g.coin(0.3))
    scale, bias = (g.constant(g.normal(x.shape[axis:])) for _ in range(2))
    if g.coin():
        return g.op("LayerNormalization", x, scale, bias if g.coin() else None, axis=int(axis), epsilon=1e-2)
    return g.op("RMSNormalization", x, scale, axis=int(axis), epsilon=1e-2)


def channel_norm(g: Growing) -> object:
    x = g.pick(lambda m: m.rank > 1 and m.fixed[1])
    if x is None:
        return None
    c = x.shape[1]
    scale, bias, mean = (g.constant(g.normal((c,))) for _ in range(3))
    variance = g.constant(np.abs(g.normal((c,))) + 0.5)
    match g.word(
        "BatchNormalization", "BatchNormalization", "InstanceNormalization", "GroupNormalization", "LRN"
    ):
        case "BatchNormalization":
            return g.op("BatchNormalization", x, scale, bias, mean, variance)
        case "InstanceNormalization":
            return g.op("InstanceNormalization", x, scale, bias, epsilon=1e-2)
        case "GroupNormalization":
            return g.op("GroupNormalization", x, scale, bias, num_groups=divisor(g, c), epsilon=1e-2)
    return g.op("LRN", x, size=g.one((1, 3, 5)))


def divisor(g: Growing, n: int) -> int:
    return g.one([d for d in range(1, n + 1) if n % d == 0] or [1])


def matmul(g: Growing) -> object:
    x = g.pick(lambda m: m.rank > 0)
    if x is None:
        return None
    if x.fixed[-1] and g.coin(0.6):
        weights = g.constant(g.normal((x.shape[-1], g.one((1, 2, 5, 8, 16, 17, 40)))) * 0.5)
        return g.op("MatMul", x, weights) if g.coin(0.85) else g.op("MatMul", weights, x)
    y = g.pick(
        lambda m: (
            m.rank > 1 and all(a.shape[-2] == b.shape[-1] for a, b in zip(m.arrays, x.arrays, strict=True))
        )
    )
    if y is not None:
        return g.op("MatMul", x, y)
    turned = x.rank > 1 and g.op(
        "Transpose", x, perm=[*range(x.rank - 2), x.rank - 1, x.rank - 2], exact=True
    )
    return turned and g.op("MatMul", x, turned[0])


def gemm(g: Growing) -> object:
    x = g.pick(lambda m: m.rank == 2 and any(m.fixed))
    if x is None:
        return None
    turned = int(not x.fixed[1])
    k, n = x.shape[1 - turned], g.one((1, 3, 8, 10, 16, 33))
    across = int(g.coin())
    weights = g.constant(g.normal((n, k) if across else (k, n)) * 0.5)
    bias = [g.constant(g.normal(((n,), (1,), (), (1, n))[g.up_to(3)]))] if g.coin(0.8) else []
    how = {
        "transA": turned,
        "transB": across,
        "alpha": float(g.one((1, 1, 2))),
        "beta": float(g.one((1, 1, 3))),
    }
    return g.op("Gemm", x, weights, *bias, how=how)


def windows(g: Growing, rank: int, *, most: int = 3) -> dict[str, object]:
    """Attributes of windows over so many dims."""
    kernel = [g.one((1, 2, 3, most)) for _ in range(rank)]
    if g.coin(0.5):
        kernel = [3] * rank
    found: dict[str, object] = {"kernel_shape": kernel}
    if g.coin(0.4):
        found["strides"] = [g.one((1, 2, 3)) for _ in range(rank)]
    if g.coin(0.2):
        found["dilations"] = [g.one((1, 2)) for _ in range(rank)]
    if g.coin(0.5):
        found["pads"] = [min(g.one((0, 1, 2)), k - 1) for k in (*kernel, *kernel)]
    elif g.coin(0.3):
        found["auto_pad"] = g.word("SAME_UPPER", "SAME_LOWER", "VALID")
    return found


def is_image(made: Made) -> bool:
    return made.rank in (3, 4) and made.fixed[1] and made.shape[1] > 0


def is_finite(made: Made) -> bool:
    return all(bool(np.isfinite(a).all()) for a in made.arrays)


def conv(g: Growing) -> object:
    """Of finite numbers: in Winograd's form others reach results outside of their windows."""
    x = g.pick(lambda m: is_image(m) and is_finite(m))
    if x is None:
        return None
    channels, how = x.shape[1], windows(g, x.rank - 2, most=5)
    group = g.one((1, 1, divisor(g, channels), channels))
    kernel = how["kernel_shape"]
    assert isinstance(kernel, list), "windows have a kernel"
    if g.coin(0.25):
        each = g.one((1, 2, 5, 8))
        weights = g.constant(g.normal((channels, each, *kernel)) * 0.5)
        how.pop("auto_pad", None)
        bias = [g.constant(g.normal((each * group,)))] if g.coin() else []
        return g.op("ConvTranspose", x, weights, *bias, group=group, how=how)
    each = g.one((1, 2, 3, 8, 16, 20)) if group < channels or g.coin(0.3) else 1
    weights = g.constant(g.normal((group * each, channels // group, *kernel)) * 0.5)
    bias = [g.constant(g.normal((group * each,)))] if g.coin() else []
    return g.op("Conv", x, weights, *bias, group=group, how=how)


def pool(g: Growing) -> object:
    x = g.pick(is_image)
    if x is None:
        return None
    how = windows(g, x.rank - 2) | {"ceil_mode": int(g.coin(0.3))}
    match g.word("MaxPool", "AveragePool", "LpPool", "GlobalAveragePool", "GlobalMaxPool"):
        case "MaxPool":
            return g.op("MaxPool", x, exact=True, how=how)
        case "AveragePool":
            return g.op("AveragePool", x, count_include_pad=int(g.coin()), how=how)
        case "LpPool":
            return g.op("LpPool", x, how=how)
        case "GlobalAveragePool":
            return g.op("GlobalAveragePool", x)
    return g.op("GlobalMaxPool", x, exact=True)


def resize(g: Growing) -> object:
    x = g.pick(lambda m: m.rank == 4)
    if x is None:
        return None
    mode = g.word("nearest", "linear", "cubic")
    scales = g.constant([1, 1, g.one((1, 2, 3)), g.one((1, 2, 2))])
    how = g.word("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")
    return g.op("Resize", x, None, scales, mode=mode, coordinate_transformation_mode=how)


def attention(g: Growing) -> object:
    """Of finite numbers: what causality hides is not looked at, where NaN * 0 would be NaN."""
    x = g.pick(lambda m: m.rank == 3 and m.fixed[2] and m.shape[2] > 0 and is_finite(m))
    if x is None:
        return None
    size = x.shape[2]
    made = [g.op("MatMul", x, g.constant(g.normal((size, size)) * 0.3)) for _ in range(3)]
    heads = divisor(g, size)
    q, k, v = (one[0] if one else x for one in made)
    return g.op("Attention", q, k, v, q_num_heads=heads, kv_num_heads=heads, is_causal=int(g.coin()))


def rounded_on_the_host(g: Growing) -> object:
    x = g.pick(lambda m: m.rank > 1)
    if x is None:
        return None
    match g.word("CumSum", "Einsum", "MeanVarianceNormalization", "Hardmax"):
        case "CumSum":
            return g.op("CumSum", x, g.constant(g.up_to(x.rank - 1), np.int64))
        case "Einsum":
            return g.op("Einsum", x, x, equation="...i,...i->...i")
        case "Hardmax":
            return x.is_exact and not g.is_wild and g.op("Hardmax", x, exact=True)
    # NumPy sums long strided rows of float32 one by one: what it makes of them depends on how they lie in memory.
    is_small = all(a.size <= 300 * a.shape[1] for a in x.arrays if x.rank == 4)
    return x.rank == 4 and is_small and g.op("MeanVarianceNormalization", x)


LAYERS: tuple[Move, ...] = (
    *ELEMENTWISE,
    reduction, reduction,
    extreme, softmax, norm, channel_norm,
    matmul, matmul, gemm,
    conv, conv, conv, pool, pool, resize,
    attention, rounded_on_the_host,
)  # fmt: skip


def sample(seed: int, most: int = 14) -> Sample:
    """The graph of a seed, with at most so many nodes and a few more."""
    g = Growing(seed)
    rank = g.one((4, 4, 4, 3, 3, 2, 2, 1, 5, 0))
    for _ in range(1 + g.up_to(2)):
        g.input(rank if g.coin(0.7) else g.up_to(4))
    share = g.one((2, 5, 8)) / 10
    control = 0.12 if seed % 4 == 3 else 0.0
    for _ in range(4 * most):
        kinds = MOVES if g.coin(share) else LAYERS
        if control and g.coin(control):
            kinds = CONTROL
        elif seed % 4 == 2 and g.coin(0.25):
            kinds = MORE
        kinds[g.up_to(len(kinds) - 1)](g)
        if len(list(g.builder.graph.nodes)) >= most:
            break
    return g.sample(seed)
