"""Operators as graphs and as functions of PyTorch, whose gradients are compared.

Attributes have values that float32 represents exactly, since it is the type of attributes.  Inputs called p, p1 ... have elements between 0.2 and 0.9, others have normally distributed ones; all of them are differentiated.
Needs PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import torch
from torch.nn import functional

if TYPE_CHECKING:
    from torch import Tensor

Function: TypeAlias = "Callable[..., Tensor]"  # of the inputs, to the first output
ROWS, IMAGE, PROBABILITIES = "double[3,4] x", "double[2,4,6,7] x", "double[3,4] p"
INDICES = ([0, 2], [1, 1])


@dataclass(frozen=True)
class GradientPeer:
    """A graph with its inputs, `double[2,3] x` and `y = Abs(x)`, and the function of PyTorch that computes y."""

    operator: str
    inputs: str
    body: str
    function: Function


def call(
    operator: str, inputs: str, function: Function, attributes: str = "", more: str = ""
) -> GradientPeer:
    """The operator called with the inputs, and with constants, if any: `ints c = [1, 2]; bool[2] d = {1, 0}`."""
    names = [text.split()[-1] for text in inputs.split(", ")]
    constants, operands = [], names
    for text in filter(None, more.split("; ")):
        declaration, value = text.split(" = ")
        kind, name = declaration.split()
        field = f"value_{kind} = {value}" if kind in ("int", "ints", "floats") else f"value = {kind} {value}"
        constants.append(f"{name} = Constant<{field}>()")
        operands = [*operands, name]
    attribute_list = f"<{attributes}>" if attributes else ""
    return GradientPeer(
        operator,
        inputs,
        f"{' '.join(constants)} y = {operator}{attribute_list}({', '.join(operands)})",
        function,
    )


def elementwise() -> Iterator[GradientPeer]:
    of_any: dict[str, Function] = {
        "Abs": torch.abs,
        "Atan": torch.atan,
        "Asinh": torch.asinh,
        "Cos": torch.cos,
        "Cosh": torch.cosh,
        "Elu": functional.elu,
        "Erf": torch.erf,
        "Exp": torch.exp,
        "Gelu": functional.gelu,
        "HardSwish": functional.hardswish,
        "Identity": torch.clone,
        "Mish": functional.mish,
        "Neg": torch.neg,
        "Relu": torch.relu,
        "Sigmoid": torch.sigmoid,
        "Sin": torch.sin,
        "Sinh": torch.sinh,
        "Softplus": functional.softplus,
        "Softsign": functional.softsign,
        "Swish": functional.silu,
        "Tan": torch.tan,
        "Tanh": torch.tanh,
    }
    of_positive: dict[str, Function] = {
        "Acos": torch.acos,
        "Asin": torch.asin,
        "Atanh": torch.atanh,
        "Log": torch.log,
        "Reciprocal": torch.reciprocal,
        "Sqrt": torch.sqrt,
    }
    yield from (call(name, ROWS, function) for name, function in of_any.items())
    yield from (call(name, PROBABILITIES, function) for name, function in of_positive.items())
    yield GradientPeer(
        "Acosh", PROBABILITIES, "z = Reciprocal(p) y = Acosh(z)", lambda p: torch.acosh(p.reciprocal())
    )
    yield call("LeakyRelu", ROWS, lambda x: functional.leaky_relu(x, 0.25), "alpha = 0.25")
    yield call("Selu", ROWS, lambda x: 1.25 * functional.elu(x, 1.5), "alpha = 1.5, gamma = 1.25")
    yield call("Celu", ROWS, lambda x: functional.celu(x, 2.0), "alpha = 2.0")
    yield call("Gelu", ROWS, lambda x: functional.gelu(x, approximate="tanh"), 'approximate = "tanh"')
    yield call("HardSigmoid", ROWS, lambda x: (x * 0.5 + 0.5).clip(0, 1), "alpha = 0.5")
    yield call("Shrink", ROWS, lambda x: functional.softshrink(x, 0.5), "lambd = 0.5, bias = 0.5")
    yield call("ThresholdedRelu", ROWS, lambda x: functional.threshold(x, 0.5, 0.0), "alpha = 0.5")
    yield call("PRelu", "double[2,4,3] x, double[4,1] p", lambda x, p: functional.prelu(x, p[:, 0]))
    yield call("Clip", ROWS, lambda x: x.clip(-0.5, 0.5), more="double low = {-0.5}; double high = {0.5}")


def binary() -> Iterator[GradientPeer]:
    functions: dict[str, Function] = {
        "Add": torch.add,
        "Sub": torch.sub,
        "Mul": torch.mul,
        "Div": torch.div,
        "Pow": torch.pow,
        "Max": torch.maximum,
        "Min": torch.minimum,
    }
    for name, function in functions.items():
        yield call(name, "double[2,3,4] p, double[3,1] p1", function)
    yield call("Mod", "double[2,3] x, double[3] p", torch.fmod, "fmod = 1")
    yield call("Sum", "double[2,3] x, double[3] z, double w", lambda x, z, w: x + z + w)
    yield call("Mean", "double[2,3] x, double[3] z, double w", lambda x, z, w: (x + z + w) / 3)
    yield GradientPeer(
        "Where",
        "double[2,3] x, double[3] z",
        "c = Constant<value = bool[2,1] {1, 0}>() y = Where(c, x, z)",
        lambda x, z: torch.where(torch.tensor([[True], [False]]), x, z),
    )


def products() -> Iterator[GradientPeer]:
    for a, b in (("3,4", "4,5"), ("2,3,4", "4,5"), ("2,1,3,4", "3,4,5"), ("4", "2,4,5"), ("2,3,4", "4")):
        yield call("MatMul", f"double[{a}] x, double[{b}] z", torch.matmul)
    yield call(
        "Gemm",
        "double[4,3] x, double[5,4] z, double[5] c",
        lambda x, z, c: 0.5 * x.T @ z.T + 2 * c,
        "transA = 1, transB = 1, alpha = 0.5, beta = 2.0",
    )
    for equation, a, b in (("bij,bjk->bik", "2,3,4", "2,4,5"), ("bij,k->bk", "2,3,4", "5")):
        function = lambda x, z, equation=equation: torch.einsum(equation, x, z)  # noqa: E731
        yield call("Einsum", f"double[{a}] x, double[{b}] z", function, f'equation = "{equation}"')
    yield call("Det", "double[2,3,3] x", torch.linalg.det)
    heads = "double[2,2,3,4] q, double[2,2,5,4] k, double[2,2,5,4] v"
    attention = functional.scaled_dot_product_attention
    yield call("Attention", heads, attention)
    yield call("Attention", heads, lambda q, k, v: attention(q, k, v, is_causal=True), "is_causal = 1")
    shared = "double[2,4,3,4] q, double[2,2,5,4] k, double[2,2,5,4] v"
    yield call("Attention", shared, lambda q, k, v: attention(q, k, v, enable_gqa=True))


def reductions() -> Iterator[GradientPeer]:
    functions: dict[str, Function] = {
        "Sum": lambda x: x.sum((0, 2)),
        "Mean": lambda x: x.mean((0, 2)),
        "Max": lambda x: x.amax((0, 2)),
        "Min": lambda x: x.amin((0, 2)),
        "Prod": lambda x: x.prod(2).prod(0),
        "L1": lambda x: x.abs().sum((0, 2)),
        "L2": lambda x: torch.linalg.vector_norm(x, dim=(0, 2)),
        "LogSum": lambda x: x.sum((0, 2)).log(),
        "LogSumExp": lambda x: x.logsumexp((0, 2)),
        "SumSquare": lambda x: x.square().sum((0, 2)),
    }
    for name, function in functions.items():
        yield call(f"Reduce{name}", "double[2,3,4] p", function, "keepdims = 0", "ints a = [0, 2]")
    yield call("CumSum", "double[3,4] x", lambda x: x.cumsum(1), more="int a = 1")
    yield call("CumProd", "double[3,4] x", lambda x: x.cumprod(1), more="int a = 1")
    yield GradientPeer(
        "TopK", "double[3,5] x", "k = Constant<value_ints = [2]>() y, i = TopK(x, k)", lambda x: x.topk(2)[0]
    )


def shapes() -> Iterator[GradientPeer]:
    for name, constant, function in (
        ("Reshape", "[3, 4]", lambda x: x.reshape(3, 4)),
        ("Expand", "[2, 2, 6]", lambda x: x.expand(2, 2, 6)),
        ("Tile", "[2, 3]", lambda x: x.tile(2, 3)),
        ("Unsqueeze", "[0, 1]", lambda x: x[None, None]),
        ("Pad", "[1, 2, 0, 1]", lambda x: functional.pad(x, (2, 1, 1, 0))),
    ):
        yield call(name, "double[2,6] x", function, more=f"ints c = {constant}")
    for mode, of_torch in (("edge", "replicate"), ("reflect", "reflect"), ("wrap", "circular")):
        pad = lambda x, mode=of_torch: functional.pad(x, (2, 1, 1, 2), mode)  # noqa: E731
        yield call("Pad", "double[1,2,5,6] x", pad, f'mode = "{mode}"', "ints c = [0, 0, 1, 2, 0, 0, 2, 1]")
    yield call("Squeeze", "double[1,2,1,3] x", torch.squeeze)
    yield call("Transpose", "double[2,3,4] x", lambda x: x.permute(2, 0, 1), "perm = [2, 0, 1]")
    yield call("Flatten", "double[2,3,4] x", lambda x: x.flatten(0, 1), "axis = 2")
    yield call("Concat", "double[2,3] x, double[2,2] z", lambda x, z: torch.cat([x, z], 1), "axis = 1")
    yield call("Trilu", "double[3,4] x", torch.tril, "upper = 0")
    yield call(
        "SpaceToDepth", "double[1,1,4,6] x", lambda x: functional.pixel_unshuffle(x, 2), "blocksize = 2"
    )
    shuffle = 'blocksize = 2, mode = "CRD"'
    yield call("DepthToSpace", "double[1,8,2,3] x", lambda x: functional.pixel_shuffle(x, 2), shuffle)
    yield GradientPeer(
        "Split",
        "double[2,6] x",
        "c = Constant<value_ints = [2, 4]>() y, z = Split<axis = 1>(x, c)",
        lambda x: x.split([2, 4], 1)[0],
    )
    bounds = "ints s = [0, 1]; ints e = [3, 5]; ints a = [0, 1]; ints t = [1, 2]"
    yield call("Slice", "double[4,6] x", lambda x: x[0:3, 1:5:2], more=bounds)


def indexing() -> Iterator[GradientPeer]:
    rows, table = torch.tensor(INDICES), "int64[2,2] i = {0, 2, 1, 1}"
    yield call("Gather", "double[4,2] x", lambda x: x[rows], more=table)
    yield call("GatherElements", "double[4,2] x", lambda x: x.gather(0, rows), more=table)
    yield call(
        "GatherND", "double[4,3] x", lambda x: x[torch.tensor([0, 1]), torch.tensor([2, 1])], more=table
    )
    yield call("Compress", "double[2,3] x", lambda x: x[:, [0, 2]], "axis = 1", "bool[3] c = {1, 0, 1}")
    for name, function in (
        ("none", lambda x, u: x.scatter(0, torch.tensor([[3, 1], [0, 2]]), u)),
        ("add", lambda x, u: x.scatter_add(0, torch.tensor([[3, 1], [0, 2]]), u)),
    ):
        body = "i = Constant<value = int64[2,2] {3, 1, 0, 2}>() "
        body += f'y = ScatterElements<axis = 0, reduction = "{name}">(x, i, u)'
        yield GradientPeer("ScatterElements", "double[4,2] x, double[2,2] u", body, function)
    yield GradientPeer(
        "ScatterND",
        "double[4,2] x, double[2,2] u",
        "i = Constant<value = int64[2,1] {3, 1}>() y = ScatterND(x, i, u)",
        lambda x, u: x.index_put((torch.tensor([3, 1]),), u),
    )
    yield call(
        "MaxUnpool",
        "double[1,1,2,2] x",
        lambda x: functional.max_unpool2d(x, torch.tensor([[[[0, 3], [9, 15]]]]), 2),
        "kernel_shape = [2, 2], strides = [2, 2]",
        "int64[1,1,2,2] i = {0, 3, 9, 15}",
    )
