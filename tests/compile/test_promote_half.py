"""Promotion of half precision: native programs match the reference engine, and values are rounded where they should be."""

from __future__ import annotations

from collections.abc import Mapping

import ml_dtypes
import numpy as np
import pytest

import sardonyx as sx
from compile.half_precision_copies import convert_to_half, half_feeds
from compile.random_layers import sample
from compile.reference_comparison import normal
from models import parse_model
from sardonyx._src.compile.kernels.gemm.bf16.bf16_arithmetic import favors_bf16_products
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.partition.regions.registry import is_supported
from sardonyx._src.compile.prepare.prepare import prepare_model
from sardonyx._src.compile.program import Step
from sardonyx._src.compile.program.steps.program import FallbackOp
from sardonyx._src.dtypes import DataType
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.interp.run_state import RandomSource
from sardonyx._src.ir import Array, Model, Tensor
from sardonyx._src.ops.api import RunLimits
from sardonyx._src.runtime.runs.native_program import NativeProgram, compile_for_host

HALF_DTYPES = {"float16": np.dtype(np.float16), "bfloat16": np.dtype(ml_dtypes.bfloat16)}
EPSILON = {"float16": 2.0**-10, "bfloat16": 2.0**-7}  # relative distance of adjacent numbers
all_half_types = pytest.mark.parametrize("kind", HALF_DTYPES)


def run_both(graph: Model, feeds: Mapping[str, Array], *, native: bool = True) -> list[tuple[Array, Array]]:
    """Every output, native and by the reference engine; `native`: asserts that there are no fallback operations."""
    program = NativeProgram(compile_for_host(graph), 1)
    fallbacks = [action.node.op_type for action in program.program.actions if isinstance(action, FallbackOp)]
    assert not (native and fallbacks), f"fallback operations: {fallbacks}"
    result = program.run(feeds, RunLimits(), RandomSource(0))
    expected = Interpreter(graph).run(feeds)
    pairs = [(np.asarray(result[name]), np.asarray(expected[name])) for name in expected]
    assert all(a.dtype == b.dtype and a.shape == b.shape for a, b in pairs), f"{pairs}"
    return pairs


def assert_equal_to_reference(text: str, feeds: Mapping[str, Array], *, native: bool = True) -> None:
    """Asserts that native outputs equal those of the reference engine."""
    for result, expected in run_both(parse_model(text, opset=28), feeds, native=native):
        np.testing.assert_array_equal(result.astype(np.float64), expected.astype(np.float64))


def assert_close_to_reference(text: str, feeds: Mapping[str, Array], steps: float = 1.01) -> None:
    """Asserts that native outputs are within some roundings of the reference engine's."""
    for result, expected in run_both(parse_model(text, opset=28), feeds):
        size = EPSILON[expected.dtype.name] * steps
        largest = np.abs(expected.astype(np.float64)).max(initial=0)
        np.testing.assert_allclose(
            result.astype(np.float64), expected.astype(np.float64), size, size * largest / 16
        )


def random_half(kind: str, *shape: int, seed: int = 0) -> Array:
    return normal(*shape, seed=seed).astype(HALF_DTYPES[kind])


def steps_of(text: str) -> list[str]:
    actions = compile_for_host(parse_model(text, opset=28)).program.actions
    return [action.kernel.key for action in actions if isinstance(action, Step)]


# --- promoted to float32 ----------------------------------------------------------------------


@all_half_types
def test_results_are_rounded_between_nodes_of_a_kernel(kind: str) -> None:
    """One fused kernel has the results of kernels that round after each operation."""
    text = f"""g ({kind}[N,M] x, {kind}[M] b) => ({kind}[N,M] y) {{
      a = Mul(x, x)  c = Add(a, b)  d = Sub(c, x)  e = Relu(d)  f = Div(e, b)  y = Max(f, x)
    }}"""
    assert_equal_to_reference(text, {"x": random_half(kind, 5, 37), "b": random_half(kind, 37, seed=1)})
    assert len(steps_of(text)) == 1


