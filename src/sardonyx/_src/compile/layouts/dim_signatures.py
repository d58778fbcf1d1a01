"""Dim signatures: which dims of a node's inputs and results the specification requires to be equal, by operator.

They state the specification a second time, independently of shape inference and of the matchers, so that the verifier
(`verify_sizes.py`) can find errors of these.  A signature lists the dims of each input, and after the arrow the dims
of each result.  Dims with the same name are equal.  `*s` names any number of adjacent dims, `?` is any dim, `...` any
number of any dims, and a number is a dim of that size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import TypeAlias

from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.ir.dims import Known, dim_product

Shape: TypeAlias = "tuple[Known, ...] | None"  # None: omitted, or a value that kernels cannot hold
Shapes: TypeAlias = Sequence[Shape]
DimPairs: TypeAlias = Iterator[tuple[Known, Known]]
Rule: TypeAlias = Callable[[BoundNode, Shapes, Shapes], DimPairs]

SAME = "*s -> *s"
POOL = "n c ... -> n c *o, n c *o"
SIGNATURES: dict[str, str] = {
    **dict.fromkeys(("CumProd", "CumSum", "DynamicQuantizeLinear", "EyeLike", "Hardmax", "LRN", "LogSoftmax"), SAME),
    **dict.fromkeys(("LpNormalization", "MeanVarianceNormalization", "Softmax", "Trilu"), SAME),
    **dict.fromkeys(("AveragePool", "GlobalAveragePool", "GlobalMaxPool", "LpPool", "MaxPool"), POOL),
    "Dropout": "*s -> *s, *s",
    "Cast": SAME,
    "CastLike": SAME,
    "LabelEncoder": SAME,
    "BatchNormalization": "n c *s, c, c, c, c -> n c *s, c, c",
    "InstanceNormalization": "n c *s, c, c -> n c *s",
    "GroupNormalization": "n c *s, c, c -> n c *s",
    "Det": "*s m m -> *s",
    "GatherElements": "..., *s -> *s",
    "GroupedMatMul": "m k, g k n, m s, g n -> m s n",
    "GridSample": "n c ..., n *o ? -> n c *o",
    "LinearAttention": "n t ?, n t ?, n t ?, n h d e, n t ?, n t ? -> n t ?, n h d e",
    "MaxUnpool": "n c *s, n c *s -> n c ...",
    "NonMaxSuppression": "b n 4, b c n",
    "RoiAlign": "n c ? ?, r 4, r -> r c ? ?",
    "ScatterElements": "*d, *s, *s -> *d",
    "DeformConv": "n c ..., m ? *k, n ? *o, m, n ? *o -> n m *o",
    "ReverseSequence": "*s, ? -> *s",
    "TreeEnsemble": "n ? -> n ?",
    "TreeEnsembleRegressor": "n ? -> n ?",
    "TreeEnsembleClassifier": "n ? -> n, n ?",
}  # fmt: skip


def required_equal(op: BoundNode, inputs: Shapes, results: Shapes) -> DimPairs:
    """The pairs of dims that must be equal in every valid run, by the signature and the rule of the operator, if it has them."""
    signature = SIGNATURES.get(op.node.op_type)
    if signature is not None:
        yield from match_signature(signature, inputs, results)
    if (rule := RULES.get(op.node.op_type)) is not None:
        yield from rule(op, inputs, results)


def match_signature(signature: str, inputs: Shapes, results: Shapes) -> DimPairs:
    """The pairs of dims that a signature gives the same name.  Tensors of a rank that does not fit the signature are skipped."""
    known: dict[str, Sequence[Known]] = {}
    for names, shapes in zip(parse_signature(signature), (inputs, results), strict=False):
        for tensor, shape in zip(names, shapes, strict=False):
            yield from match_dims(tensor, shape, known)


@cache
def parse_signature(signature: str) -> list[list[list[str]]]:
    """The names of the dims of each tensor, first of inputs, then of results."""
    return [[tensor.split() for tensor in side.split(",")] for side in signature.split("->")]


def match_dims(names: Sequence[str], shape: Shape, known: dict[str, Sequence[Known]]) -> DimPairs:
    """The pairs of each dim of a tensor with an earlier dim of the same name; `known` holds the dims by name."""
    run = next((i for i, name in enumerate(names) if name == "..." or name[0] == "*"), None)
    length = 1 if shape is None or run is None else len(shape) - len(names) + 1
    if shape is None or len(shape) != len(names) - 1 + length or length < 0:
        return
    start = 0
    for i, name in enumerate(names):
        dims = shape[start : start + (length if i == run else 1)]
        start += len(dims)
        if name.isdigit():
            yield dims[0], int(name)
        elif name in known:
            if len(known[name]) == len(dims):
                yield from zip(known[name], dims, strict=True)
        elif name not in ("?", "..."):
            known[name] = dims


def broadcast_operands(op: BoundNode, inputs: Shapes, *, is_elementwise: bool) -> Iterator[tuple[Known, ...]]:
    """The shapes of the operands that must broadcast to the last dims of the result."""
    match op.node.op_type:
        case "Expand" | "CastLike":
            chosen = inputs[:1]
        case "Gemm":
            chosen = inputs[2:3]
        case "QuantizeLinear" | "DequantizeLinear":
            chosen = [scale_along_axis(op, inputs[0], inputs[1])]
        case "MatMul":
            chosen = [None if shape is None or len(shape) < 2 else (*shape[:-2], 1, 1) for shape in inputs]
        case _:
            chosen = inputs if is_elementwise else ()
    yield from (shape for shape in chosen if shape is not None)


# --- operators with attributes ---------------------------------------------------------------


def match_product(op: BoundNode, inputs: Shapes, results: Shapes) -> DimPairs:
    """MatMul, MatMulInteger, QLinearMatMul: rows, columns and the dim that is summed over; batch dims broadcast."""
    second = {"QLinearMatMul": 3}.get(op.node.op_type, 1)
    a, b, y = inputs[0], inputs[second], results[0]
    if a and b:
        yield a[-1], b[-2] if len(b) > 1 else b[0]
    if a and b and y and len(a) > 1 and len(b) > 1:
        yield a[-2], y[-2]
        yield b[-1], y[-1]


def match_gemm(op: BoundNode, inputs: Shapes, results: Shapes) -> DimPairs:
    a = "k m" if op.attribute("transA", int) else "m k"
    b = "n k" if op.attribute("transB", int) else "k n"
    yield from match_signature(f"{a}, {b} -> m n", inputs, results)


def match_convolution(op: BoundNode, inputs: Shapes, results: Shapes) -> DimPairs:
    """Convolutions: batch, channels, groups; the bias has one element for each output channel."""
    weights, bias = {"QLinearConv": (3, 8), "ConvInteger": (1, 4)}.get(op.node.op_type, (1, 2))
    x, w, y = inputs[0], inputs[weights], results[0]
    group = op.attribute("group", int)
    if x and w and y:
        is_transposed = op.node.op_type == "ConvTranspose"
        channels, maps = (w[0], w[1] * group) if is_transposed else (w[1] * group, w[0])
        yield x[1], channels
        yield from match_signature("n m, m -> n m ...", [(x[0], maps), input_of(inputs, bias)], results)


def match_concat(op: BoundNode, inputs: Shapes, results: Shapes) -> DimPairs:
    """All dims but the axis are equal; the sizes along the axis add up."""
    y = results[0]
    if y is not None and all(shape is not None and len(shape) == len(y) for shape in inputs):
        axis = op.attribute("axis", int) % len(y)
        shapes = [shape for shape in inputs if shape is not None]
        for shape in shapes:
            yield from (pair for i, pair in enumerate(zip(shape, y, strict=True)) if i != axis)
        yield sum((shape[axis] for shape in shapes), start=0), y[axis]


def match_split(op: BoundNode, inputs: Shapes, results: Shapes) -> DimPairs:
    yield from match_concat(op, results, inputs)


def match_counts(op: BoundNode, inputs: Shapes, results: Shapes) -> DimPairs:
    """Reshape and similar operators: the numbers of elements are equal."""
    if inputs[0] is not None and results[0] is not None:
        yield dim_product(inputs[0]), dim_product(results[0])


def match_transposition(op: BoundNode, inputs: Shapes, results: Shapes) -> DimPairs:
    if inputs[0] is not None and results[0] is not None:
        order = op.ints("perm") or range(len(inputs[0]))[::-1]
        yield from zip((inputs[0][i] for i in order), results[0], strict=True)


def match_gather(op: BoundNode, inputs: Shapes, results: Shapes) -> DimPairs:
    data, indices, y = inputs[0], inputs[1], results[0]
    if data is not None and indices is not None and y is not None:
        axis = op.attribute("axis", int) % len(data)
        yield from zip((*data[:axis], *indices, *data[axis + 1 :]), y, strict=True)


def match_gather_nd(op: BoundNode, inputs: Shapes, results: Shapes) -> DimPairs:
    data, indices, y = inputs[0], inputs[1], results[0]
    if data is not None and indices is not None and y is not None and isinstance(indices[-1], int):
        batch = op.attribute("batch_dims", int)
        yield from zip(data[:batch], indices[:batch], strict=True)
        yield from zip((*indices[:-1], *data[batch + indices[-1] :]), y, strict=True)


def match_scatter_nd(op: BoundNode, inputs: Shapes, results: Shapes) -> DimPairs:
    data, indices, updates = inputs[:3]
    if data is not None and indices is not None and updates is not None and isinstance(indices[-1], int):
        yield from zip((*indices[:-1], *data[indices[-1] :]), updates, strict=True)
        yield from zip(data, results[0] or (), strict=False)


def match_recurrence(op: BoundNode, inputs: Shapes, results: Shapes) -> DimPairs:
    """LSTM, GRU and RNN: time steps, batch, directions, and the hidden units of each gate."""
    gates = {"LSTM": 4, "GRU": 3}.get(op.node.op_type, 1)
    is_batch_first = op.attribute("layout", int) == 1
    sequence, state = ("b s", "b d h") if is_batch_first else ("s b", "d b h")
    y = "b s d h" if is_batch_first else "s d b h"
    signature = f"{sequence} i, d g i, d g h, d w, b, {state}, {state}, d p -> {y}, {state}, {state}"
    yield from match_signature(signature, inputs, results)
    hidden = inputs[2][2] if inputs[2] else None
    if hidden is not None:
        for i, count in ((1, gates), (2, gates), (3, 2 * gates), (7, 3)):
            if (shape := input_of(inputs, i)) is not None:
                yield shape[1], count * hidden


def match_attention(op: BoundNode, inputs: Shapes, results: Shapes) -> DimPairs:
    """Queries, keys and values of rank 4, or of rank 3 with the heads side by side."""
    past = "b k p e, b k p f, b"
    yield from match_signature(f"b q s e, b k t e, b k t f, ..., {past} -> b q s f, b k u e, b k u f, b q s u", inputs, results)  # fmt: skip
    yield from match_signature("b s ?, b t ?, b t ?, ..., b k p ?, b k p ?, b -> b s ?, b k u ?, b k u ?, b q s u", inputs, results)  # fmt: skip


def match_normalized(op: BoundNode, inputs: Shapes, results: Shapes) -> DimPairs:
    """LayerNormalization and RMSNormalization: each dim of scale and bias is 1, or equals the aligned dim of the input."""
    yield from match_signature(SAME, inputs, results)
    for i in (1, 2):
        shape = input_of(inputs, i) or ()
        for dim, input_dim in zip(shape[::-1], (inputs[0] or ())[::-1], strict=False):
            if isinstance(dim, int) and dim != 1:
                yield dim, input_dim


def match_quantization(op: BoundNode, inputs: Shapes, results: Shapes) -> DimPairs:
    """QuantizeLinear and DequantizeLinear: a zero point for each scale; scales broadcast (`scale_along_axis`)."""
    yield from match_signature("*s, *z, *z -> *s", inputs, results)


def scale_along_axis(op: BoundNode, x: Shape, scale: Shape) -> Shape:
    """The dims of a scale per axis or per tensor, aligned with x; None for scales per block."""
    if not x or scale is None or len(scale) != 1 or op.attribute("block_size", int):
        return None
    axis = op.attribute("axis", int) % len(x)
    return tuple(scale[0] if i == axis else 1 for i in range(len(x)))


def match_one_axis(op: BoundNode, inputs: Shapes, results: Shapes) -> DimPairs:
    """ArgMax, ArgMin, TopK: the result has the dims of the input, except on the axis."""
    x = inputs[0]
    for y in results:
        if x is not None and y is not None and len(x) == len(y):
            axis = op.attribute("axis", int) % len(x)
            yield from (pair for i, pair in enumerate(zip(x, y, strict=True)) if i != axis)


def match_cache(op: BoundNode, inputs: Shapes, results: Shapes) -> DimPairs:
    """TensorScatter: the update has the dims of the cache, except on the axis."""
    yield from match_signature("b *s, ..., b -> b *s", inputs, results)
    yield from match_one_axis(op, inputs[:1], inputs[1:2])


def match_rotation(op: BoundNode, inputs: Shapes, results: Shapes) -> DimPairs:
    """RotaryEmbedding: a row of the caches for each position, or for each token."""
    yield from match_signature("*s, *c, *c, ... -> *s", inputs, results)
    x, cosines, positions = inputs[0], inputs[1], input_of(inputs, 3)
    if x is not None and cosines is not None:
        tokens = (x[0], x[2] if len(x) == 4 else x[1])
        yield from zip(tokens, cosines if positions is None else positions, strict=False)


def input_of(inputs: Shapes, i: int) -> Shape:
    """The shape of an input; None if it is omitted."""
    return inputs[i] if i < len(inputs) else None


RULES: Mapping[str, Rule] = {
    **dict.fromkeys(("MatMul", "MatMulInteger", "QLinearMatMul"), match_product),
    **dict.fromkeys(("Conv", "ConvInteger", "ConvTranspose", "QLinearConv"), match_convolution),
    **dict.fromkeys(("Reshape", "Flatten", "Squeeze", "Unsqueeze", "DepthToSpace", "SpaceToDepth"), match_counts),
    **dict.fromkeys(("LSTM", "GRU", "RNN"), match_recurrence),
    **dict.fromkeys(("LayerNormalization", "RMSNormalization"), match_normalized),
    **dict.fromkeys(("QuantizeLinear", "DequantizeLinear"), match_quantization),
    **dict.fromkeys(("ArgMax", "ArgMin", "TopK"), match_one_axis),
    "Attention": match_attention,
    "Concat": match_concat,
    "Gather": match_gather,
    "GatherND": match_gather_nd,
    "Gemm": match_gemm,
    "RotaryEmbedding": match_rotation,
    "ScatterND": match_scatter_nd,
    "Split": match_split,
    "TensorScatter": match_cache,
    "Transpose": match_transposition,
}  # fmt: skip
