"""Cases of gradients: operators with their inputs, written as the signature and the body of a graph.

Inputs called p, p1 ... have elements between 0.2 and 0.9, others have normally distributed ones.  The letters N, M and H
are sizes that the model does not know: 2, 1 and 6.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sardonyx._src.io.text import from_text
from sardonyx._src.ir import Model
from sardonyx._src.ops.api import RuntimeValue

SIZES = {"N": 2, "M": 1, "H": 6}
INPUT = re.compile(r"(\w+)(?:\[([^\]]*)\])? (\w+)")


@dataclass(frozen=True)
class GradientCase:
    """A graph of an operator: `double[2,3] x` and `y = Abs(x)`; all its inputs of doubles are differentiated."""

    inputs: str
    body: str
    opset: int = 28

    def __str__(self) -> str:
        return f"{self.body} of {self.inputs}"

    def model(self) -> Model:
        """The model, whose output is y."""
        text = f'<ir_version: 10, opset_import: ["": {self.opset}]> g ({self.inputs}) => (double y) {{ {self.body} }}'
        model = from_text(text)
        model.graph.outputs[0].type = None
        return model

    def feeds(self) -> dict[str, RuntimeValue]:
        """Seeded values of all inputs."""
        draw = np.random.default_rng(20)
        feeds: dict[str, RuntimeValue] = {}
        for _, sizes, name in INPUT.findall(self.inputs):
            shape = [SIZES.get(size) or int(size) for size in sizes.split(",") if size]
            feeds[name] = draw.uniform(0.2, 0.9, shape) if name[0] == "p" else draw.standard_normal(shape)
        return feeds


def unary() -> Iterator[GradientCase]:
    of_any = (
        "Abs Atan Asinh Cos Cosh Elu Erf Exp Gelu HardSigmoid HardSwish Identity LeakyRelu LogSoftmax LpNormalization Mish "
        "Neg Relu Selu Shrink Sigmoid Sin Sinh Softmax Softplus Softsign Swish Tanh ThresholdedRelu Celu"
    )
    of_positive = "Acos Asin Atanh Floor Log Reciprocal Sqrt Tan Ceil Round Sign"
    yield from (GradientCase("double[2,3,2] x", f"y = {name}(x)") for name in of_any.split())
    yield from (GradientCase("double[2,3,2] p", f"y = {name}(p)") for name in of_positive.split())
    yield GradientCase(
        "double[2,3] p", "one = Constant<value = double {1}>() more = Add(p, one) y = Acosh(more)"
    )
    yield GradientCase("double[2,3,2,2] x", "y = MeanVarianceNormalization(x)")
    yield GradientCase("double[2,3,2] x", "y = LpNormalization<p = 1, axis = 1>(x)")
    yield GradientCase("double[2,4] x", "y = SwiGLU(x, x)")


def broadcasting() -> Iterator[GradientCase]:
    for name in ("Add", "Sub", "Mul", "Div", "Pow"):
        yield GradientCase("double[2,3] p, double[3] p1", f"y = {name}(p, p1)")
        yield GradientCase("double[N,3] p, double[M,1] p1", f"y = {name}(p, p1)")
        yield GradientCase("double[N,3] p, double[M,4,1,1] p1", f"y = {name}(p, p1)")
    for name in ("Sum", "Mean", "Max", "Min"):
        yield GradientCase("double[2,3] x, double[3] z, double w", f"y = {name}(x, z, w)")
    yield GradientCase("double[2,3] x, double[3] p", "y = Mod<fmod = 1>(x, p)")
    yield GradientCase("double[2,3] x, double[3] p", "y = PRelu(x, p)")
    yield GradientCase(
        "double[2,3] x, double[3] z", "c = Constant<value = bool[2,1] {1, 0}>() y = Where(c, x, z)"
    )
    yield GradientCase(
        "double[2,3] x, double low", "high = Constant<value = double {0.5}>() y = Clip(x, low, high)"
    )


def grouped_products() -> Iterator[GradientCase]:
    indices = "i = Constant<value = int32[3,2] {0, 2, 2, 2, 3, 0}>()"
    for sizes in ("3,4", "N,4"):
        selected = indices if sizes[0] == "3" else "i = Constant<value = int64[2,1] {3, 0}>()"
        operands = f"double[{sizes}] x, double[4,4,5] w"
        yield GradientCase(operands, f"{selected} y = GroupedMatMul(x, w, i)", opset=29)
        yield GradientCase(
            f"{operands}, double[4,5] b", f"{selected} y = GroupedMatMul(x, w, i, b)", opset=29
        )


def products() -> Iterator[GradientCase]:
    shapes = [
        ("2,3", "3,4"),
        ("2,5,3", "3,4"),
        ("2,1,5,3", "7,3,4"),
        ("N,5,3", "M,3,4"),
        ("3", "2,3,4"),
        ("2,4,3", "3"),
        ("3", "3"),
        ("2,3", "3"),
    ]
    yield from (GradientCase(f"double[{a}] x, double[{b}] z", "y = MatMul(x, z)") for a, b in shapes)
    for a, first in enumerate(("2,3", "3,2")):
        for b, second in enumerate(("3,4", "4,3")):
            yield GradientCase(
                f"double[{first}] x, double[{second}] z, double[4] c",
                f"y = Gemm<transA = {a}, transB = {b}, alpha = 0.5, beta = 2.0>(x, z, c)",
            )
    yield GradientCase("double[2,3,4] x, double[2,4,5] z", 'y = Einsum<equation = "bij,bjk->bik">(x, z)')
    yield GradientCase("double[2,3,4] x, double[5] z", 'y = Einsum<equation = "bij,k->bk">(x, z)')
    yield GradientCase("double[2,3] x, double[3,4] z", 'y = Einsum<equation = "ij,jk">(x, z)')


def reductions() -> Iterator[GradientCase]:
    kinds = "Sum Mean Max Min Prod L1 L2 LogSum LogSumExp SumSquare"
    for kind in kinds.split():
        for keepdims in (0, 1):
            body = f"a = Constant<value_ints = [0, 2]>() y = Reduce{kind}<keepdims = {keepdims}>(p, a)"
            yield GradientCase("double[2,3,4] p", body)
        yield GradientCase("double[N,3] p", f"y = Reduce{kind}<keepdims = 0>(p)")
        yield GradientCase("double[2,3] p", f"y = Reduce{kind}<noop_with_empty_axes = 1>(p)")
    yield GradientCase("double[2,3] x", "z = Sub(x, x) y = ReduceProd(z)")
    for kind in ("CumSum", "CumProd"):
        for exclusive in (0, 1):
            for reverse in (0, 1):
                attributes = f"exclusive = {exclusive}, reverse = {reverse}"
                yield GradientCase(
                    "double[2,3] p", f"a = Constant<value_int = 1>() y = {kind}<{attributes}>(p, a)"
                )
    yield GradientCase("double[2,5] x", "k = Constant<value_ints = [2]>() y, i = TopK(x, k)")


def shapes() -> Iterator[GradientCase]:
    for values, call in (
        ("[3, 4]", "y = Reshape(x, c)"),
        ("[2, 2, 6]", "y = Expand(x, c)"),
        ("[2, 3]", "y = Tile(x, c)"),
        ("[0, 1]", "u = Unsqueeze(x, c) y = Squeeze(u, c)"),
        ("[2, 4]", "y, z = Split<axis = 1>(x, c)"),
        ("[1, 0, 1, 1, 0, 1]", "b = Cast<to = 9>(c) y = Compress<axis = 1>(x, b)"),
        ("[1, 2, 0, -1]", "y = Pad(x, c)"),
        ("[3, 2]", "y = CenterCropPad<axes = [0, 1]>(x, c)"),
    ):
        yield GradientCase("double[2,6] x", f"c = Constant<value_ints = {values}>() {call}")
    yield GradientCase("double[2,3,4] x", "y = Transpose<perm = [2, 0, 1]>(x)")
    yield GradientCase("double[2,3,4] x", "y = Transpose(x)")
    yield GradientCase("double[2,3,4] x", "y = Flatten<axis = 2>(x)")
    yield GradientCase("double[2,3] x, double[N,2] z", "y = Concat<axis = -1>(x, z)")
    yield GradientCase("double[3,3] x", "y = Trilu<upper = 0>(x)")
    yield GradientCase("double[1,8,2,2] x", "y = DepthToSpace<blocksize = 2>(x)")
    yield GradientCase("double[1,2,4,4] x", "y = SpaceToDepth<blocksize = 2>(x)")
    yield GradientCase("double[4,2] x", "c = Constant<value_ints = [3, 2]>() y = ReverseSequence(x, c)")
    parts = ("s", "[3, 1]"), ("e", "[0, 5]"), ("a", "[0, 1]"), ("t", "[-2, 2]")
    bounds = " ".join(f"{name} = Constant<value_ints = {values}>()" for name, values in parts)
    yield GradientCase("double[4,5] x", f"{bounds} y = Slice(x, s, e, a, t)")
    for mode in ("edge", "reflect", "wrap"):
        pads = "p = Constant<value_ints = [1, 2, 0, -1]>()"
        yield GradientCase("double[3,4] x", f'{pads} y = Pad<mode = "{mode}">(x, p)')
    yield GradientCase(
        "double[3,4] x, double c", "p = Constant<value_ints = [1, 2, 0, -1]>() y = Pad(x, p, c)"
    )


def indexing() -> Iterator[GradientCase]:
    constant = "i = Constant<value = int64[2,2] {%s}>()"
    yield GradientCase("double[4,2] x", f"{constant % '3, 1, -1, 3'} y = Gather<axis = 0>(x, i)")
    yield GradientCase("double[4,2] x", f"{constant % '3, 1, -1, 3'} y = GatherElements<axis = 0>(x, i)")
    yield GradientCase("double[4,2] x", f"{constant % '3, 1, -1, 0'} y = GatherND(x, i)")
    for reduction in ("none", "add"):
        attributes = f'reduction = "{reduction}"'
        yield GradientCase(
            "double[4,2] x, double[2,2] u",
            f"{constant % '3, 1, -2, 0'} y = ScatterElements<axis = 0, {attributes}>(x, i, u)",
        )
        yield GradientCase(
            "double[4,2] x, double[2] u", f"{constant % '3, 1, -1, 0'} y = ScatterND<{attributes}>(x, i, u)"
        )
    yield GradientCase(
        "double[2,4,3] x, double[2,2,3] u", "i = Constant<value_ints = [1, 2]>() y = TensorScatter(x, u, i)"
    )


def windows() -> Iterator[GradientCase]:
    attributes = (
        "strides = [2, 1]",
        "pads = [1, 0, 2, 1]",
        "dilations = [1, 2], pads = [1, 1, 1, 1]",
        "strides = [3, 2], pads = [1, 1, 0, 1]",
        'auto_pad = "SAME_UPPER", strides = [2, 2]',
        'auto_pad = "SAME_LOWER"',
    )
    for text in attributes:
        yield GradientCase("double[2,3,5,6] x, double[4,3,2,3] w, double[4] b", f"y = Conv<{text}>(x, w, b)")
        yield GradientCase("double[2,4,5,6] x, double[6,2,2,3] w", f"y = Conv<group = 2, {text}>(x, w)")
    yield GradientCase(
        "double[N,2,H] x, double[2,1,3] w", "y = Conv<group = 2, strides = [2], pads = [1, 1]>(x, w)"
    )
    for text in (
        "strides = [2, 1]",
        "pads = [1, 0, 1, 1]",
        "dilations = [1, 2], pads = [1, 1, 1, 1]",
        "strides = [3, 2], output_padding = [2, 1]",
    ):
        yield GradientCase(
            "double[2,3,4,3] x, double[3,4,2,3] w, double[4] b", f"y = ConvTranspose<{text}>(x, w, b)"
        )
        yield GradientCase(
            "double[2,4,4,3] x, double[4,3,2,3] w", f"y = ConvTranspose<group = 2, {text}>(x, w)"
        )
    for name, own in (
        ("MaxPool", "storage_order = 1"),
        ("AveragePool", "pads = [1, 1, 1, 1], count_include_pad = 1, strides = [2, 2], ceil_mode = 1"),
        ("LpPool", "p = 3"),
    ):
        for text in (
            "strides = [2, 1]",
            "strides = [2, 2], pads = [1, 0, 1, 1]",
            "strides = [2, 2], ceil_mode = 1, pads = [1, 0, 0, 1]",
            "dilations = [1, 2]",
            'auto_pad = "SAME_UPPER", strides = [2, 2]',
            own,
        ):
            yield GradientCase("double[2,3,5,6] x", f"y = {name}<kernel_shape = [2, 3], {text}>(x)")
    yield from (
        GradientCase("double[2,3,5,6] x", f"y = Global{name}Pool(x)") for name in ("Average", "Max", "Lp")
    )


def networks() -> Iterator[GradientCase]:
    channels = "double[2,3,4] x, double[3] s, double[3] b"
    yield GradientCase(f"{channels}, double[3] m, double[3] p", "y = BatchNormalization(x, s, b, m, p)")
    yield GradientCase(
        channels,
        "m = Constant<value = double[3] {1, 2, 3}>() y, mm, vv = BatchNormalization<training_mode = 1>(x, s, b, m, m)",
    )
    yield GradientCase(channels, "y = InstanceNormalization(x, s, b)")
    rows = "double[2,3,4] x, double[4] s, double[4] b"
    yield GradientCase(rows, "y = LayerNormalization<stash_type = 11>(x, s, b)")
    yield GradientCase(
        "double[2,4,4] x, double[4] s, double[4] b",
        "y = GroupNormalization<num_groups = 2, stash_type = 11>(x, s, b)",
    )
    yield GradientCase("double[2,3,4] x, double[4] s", "y = RMSNormalization<stash_type = 11>(x, s)")
    heads = "double[2,2,3,4] q, double[2,2,5,4] k, double[2,2,5,4] v"
    yield GradientCase(heads, "y = Attention(q, k, v)")
    yield GradientCase(heads, "y = Attention<is_causal = 1, softcap = 2.0>(q, k, v)")
    labels = "t = Constant<value = int64[3] {3, 1, 0}>()"
    for name in ("SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"):
        yield GradientCase("double[3,4] x", f"{labels} y = {name}(x, t)")
        yield GradientCase("double[3,4] x, double[4] p", f'{labels} y = {name}<reduction = "sum">(x, t, p)')
        yield GradientCase("double[3,4] x, double[4] p", f"{labels} y = {name}<ignore_index = 1>(x, t, p)")


def recurrent() -> Iterator[GradientCase]:
    for name, gates, outputs in (("LSTM", 4, "y, h, c"), ("GRU", 3, "y, h"), ("RNN", 1, "y, h")):
        for direction, count in (("forward", 1), ("reverse", 1), ("bidirectional", 2)):
            rows = gates * 3
            weights = f"double[3,2,4] x, double[{count},{rows},4] w, double[{count},{rows},3] r"
            attributes = f'hidden_size = 3, direction = "{direction}"'
            yield GradientCase(
                f"{weights}, double[{count},{2 * rows}] b", f"{outputs} = {name}<{attributes}>(x, w, r, b)"
            )
            lengths = "n = Constant<value = int32[2] {2, 3}>()"
            yield GradientCase(
                f"{weights}, double[{count},2,3] s",
                f"{lengths} {outputs} = {name}<{attributes}>(x, w, r, , n, s)",
            )
    weights = "double[3,2,4] x, double[1,12,4] w, double[1,12,3] r, double[1,9] k"
    yield GradientCase(weights, "y = LSTM<hidden_size = 3>(x, w, r, , , , , k)")
    weights = "double[3,2,4] x, double[1,9,4] w, double[1,9,3] r, double[1,18] b"
    yield GradientCase(weights, "y = GRU<hidden_size = 3, linear_before_reset = 1>(x, w, r, b)")


def images() -> Iterator[GradientCase]:
    for attributes in (
        'mode = "linear"',
        'mode = "nearest"',
        'mode = "cubic"',
        'mode = "linear", antialias = 1',
        'mode = "cubic", exclude_outside = 1',
        'mode = "linear", coordinate_transformation_mode = "align_corners"',
    ):
        for scales in ("1.0, 1.0, 2.0, 2.5", "1.0, 1.0, 0.6, 0.5"):
            constant = f"s = Constant<value_floats = [{scales}]>()"
            yield GradientCase("double[1,2,4,5] x", f"{constant} y = Resize<{attributes}>(x, , s)")
        sizes = "s = Constant<value_ints = [7, 3]>()"
        yield GradientCase("double[N,2,H,5] x", f"{sizes} y = Resize<{attributes}, axes = [2, 3]>(x, , , s)")
    shapes = "i = Constant<value_ints = [5, 5]>() b = Constant<value_ints = [2, 2]>()"
    for attributes, count in (
        ("pads = [1, 0, 1, 1]", 30),
        ("strides = [2, 1]", 8),
        ("dilations = [2, 1]", 12),
    ):
        yield GradientCase(f"double[2,12,{count}] x", f"{shapes} y = Col2Im<{attributes}>(x, i, b)")


def others() -> Iterator[GradientCase]:
    yield from (GradientCase(f"double[{size},{size}] x", "y = Det(x)") for size in (1, 2, 3, 4))
    yield GradientCase("double[2,3,3] x", "y = Det(x)")
    yield from (
        GradientCase("double[2,6,3,2] x", f"y = LRN<size = {size}, alpha = 0.5, beta = 0.75, bias = 1.5>(x)")
        for size in (2, 3, 5)
    )
    indices = "i = Constant<value = int64[3] {0, 2, -1}>() d = Constant<value_int = 4>()"
    yield GradientCase("double[2] x", f"{indices} y = OneHot<axis = 0>(i, d, x)")
    yield GradientCase("double[2,3] x", "d = Constant<value_float = 0.5>() y = Dropout(x, d)")


GROUPS = (
    recurrent,
    images,
    others,
    unary,
    broadcasting,
    grouped_products,
    products,
    reductions,
    shapes,
    indexing,
    windows,
    networks,
)
CASES = [case for group in GROUPS for case in group()]