@all_half_types
def test_a_rounding_fuses_into_the_epilogue_of_a_product(kind: str) -> None:
    text = f"""g ({kind}[3,K] x, {kind}[K,40] w, {kind}[40] b) => ({kind}[3,40] y) {{
      p = MatMul(x, w)  s = Add(p, b)  r = Relu(s)  y = Mul(r, r)
    }}"""
    assert_close_to_reference(
        text,
        {
            "x": random_half(kind, 3, 64),
            "w": random_half(kind, 64, 40, seed=1),
            "b": random_half(kind, 40, seed=2),
        },
        4,
    )
    steps = steps_of(text)
    assert len([key for key in steps if key.startswith("matmul")]) == 1
    assert (
        len(steps) <= 6
    )  # upcasts of both operands, packing, the product with its epilogue, and the rounding of the result


@all_half_types
@pytest.mark.parametrize("axis", [-1, 1])
def test_softmax_rounds_every_step(kind: str, axis: int) -> None:
    text = f"g ({kind}[2,7,33] x) => ({kind}[] y) {{ y = Softmax <axis = {axis}> (x) }}"
    assert_close_to_reference(text, {"x": random_half(kind, 2, 7, 33) * HALF_DTYPES[kind].type(3)}, 2)


@all_half_types
@pytest.mark.parametrize(
    "body",
    [
        "y = LayerNormalization(x, w, b)",
        "y = RMSNormalization(x, w)",
        "y = ReduceMean(x)",
        "y = LogSoftmax(x)",
        "y = Gelu(x)",
        "y = HardSwish(x)",
        "y = Sum(x, w, b)",
        "y = Where(c, x, w)",
        "y = CumSum(x, i)",
        "y, k = TopK(x, n)",
        "y = ReduceMax(x)",
        "y = LpPool <kernel_shape = [2]> (x)",
        "y = Pow(x, n2)",
    ],
)
def test_operators_are_computed_in_float32(body: str, kind: str) -> None:
    text = f"""g ({kind}[2,5,24] x, {kind}[24] w, {kind}[24] b, bool[24] c) => ({kind}[] y) {{
      i = Constant <value = int64 {{2}}> ()  n = Constant <value = int64[1] {{3}}> ()
      n2 = Constant <value = float {{2}}> ()
      {body}
    }}"""
    feeds = {
        "x": random_half(kind, 2, 5, 24),
        "w": random_half(kind, 24, seed=1),
        "b": random_half(kind, 24, seed=2),
    }
    assert_close_to_reference(text, {**feeds, "c": normal(24, seed=3) > 0}, 4)


@all_half_types
def test_image_operators_are_computed_in_float32(kind: str) -> None:
    to = int(DataType.of(HALF_DTYPES[kind]))
    text = f"""g ({kind}[N,3,12,12] x, {kind}[8] s) => ({kind}[] y)
    <float[8,3,3,3] f = {{{numbers(216)}}}, float[8,1,3,3] t = {{{numbers(72)}}}> {{
      w = Cast <to = {to}> (f)  d = Cast <to = {to}> (t)
      a = Conv <pads = [1,1,1,1]> (x, w)  r = Relu(a)
      e = Conv <group = 8, strides = [2,2]> (r, d)  m = MaxPool <kernel_shape = [2,2]> (e)
      n = InstanceNormalization(m, s, s)  h = HardSigmoid(n)  y = GlobalAveragePool(h)
    }}"""
    assert_close_to_reference(
        text, {"x": random_half(kind, 2, 3, 12, 12), "s": random_half(kind, 8, seed=2)}, 8
    )


def numbers(count: int) -> str:
    return ", ".join(f"{number:.4f}" for number in normal(count, seed=count))


@all_half_types
def test_attention_is_one_kernel(kind: str) -> None:
    text = f"""g ({kind}[2,3,10,16] q, {kind}[2,3,9,16] k, {kind}[2,3,9,16] v) => ({kind}[] y) {{
      y = Attention(q, k, v)
    }}"""
    feeds = {"q": random_half(kind, 2, 3, 10, 16), "k": random_half(kind, 2, 3, 9, 16, seed=1)}
    assert_close_to_reference(text, {**feeds, "v": random_half(kind, 2, 3, 9, 16, seed=2)}, 4)


