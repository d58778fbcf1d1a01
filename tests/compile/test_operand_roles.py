"""Operands of epilogues: all that broadcast to the results of all kinds of kernels, against the reference engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import cycle, product

import numpy as np
import pytest

from compile.epilogue_anchors import ANCHORS, Layer, Shape
from compile.native_agreement import assert_engines_agree
from compile.reference_comparison import normal
from compile.test_gemm_epilogues import bind_constants
from models import parse_model
from sampling import FACTOR
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.pipeline import compile_model
from sardonyx._src.compile.program.steps.program import FallbackOp
from sardonyx._src.dtypes import DataType
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.interp.run_state import RandomSource
from sardonyx._src.ir import Array, Model, TensorType
from sardonyx._src.ir.dims import evaluate
from sardonyx._src.ops.api import RunLimits
from sardonyx._src.runtime.runs.native_program import NativeProgram

RESULTS = [shape for rank in (1, 2, 3, 4) for shape in product((1, 2, 3, 17), repeat=rank)]
DEGENERATE = [(17, 1), (1, 17, 2), (1, 17, 1, 3)]
SAMPLES = 3 * FACTOR  # further results for each kind of kernel; a factor of 120 takes all
SOURCES = ("fed", "constant", "computed", "convolved")
TOLERANCES = {
    np.dtype(np.float16): 2e-3,
    np.dtype(np.float32): 2e-5,
    np.dtype(np.float64): 1e-12,
}  # of the largest element


def shapes_that_broadcast(shape: Shape) -> list[Shape]:
    """The shapes of all operands that broadcast to a shape."""
    tails = (shape[i:] for i in range(len(shape) + 1))
    return sorted({dims for tail in tails for dims in product(*((1, size) for size in tail))})


def layer_of(name: str, shape: Shape) -> Layer:
    layer = ANCHORS[name](shape)
    assert layer is not None, f"{name} must have a result of dims {shape}"
    return layer


def sample_results(name: str) -> list[Shape]:
    """The results with which a kind of kernel is tested: degenerate ones, and others drawn by its name."""
    supported = [shape for shape in RESULTS if ANCHORS[name](shape) is not None]
    order = np.random.default_rng([*name.encode()]).permutation(len(supported))
    drawn = [supported[i] for i in order[:SAMPLES]]
    return [*dict.fromkeys((*(shape for shape in DEGENERATE if shape in supported), *drawn))]


def consume(layer: Layer, *operands: tuple[Shape, str]) -> Layer:
    """A layer with consumers that multiply the magnitude of its result by an operand, add one, and so on.

    operands: dims, and what provides the operand.
    """
    before, after, feeds, constants = [], ["m0@ = Abs (a@)"], {**layer.feeds}, {**layer.constants}
    for i, (dims, source) in enumerate(operands):
        array = normal(*dims, seed=9 + i)
        match source:
            case "constant":
                constants[f"r{i}@"] = array
            case "convolved" if len(dims) in (3, 4):
                before.append(f"r{i}@ = Conv (f{i}@, k{i}@)")
                feeds[f"f{i}@"] = array
                constants[f"k{i}@"] = normal(*dims[1:2], *dims[1:2], *(1 for _ in dims[2:]))
            case "fed":
                feeds[f"r{i}@"] = array
            case _:
                before.append(f"r{i}@ = Neg (f{i}@)")
                feeds[f"f{i}@"] = array
        result = "y" if i + 1 == len(operands) else f"m{i + 1}"
        after.append(f"{result}@ = {('Mul', 'Add')[i % 2]} (m{i}@, r{i}@)")
    return Layer(" ".join((*before, layer.text, *after)), feeds, constants)


def layers_of(name: str, shape: Shape) -> list[Layer]:
    """Layers of a kind with each operand that broadcasts to their result; in turn, or each from all sources, by the factor."""
    operands = shapes_that_broadcast(shape)
    pairs = product(operands, SOURCES) if FACTOR > 1 else zip(operands, cycle(SOURCES), strict=False)
    return [consume(layer_of(name, shape), pair) for pair in pairs]


def as_type(layer: Layer, dtype: type[np.floating]) -> Layer:
    """A layer in another floating-point type than float32."""
    feeds, constants = (
        {name: array.astype(dtype) if array.dtype == np.float32 else array for name, array in arrays.items()}
        for arrays in (layer.feeds, layer.constants)
    )
    return Layer(layer.text, feeds, constants)


def declare(name: str, array: Array) -> str:
    dims = f"[{','.join(map(str, array.shape))}]" if array.ndim else ""
    return f"{DataType.of(array.dtype).text}{dims} {name}"


def model_of(layers: Sequence[Layer], output: str) -> tuple[Model, dict[str, Array]]:
    """A model of independent layers, with one output of each, and its feeds."""
    feeds, constants = (
        {name.replace("@", str(i)): array for i, arrays in enumerate(group) for name, array in arrays.items()}
        for group in ([layer.feeds for layer in layers], [layer.constants for layer in layers])
    )
    inputs = ", ".join(declare(name, array) for name, array in {**feeds, **constants}.items())
    outputs = ", ".join(f"{output}{i}" for i in range(len(layers)))
    nodes = " ".join(layer.text.replace("@", str(i)) for i, layer in enumerate(layers))
    model = parse_model(f"g ({inputs}) => ({outputs}) {{ {nodes} }}", opset=23)
    return bind_constants(model, **constants), feeds


def assert_layers_agree(layers: Sequence[Layer], output: str = "y", *, native: bool = True) -> None:
    """Asserts that each layer computes what the reference engine does, with all stages of the compilation verified."""
    model, feeds = model_of(layers, output)
    executable = compile_model(model, host_target(), verify=True)
    fallbacks = [a.node.op_type for a in executable.program.actions if isinstance(a, FallbackOp)]
    assert not (native and fallbacks), f"fallback operations: {fallbacks}"
    results = NativeProgram(executable, 1).run(feeds, RunLimits(), RandomSource(0))
    expected = Interpreter(model).run(feeds)
    for i, layer in enumerate(layers):
        y, exact = (np.asarray(values[f"{output}{i}"]) for values in (results, expected))
        tolerance = TOLERANCES[exact.dtype] * max(float(np.abs(exact).max(initial=0)), 1e-6)
        np.testing.assert_allclose(y, exact, 0, tolerance, err_msg=f"{layer.text}: {exact.shape}")


@pytest.mark.parametrize("name", ANCHORS)
def test_operands_that_broadcast_to_a_result(name: str) -> None:
    for shape in sample_results(name):
        assert_layers_agree(layers_of(name, shape))


PAIRED = ["Conv", "depthwise Conv", "MaxPool", "InstanceNormalization", "LayerNormalization"]
PAIRED += ["MatMul", "batched MatMul", "Gemm with a column", "quantized MatMul", "quantized Conv"]


@pytest.mark.parametrize("name", PAIRED)
def test_pairs_of_operands(name: str) -> None:
    """As a column with a row, or two that are read alike."""
    draw, shapes = np.random.default_rng([*name.encode()]), [*DEGENERATE, (3, 17), (2, 3, 17), (2, 3, 2, 17)]
    for shape in (shape for shape in shapes if ANCHORS[name](shape) is not None):
        pairs = [*product(product(shapes_that_broadcast(shape), SOURCES), repeat=2)]
        chosen = draw.permutation(len(pairs))[: 4 * FACTOR]
        assert_layers_agree([consume(layer_of(name, shape), *pairs[i]) for i in chosen])


@pytest.mark.parametrize("name", ["MatMul", "batched MatMul"])
def test_rows_of_several_batch_dims(name: str) -> None:
    """The rows of five dims are merged, and those of heads are stored [B, S, H, D] for the Transpose that reads them."""
    for shape in ((2, 3, 1, 2, 17), (2, 2, 2, 17, 1)):
        assert_layers_agree(layers_of(name, shape))
    for heads in ((2, 3, 3, 17), (1, 2, 3, 17)):
        transpose = " z@ = Transpose <perm = [0, 2, 1, 3]> (y@)"
        layers = [replace(layer, text=layer.text + transpose) for layer in layers_of(name, heads)]
        assert_layers_agree(layers, "z")


@pytest.mark.parametrize(
    "name", ["Conv", "MaxPool", "MatMul", "Gemm with a column", "RMSNormalization", "Exp"]
)
def test_results_without_elements(name: str) -> None:
    for shape in (shape for shape in ((0, 17), (0, 3, 17)) if ANCHORS[name](shape) is not None):
        assert_layers_agree(layers_of(name, shape))


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
@pytest.mark.parametrize(
    "name", ["Conv", "MaxPool", "MatMul", "Gemm with a column", "RMSNormalization", "Softmax"]
)
def test_operands_of_other_types(name: str, dtype: type[np.floating]) -> None:
    """Half precision is computed in float32; kernels of float64 have no epilogues."""
    for shape in (shape for shape in (*DEGENERATE, (3, 17)) if ANCHORS[name](shape) is not None):
        layers = [as_type(layer, dtype) for layer in layers_of(name, shape)]
        assert_layers_agree(layers, native=dtype is np.float16)


SYMBOLIC = {
    "Conv": ("float[N,5,L] x@, float[17,5,3] w@", "Conv <pads = [1, 1]> (x@, w@)", ("N", "17", "L")),
    "MaxPool": ("float[N,17,L] x@", "MaxPool <kernel_shape = [3], pads = [1, 1]> (x@)", ("N", "17", "L")),
    "GlobalAveragePool": ("float[N,17,L] x@", "GlobalAveragePool (x@)", ("N", "17", "1")),
    "MatMul": ("float[N,L,5] x@, float[5,17] w@", "MatMul (x@, w@)", ("N", "L", "17")),
    "Gemm": ("float[N,5] x@, float[5,17] w@, float[N,1] c@", "Gemm (x@, w@, c@)", ("N", "17")),
    "RMSNormalization": ("float[N,L,17] x@, float[17] w@", "RMSNormalization (x@, w@)", ("N", "L", "17")),
}
SIZES = [(1, 1, 1), (2, 3, 1), (3, 3, 3), (3, 1, 1), (1, 3, 1)]  # N, L and K


@pytest.mark.parametrize("name", SYMBOLIC)
def test_sizes_that_are_one_in_some_runs(name: str) -> None:
    """Operands with dims of the result, dims of 1, and dims K that are one or the other, in one session."""
    inputs, call, result = SYMBOLIC[name]
    choices = [sorted({"1", dim, dim if dim.isdigit() else "K"}) for dim in result]
    operands = [dims for i in range(len(result)) for dims in product(*choices[i:])]
    declared = ", ".join(
        f"{inputs}, float[{','.join(dims)}] r@".replace("@", str(i)) for i, dims in enumerate(operands)
    )
    nodes = " ".join(
        f"a@ = {call} m@ = Abs (a@) y@ = Mul (m@, r@)".replace("@", str(i)) for i in range(len(operands))
    )
    text = f"g ({declared}) => ({', '.join(f'y{i}' for i in range(len(operands)))}) {{ {nodes} }}"
    model = parse_model(text, opset=23)
    compile_model(model, host_target(), verify=True)
    assert_engines_agree(
        text, *(draw_inputs(model, dict(zip("NLK", sizes, strict=True))) for sizes in SIZES), opset=23
    )


def draw_inputs(model: Model, sizes: dict[str, int]) -> dict[str, Array]:
    feeds = {}
    for seed, value in enumerate(model.graph.inputs):
        assert isinstance(value.type, TensorType) and value.type.shape is not None
        feeds[value.name] = normal(*(evaluate(dim, sizes) or 0 for dim in value.type.shape), seed=seed)
    return feeds
