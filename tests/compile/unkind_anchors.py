"""Random nodes whose kernels take epilogues, and elementwise nodes with operands of every broadcasting shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from compile.random_graphs import RandomValue
from compile.unkind_fed_sizes import Nodes
from compile.unkind_graphs import UnkindGraphBuilder

# Adds a node that reads a value, if the value fits.
Anchor = Callable[[UnkindGraphBuilder, RandomValue], Nodes]
UNARY = ("Relu", "Neg", "Abs", "Relu", "Sigmoid")
BINARY = ("Add", "Mul", "Add", "Mul", "Sub", "Max", "Min")


# --- elementwise -----------------------------------------------------------------------------


def add_operand(g: UnkindGraphBuilder, x: RandomValue) -> RandomValue:
    """A constant of a shape that broadcasts with x: any of its dims are 1, and leading ones are left out or added."""
    share = g.choose((2, 5, 8)) / 10
    dims = [n if is_fixed and g.flip(share) else 1 for n, is_fixed in zip(x.shape, x.fixed, strict=True)]
    if g.flip(0.4):
        while dims and dims[0] == 1:
            dims.pop(0)
    elif g.flip(0.05):
        dims.insert(0, 1)
    return g.add_constant(g.draw_signs(dims) * g.choose((1, 1, 2)))


def add_elementwise(g: UnkindGraphBuilder, x: RandomValue | None = None) -> Nodes:
    """A unary operator, or a binary one with an operand of another broadcasting shape."""
    x = x or g.pick_value()
    if x is None:
        return None
    if g.flip(0.35):
        op_type = g.choose_name(*UNARY)
        return g.add_node(op_type, x, exact=op_type != "Sigmoid")
    y = add_operand(g, x)
    operands = (x, y) if g.flip(0.7) else (y, x)
    return g.add_node(g.choose_name(*BINARY), *operands, exact=True)


def add_residual(g: UnkindGraphBuilder) -> Nodes:
    """The sum, or another combination, of two values whose shapes are mostly equal, and at least broadcast."""
    x = g.pick_value(lambda m: m.rank > 0)
    if x is None:
        return None
    fits = have_equal_shapes if g.flip(0.8) else do_broadcast
    y = g.pick_value(lambda m: m is not x and fits(m, x))
    if y is None:
        return None
    return g.add_node(g.choose_name("Add", "Add", "Mul", "Max", "Sub"), y, x, exact=True)


def have_equal_shapes(a: RandomValue, b: RandomValue) -> bool:
    return all(p.shape == q.shape for p, q in zip(a.arrays, b.arrays, strict=True))


def do_broadcast(a: RandomValue, b: RandomValue) -> bool:
    pairs = [(p.shape[::-1], q.shape[::-1]) for p, q in zip(a.arrays, b.arrays, strict=True)]
    return all(m == n or m == 1 or n == 1 for p, q in pairs for m, n in zip(p, q, strict=False))


# --- images ----------------------------------------------------------------------------------


def has_channels(x: RandomValue) -> bool:
    """Whether a value may be an image: [N, C, ...] with a fixed number of channels."""
    return x.rank in (3, 4) and x.fixed[1] and x.shape[1] > 0


def window(g: UnkindGraphBuilder, rank: int) -> dict[str, object]:
    """Attributes of windows over `rank` spatial dims, which mostly keep the sizes, or halve them."""
    size = g.choose((1, 1, 3, 3, 2, 5))
    kernel = [size if g.flip(0.85) else g.choose((1, 2, 3)) for _ in range(rank)]
    attributes: dict[str, object] = {"kernel_shape": kernel}
    if g.flip(0.3):
        attributes["strides"] = [g.choose((2, 2, 1, 3))] * rank
    if g.flip(0.7):
        attributes["pads"] = [k // 2 for k in kernel] + [(k - 1) // 2 for k in kernel]
    elif g.flip(0.2):
        attributes["auto_pad"] = g.choose_name("SAME_UPPER", "SAME_LOWER")
    return attributes


def conv(g: UnkindGraphBuilder, x: RandomValue) -> Nodes:
    if not has_channels(x):
        return None
    channels, attributes = x.shape[1], window(g, x.rank - 2)
    kernel = attributes["kernel_shape"]
    assert isinstance(kernel, list), "windows have a kernel"
    groups = g.choose([n for n in (1, 1, 1, 2, channels) if channels % n == 0])
    outputs = groups * (1 if groups == channels > 1 and g.flip(0.8) else g.draw_channels())
    weights = g.add_constant(g.draw_signs((outputs, channels // groups, *kernel)))
    bias = [g.add_constant(g.draw_normal((outputs,)))] if g.flip(0.3) else []
    if kernel == [3] * (x.rank - 2):
        return g.add_transformed_sum("Conv", x, weights, *bias, group=groups, **attributes)
    return g.add_sum("Conv", x, weights, *bias, group=groups, **attributes)


def conv_transpose(g: UnkindGraphBuilder, x: RandomValue) -> Nodes:
    if not has_channels(x):
        return None
    channels, spatial = x.shape[1], x.rank - 2
    groups = g.choose([n for n in (1, 1, 1, 2, channels) if channels % n == 0])
    outputs, size = max(g.draw_channels() // groups, 1), g.choose((1, 2, 2, 3, 4))
    weights = g.add_constant(g.draw_signs((channels, outputs, *[size] * spatial)))
    bias = [g.add_constant(g.draw_normal((outputs * groups,)))] if g.flip(0.3) else []
    attributes: dict[str, object] = {"strides": [g.choose((1, 2, 2, 3))] * spatial}
    if g.flip(0.3):
        attributes["pads"] = [g.draw_int(size // 2)] * (2 * spatial)
    return g.add_sum("ConvTranspose", x, weights, *bias, group=groups, **attributes)


def pool(g: UnkindGraphBuilder, x: RandomValue) -> Nodes:
    if not has_channels(x):
        return None
    attributes = window(g, x.rank - 2) | ({"ceil_mode": 1} if g.flip(0.2) else {})
    match g.choose_name("MaxPool", "MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"):
        case "MaxPool":
            return g.add_node("MaxPool", x, exact=True, extra_attributes=attributes)
        case "AveragePool":
            attributes["count_include_pad"] = int(g.flip())
            return g.add_node("AveragePool", x, extra_attributes=attributes)
        case "GlobalAveragePool":
            return g.add_node("GlobalAveragePool", x)
    return g.add_node("GlobalMaxPool", x, exact=True)


def upsample(g: UnkindGraphBuilder, x: RandomValue) -> Nodes:
    """Resize by constant scales."""
    if not has_channels(x):
        return None
    scales = np.array([1, 1, *(g.choose((2, 2, 1, 3)) for _ in range(x.rank - 2))], np.float32)
    operands = [None, g.add_initializer(scales)]
    attributes = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    return g.add_node("Resize", x, *operands, exact=True, extra_attributes=attributes)


def channel_norm(g: UnkindGraphBuilder, x: RandomValue) -> Nodes:
    if not has_channels(x):
        return None
    n = x.shape[1]
    vectors = [g.add_constant(g.draw_signs((n,))) for _ in range(3)]
    match g.choose_name("InstanceNormalization", "GroupNormalization", "BatchNormalization"):
        case "BatchNormalization":
            variance = g.add_constant(np.full(n, 4, np.float32))
            return g.add_node("BatchNormalization", x, *vectors, variance, epsilon=0.5)
        case "GroupNormalization":
            groups = g.choose([d for d in range(1, n + 1) if n % d == 0])
            return g.add_node("GroupNormalization", x, *vectors[:2], num_groups=groups, epsilon=0.5)
    return g.add_node("InstanceNormalization", x, *vectors[:2], epsilon=0.5)


IMAGE_ANCHORS: tuple[Anchor, ...] = (
    conv, conv, conv, conv, conv_transpose, pool, pool, upsample, channel_norm
)  # fmt: skip


# --- rows ------------------------------------------------------------------------------------


def matmul(g: UnkindGraphBuilder, x: RandomValue) -> Nodes:
    if x.rank < 1 or not x.fixed[-1] or x.shape[-1] == 0:
        return None
    k, columns = x.shape[-1], g.draw_channels()
    if x.rank > 1 and x.fixed[-2] and g.flip(0.2):
        rows = g.choose((1, g.draw_channels()))
        return g.add_sum("MatMul", g.add_constant(g.draw_signs((rows, x.shape[-2]))), x)
    if g.flip(0.15):
        return g.add_sum("MatMul", x, g.add_constant(g.draw_signs((k,))))
    lead = (
        [n if f and g.flip() else 1 for n, f in zip(x.shape[:-2], x.fixed, strict=False)]
        if g.flip(0.2)
        else []
    )
    return g.add_sum("MatMul", x, g.add_constant(g.draw_signs((*lead, k, columns))))


def gemm(g: UnkindGraphBuilder, x: RandomValue) -> Nodes:
    """With a bias of every shape; rows of x need not be fixed, unless the bias has them."""
    if x.rank != 2 or not any(x.fixed):
        return None
    transposed = int(not x.fixed[1] or (x.fixed[0] and g.flip(0.3)))
    k, m, n = x.shape[1 - transposed], x.shape[transposed], g.draw_channels()
    transB = int(g.flip())
    weights = g.add_constant(g.draw_signs((n, k) if transB else (k, n)))
    shapes: list[Sequence[int]] = [(n,), (1, n), (1,), (), (1, 1)]
    if x.fixed[transposed]:
        shapes += [(m, 1), (m, n), (m, 1), (m, n)]
    bias = [g.add_constant(g.draw_normal(shapes[g.draw_int(len(shapes) - 1)]))] if g.flip(0.85) else []
    beta = float(g.choose((1, 1, 2)))
    return g.add_sum("Gemm", x, weights, *bias, transA=transposed, transB=transB, beta=beta)


def row_norm(g: UnkindGraphBuilder, x: RandomValue) -> Nodes:
    if x.rank < 1 or not x.fixed[-1] or x.shape[-1] == 0:
        return None
    scale, bias = (g.add_constant(g.draw_signs(x.shape[-1:])) for _ in range(2))
    if g.flip():
        return g.add_node("LayerNormalization", x, scale, *([bias] if g.flip() else []), epsilon=0.5)
    return g.add_node("RMSNormalization", x, scale, epsilon=0.5)


def softmax(g: UnkindGraphBuilder, x: RandomValue) -> Nodes:
    return g.add_node("Softmax", x, axis=g.draw_int(x.rank - 1)) if x.rank else None


def reduction(g: UnkindGraphBuilder, x: RandomValue) -> Nodes:
    if x.rank < 1:
        return None
    axes = [int(i) for i in g.rng.permutation(x.rank)[: 1 + g.draw_int(x.rank - 1)]]
    operands, keepdims = (x, g.add_ints(*axes)), int(g.flip(0.6))
    match g.choose_name("ReduceSum", "ReduceMax", "ReduceMean"):
        case "ReduceSum":
            return g.add_sum("ReduceSum", *operands, keepdims=keepdims)
        case "ReduceMax":
            return g.add_node("ReduceMax", *operands, keepdims=keepdims, exact=True)
    return g.add_node("ReduceMean", *operands, keepdims=keepdims)


def attention(g: UnkindGraphBuilder, x: RandomValue) -> Nodes:
    """Of a value with itself or with fed keys, and a mask of any broadcasting shape."""
    if x.rank not in (3, 4) or not x.fixed[-1] or not x.fixed[-2] or x.shape[-1] == 0:
        return None
    attributes: dict[str, object] = {"is_causal": int(g.flip(0.3))}
    if x.rank == 3:
        heads = g.choose([n for n in (1, 2, 4) if x.shape[-1] % n == 0])
        attributes |= {"q_num_heads": heads, "kv_num_heads": heads}
    scaled = g.add_node("Mul", x, g.add_initializer(np.float32(1 / 16)), exact=True)
    if scaled is None:
        return None
    keys = [add_keys(g, x)] * 2 if g.flip() else scaled * 2
    lengths = (x.shape[-2], keys[0].shape[-2])
    mask = [g.add_constant(g.draw_signs((g.choose((1, lengths[0])), lengths[1])))] if g.flip(0.6) else []
    return g.add_node("Attention", scaled[0], *keys, *mask, extra_attributes=attributes)


def add_keys(g: UnkindGraphBuilder, x: RandomValue) -> RandomValue:
    """A new input like x, with another number of rows, for which the model declares a symbol."""
    rows = max(g.draw_size(), 1)
    shapes = [(*a.shape[:-2], rows, a.shape[-1]) for a in x.arrays]
    declared = [n if f else None for n, f in zip(x.shape, x.fixed, strict=True)]
    rows_name = f"rows{len(g.declared)}"
    return g.add_fed([g.draw_signs(shape) for shape in shapes], [*declared[:-2], rows_name, declared[-1]])


def recurrence(g: UnkindGraphBuilder, x: RandomValue) -> Nodes:
    if x.rank != 3 or not x.fixed[2] or x.shape[2] == 0:
        return None
    op_type, gates = ("LSTM", 4) if g.flip() else ("GRU", 3)
    size = g.choose((1, 3, 8, 17))
    weights = [g.add_constant(g.draw_signs((1, gates * size, n)) / 16) for n in (x.shape[2], size)]
    bias = [g.add_constant(g.draw_signs((1, 2 * gates * size)))] if g.flip() else []
    return g.add_node(op_type, x, *weights, *bias, outputs=2, hidden_size=size)


ROW_ANCHORS: tuple[Anchor, ...] = (
    matmul, matmul, gemm, gemm, gemm, row_norm, softmax, reduction, attention, recurrence
)  # fmt: skip


def add_anchor(g: UnkindGraphBuilder, x: RandomValue | None = None) -> Nodes:
    """A node of a family that fits a value, a recent one by default."""
    x = x or g.pick_value(lambda m: m.rank > 0)
    if x is None:
        return None
    family = IMAGE_ANCHORS if x.rank in (3, 4) and g.flip(0.75) else ROW_ANCHORS
    return g.choose_from(family)(g, x)


def add_anchor_with_epilogue(g: UnkindGraphBuilder) -> Nodes:
    """An anchor, and a chain of elementwise nodes of its result."""
    result = add_anchor(g)
    for _ in range(1 + g.draw_int(2)):
        following = result and add_elementwise(g, result[0])
        result = following or result
    return result