@all_half_types
def test_attention_scores_stay_in_float32(kind: str) -> None:
    text = f"""g ({kind}[2,10,16] q, {kind}[2,16,9] k, {kind}[2,9,16] v) => ({kind}[] y) {{
      s = MatMul(q, k)  p = Softmax(s)  y = MatMul(p, v)
    }}"""
    feeds = {
        "q": random_half(kind, 2, 10, 16),
        "k": random_half(kind, 2, 16, 9, seed=1),
        "v": random_half(kind, 2, 9, 16, seed=2),
    }
    q, k, v = (feeds[name].astype(np.float64) for name in "qkv")
    weights = np.exp(q @ k)
    expected = weights / weights.sum(-1, keepdims=True) @ v
    ((result, _),) = run_both(parse_model(text, opset=28), feeds)
    np.testing.assert_allclose(result.astype(np.float64), expected, EPSILON[kind], EPSILON[kind] / 4)
    assert len([key for key in steps_of(text) if key.startswith("attention")]) == 1


@all_half_types
def test_attention_with_a_computed_mask_is_one_kernel(kind: str) -> None:
    text = f"""g ({kind}[2,10,16] q, {kind}[2,16,9] k, {kind}[2,9,16] v, {kind}[10,9] m) => ({kind}[] y)
    <float half = {{0.5}}> {{
      f = Cast <to = {int(DataType.of(HALF_DTYPES[kind]))}> (half)  s = MatMul(q, k)  a = Mul(s, f)  n = Mul(m, m)
      b = Add(a, n)  p = Softmax(b)  y = MatMul(p, v)
    }}"""
    shapes = {"q": (2, 10, 16), "k": (2, 16, 9), "v": (2, 9, 16), "m": (10, 9)}
    feeds = {name: random_half(kind, *shape, seed=i) for i, (name, shape) in enumerate(shapes.items())}
    assert_close_to_reference(text, feeds, 8)
    assert len([key for key in steps_of(text) if key.startswith("attention")]) == 1


@all_half_types
def test_scores_that_callers_receive_are_rounded(kind: str) -> None:
    text = f"""g ({kind}[2,10,16] q, {kind}[2,16,9] k, {kind}[2,9,16] v) => ({kind}[] s, {kind}[] y) {{
      s = MatMul(q, k)  p = Softmax(s)  y = MatMul(p, v)
    }}"""
    feeds = {
        "q": random_half(kind, 2, 10, 16),
        "k": random_half(kind, 2, 16, 9, seed=1),
        "v": random_half(kind, 2, 9, 16, seed=2),
    }
    assert_close_to_reference(text, feeds, 4)
    assert not [key for key in steps_of(text) if key.startswith("attention")]


@all_half_types
def test_a_clip_without_bounds_gets_those_of_its_type(kind: str) -> None:
    text = f"g ({kind}[N] x, {kind} low) => ({kind}[N] y) {{ y = Clip(x, low) }}"
    x = np.array([np.inf, -np.inf, 2, np.nan]).astype(HALF_DTYPES[kind])
    assert_equal_to_reference(text, {"x": x, "low": np.array(-3).astype(HALF_DTYPES[kind])})


def test_casts_convert_between_both_half_types() -> None:
    text = """g (float16[N] x, bfloat16[N] b, int64[N] i, double[N] d) => (float16[N] y, bfloat16[N] z, int32[N] k) {
      h = Cast <to = 16> (x)  s = Add(h, b)  f = Cast <to = 10> (s)  y = Mul(f, x)
      j = CastLike(i, b)  e = CastLike(d, b)  t = Add(j, e)  z = Sub(t, s)  k = Cast <to = 6> (y)
    }"""
    feeds = {
        "x": random_half("float16", 40),
        "b": random_half("bfloat16", 40, seed=1),
        "d": normal(40).astype(np.float64),
    }
    assert_equal_to_reference(text, {**feeds, "i": np.arange(40) << np.arange(40)})


# --- kept in half precision -------------------------------------------------------------------


@all_half_types
def test_data_movement_stays_in_half_precision(kind: str) -> None:
    text = f"""g ({kind}[2,3,4] x, int64[5] i) => ({kind}[] y) {{
      t = Transpose <perm = [2,0,1]> (x)  g = Gather(t, i)  c = Concat <axis = 0> (g, t)  y = Neg(c)
    }}"""
    assert_equal_to_reference(text, {"x": random_half(kind, 2, 3, 4), "i": np.array([3, 0, -1, 2, 1])})
    prepared = prepare_model(parse_model(text, opset=28), is_supported).model.graph
    assert [node.op_type for node in prepared.nodes][-3:] == ["Cast", "Neg", "Cast"]


@all_half_types
def test_outputs_that_nodes_read_too_are_rounded_once(kind: str) -> None:
    """Callers and consumers see the same value."""
    text = f"""g ({kind}[N,8] x, {kind}[8,8] w) => ({kind}[] a, {kind}[] b, {kind}[] c, {kind}[] d) {{
      a = MatMul(x, w)  b = Relu(a)  c = Transpose(b)  e = Mul(a, b)  d = Softmax(e)
    }}"""
    graph = parse_model(text, opset=28)
    feeds = {"x": random_half(kind, 3, 8), "w": random_half(kind, 8, 8, seed=1)}
    for (result, expected), steps in zip(run_both(graph, feeds), (0, 0, 0, 3), strict=True):
        tolerance = EPSILON[kind] * steps
        np.testing.assert_allclose(
            result.astype(np.float64), expected.astype(np.float64), tolerance, tolerance
        )


@all_half_types
def test_fallback_operations_get_half_precision(kind: str) -> None:
    text = f"""g ({kind}[4,4] x) => ({kind}[4] y) {{
      i = Constant <value = int64[1] {{0}}> ()
      a = Add(x, x)  e = Einsum <equation = "ij->j"> (a)  b = ReduceSum <keepdims = 0> (a, i)  y = Mul(e, b)
    }}"""
    assert_equal_to_reference(text, {"x": random_half(kind, 4, 4)}, native=False)


@all_half_types
def test_loop_bodies_compute_in_float32(kind: str) -> None:
    text = f"""g ({kind}[N] x, int64 n) => ({kind}[N] y, {kind}[K,N] z) {{
      t = Constant <value = bool {{1}}> ()
      y, z = Loop <body = b (int64 i, bool go, {kind}[N] s) => (bool on, {kind}[N] u, {kind}[N] v) {{
        on = Identity(go)  m = Mul(s, x)  u = Add(m, x)  v = Sigmoid(u)
      }}> (n, t, x)
    }}"""
    for result, expected in run_both(
        parse_model(text, opset=28), {"x": random_half(kind, 20), "n": np.array(3)}, native=False
    ):
        np.testing.assert_allclose(
            result.astype(np.float64), expected.astype(np.float64), EPSILON[kind], EPSILON[kind]
        )


@all_half_types
@pytest.mark.parametrize("transposed", [0, 1])
def test_large_weights_stay_in_half_precision(kind: str, transposed: int) -> None:
    graph = parse_model(
        f"g ({kind}[N,256] x, {kind}[256,512] w) => ({kind}[] y) {{ y = MatMul(x, w) }}", opset=28
    )
    if transposed:
        text = "g ({0}[N,256] x, {0}[512,256] w) => ({0}[] y) {{ y = Gemm <transB = 1, alpha = 0.5> (x, w) }}"
        graph = parse_model(text.format(kind), opset=28)
    w = graph.graph.inputs[1]
    w.initializer = Tensor.of(random_half(kind, 512, 256) if transposed else random_half(kind, 256, 512))
    graph.graph.remove_input(w)
    graph.graph.add_initializer(w)
    ((result, expected),) = run_both(graph, {"x": random_half(kind, 3, 256, seed=1)})
    step = EPSILON[kind]
    np.testing.assert_allclose(result.astype(np.float64), expected.astype(np.float64), step, step)
    (product,) = (
        step for step in compile_for_host(graph).program.steps if step.kernel.key.startswith("matmul")
    )
    half = DataType.of(HALF_DTYPES[kind])
    if half is DataType.BFLOAT16 and favors_bf16_products(host_target()) and not transposed:
        assert (
            product.kernel.key.startswith("matmul_bf16") and product.reads[1].dtype is DataType.INT32
        )  # words
    else:
        assert product.reads[1].dtype is (DataType.FLOAT if transposed else half)


@all_half_types
def test_bodies_read_captured_values_of_either_type(kind: str) -> None:
    """Half-precision values, and float32 results of a Cast outside."""
    text = f"""g ({kind}[3] x, int64 n, bool c) => (float[] y, {kind}[] z) {{
      w = Cast <to = 1> (x)  a = Add(x, x)
      y = Loop <body = b (int64 i, bool go, float[3] s) => (bool on, float[3] u) {{
        on = Identity(go)  u = Add(s, w)
      }}> (n, c, w)
      z = If <then_branch = t () => ({kind}[3] p) {{ p = Mul(a, x) }}, else_branch = e () => ({kind}[3] q) {{
        q = Identity(a)
      }}> (c)
    }}"""
    graph = parse_model(text, opset=28)
    for condition in (True, False):
        feeds = {"x": random_half(kind, 3), "n": np.array(3), "c": np.array(condition)}
        for result, expected in run_both(graph, feeds, native=False):
            np.testing.assert_allclose(
                result.astype(np.float64), expected.astype(np.float64), EPSILON[kind], EPSILON[kind]
            )


def test_models_in_a_legacy_opset_are_promoted_where_their_sizes_are_guarded() -> None:
    """Add-6 rejects broadcasts that later versions allow: a guard holds runs to equal sizes.  Cast-1 has type names."""
    text = """g (float16[N,3] x, float16[M,3] b) => (float16[] y, float[] z) {
      y = Add(x, b)  z = Cast <to = "FLOAT"> (y)
    }"""
    graph = parse_model(text, opset=5)
    prepared = prepare_model(graph, is_supported)
    assert prepared.model.opset_imports[""] > 5
    assert [str(guard) for guard in prepared.guards] == ["M == N"]
    x = random_half("float16", 2, 3)
    for result, expected in run_both(graph, {"x": x, "b": x}):
        np.testing.assert_array_equal(result, expected)


# --- random graphs ----------------------------------------------------------------------------


@all_half_types
@pytest.mark.parametrize("first", range(0, 40, 10))
def test_random_graphs_are_as_accurate_as_the_reference_engine(first: int, kind: str) -> None:
    """Against float64; the error of the reference engine shows how much a graph amplifies roundings."""
    half = DataType.of(HALF_DTYPES[kind])
    for seed in range(first, first + 10):
        sampled = sample(seed)
        copy = convert_to_half(sampled.model, half)
        session = sx.Session(copy, engine="native", threads=1)
        for i, feeds in enumerate(sampled.feeds):
            with np.errstate(all="ignore"):
                half_feed = half_feeds(feeds, half)
                expected = Interpreter(copy).run(half_feed)
                result = session.run(half_feed)
            for name, value in expected.items():
                exact = sampled.outputs[name].precise[i]
                assert_as_accurate(np.asarray(result[name]), np.asarray(value), exact, f"seed {seed}, {name}")


def assert_as_accurate(result: Array, expected: Array, exact: Array, where: str) -> None:
    assert result.dtype == expected.dtype and result.shape == expected.shape, (
        f"{where}: expected {expected}, got {result}"
    )
    if expected.dtype.name not in EPSILON or exact.shape != expected.shape:
        return
    result64, expected64 = result.astype(np.float64), expected.astype(np.float64)
    np.testing.assert_array_equal(np.isfinite(result64), np.isfinite(expected64), where)
    finite = np.isfinite(expected64) & np.isfinite(exact)
    largest = max(float(np.abs(exact[finite]).max(initial=0)), 1e-3)
    reference_error = float(np.abs(expected64[finite] - exact[finite]).max(initial=0))
    tolerance = 4 * EPSILON[expected.dtype.name] * largest + 2 * reference_error
    np.testing.assert_allclose(result64[finite], exact[finite], 0, tolerance, err_msg=where)


@pytest.mark.skipif(
    not favors_bf16_products(host_target()), reason="the processor has no fast products of bfloat16"
)
@pytest.mark.parametrize("before", ["Relu", "Neg", "Exp"])
def test_products_of_bfloat16_multiply_it_as_it_is(before: str) -> None:
    """Results of the operator before are rounded to bfloat16, whether it needs that or not."""
    graph = parse_model(
        f"g (bfloat16[N,256] x, bfloat16[256,512] w) => (bfloat16[] y) {{ a = {before}(x) y = MatMul(a, w) }}",
        opset=28,
    )
    w = graph.graph.inputs[1]
    w.initializer = Tensor.of(random_half("bfloat16", 256, 512))
    graph.graph.remove_input(w)
    graph.graph.add_initializer(w)
    ((result, expected),) = run_both(graph, {"x": random_half("bfloat16", 3, 256, seed=1)})
    np.testing.assert_allclose(
        result.astype(np.float64), expected.astype(np.float64), EPSILON["bfloat16"], EPSILON["bfloat16"]
    )
    steps = compile_for_host(graph).program.steps
    assert any(step.kernel.key.startswith("matmul_bf16") for step in steps)
