"""Models of 16-bit floats on native kernels, beside the reference engine."""

from __future__ import annotations

from collections.abc import Mapping

import ml_dtypes
import numpy as np
import pytest

import sardonyx as sx
from compile.half_copies import half_feeds, halved
from compile.lowered import normal
from compile.random_layers import sample
from models import model
from sardonyx._src.compile.prepare import prepared
from sardonyx._src.compile.program import HostCall
from sardonyx._src.compile.step import Step
from sardonyx._src.dtypes import DataType
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir.graph import Model
from sardonyx._src.ir.tensors import Array, Tensor
from sardonyx._src.ops.api import RunLimits
from sardonyx._src.runtime.native import NativeProgram, compile_model

HALVES = {"float16": np.dtype(np.float16), "bfloat16": np.dtype(ml_dtypes.bfloat16)}
STEP = {"float16": 2.0**-10, "bfloat16": 2.0**-7}  # from a number to the next one, relative to it
kinds = pytest.mark.parametrize("kind", HALVES)


def both(one: Model, feeds: Mapping[str, Array], *, native: bool = True) -> list[tuple[Array, Array]]:
    """Every output by kernels and by the reference engine; `native`: asserts that the host runs no node."""
    program = NativeProgram(compile_model(one), 1)
    calls = [action.node.op_type for action in program.program.actions if isinstance(action, HostCall)]
    assert not (native and calls), f"{calls} are run by the host"
    found = program.run(feeds, RunLimits(), np.random.default_rng(0))
    wanted = Interpreter(one).run(feeds)
    pairs = [(np.asarray(found[name]), np.asarray(wanted[name])) for name in wanted]
    assert all(a.dtype == b.dtype and a.shape == b.shape for a, b in pairs), f"{pairs}"
    return pairs


def same(text: str, feeds: Mapping[str, Array], *, native: bool = True) -> None:
    """Asserts that kernels make the very numbers of the reference engine."""
    for found, wanted in both(model(text, opset=28), feeds, native=native):
        np.testing.assert_array_equal(found.astype(np.float64), wanted.astype(np.float64))


def near(text: str, feeds: Mapping[str, Array], steps: float = 1.01) -> None:
    """Asserts that kernels make numbers at most some steps beside: what they compute with is rounded elsewhere."""
    for found, wanted in both(model(text, opset=28), feeds):
        size = STEP[wanted.dtype.name] * steps
        top = np.abs(wanted.astype(np.float64)).max(initial=0)
        np.testing.assert_allclose(found.astype(np.float64), wanted.astype(np.float64), size, size * top / 16)


def drawn(kind: str, *shape: int, seed: int = 0) -> Array:
    return normal(*shape, seed=seed).astype(HALVES[kind])


def steps_of(text: str) -> list[str]:
    actions = compile_model(model(text, opset=28)).actions
    return [action.kernel.key for action in actions if isinstance(action, Step)]


# --- what is computed -------------------------------------------------------------------------


@kinds
def test_results_are_rounded_between_nodes(kind: str) -> None:
    """In one kernel, to the bits of kernels that round after each operation."""
    text = f"""g ({kind}[N,M] x, {kind}[M] b) => ({kind}[N,M] y) {{
      a = Mul(x, x)  c = Add(a, b)  d = Sub(c, x)  e = Relu(d)  f = Div(e, b)  y = Max(f, x)
    }}"""
    same(text, {"x": drawn(kind, 5, 37), "b": drawn(kind, 37, seed=1)})
    assert len(steps_of(text)) == 1


@kinds
def test_products_take_their_rounding_along(kind: str) -> None:
    text = f"""g ({kind}[3,K] x, {kind}[K,40] w, {kind}[40] b) => ({kind}[3,40] y) {{
      p = MatMul(x, w)  s = Add(p, b)  r = Relu(s)  y = Mul(r, r)
    }}"""
    near(text, {"x": drawn(kind, 3, 64), "w": drawn(kind, 64, 40, seed=1), "b": drawn(kind, 40, seed=2)}, 4)
    steps = steps_of(text)
    assert len([key for key in steps if key.startswith("matmul")]) == 1
    assert (
        len(steps) <= 6
    )  # both operands widened, one packed, the product with its tail, and the result narrowed


@kinds
@pytest.mark.parametrize("axis", [-1, 1])
def test_softmax_rounds_every_step(kind: str, axis: int) -> None:
    text = f"g ({kind}[2,7,33] x) => ({kind}[] y) {{ y = Softmax <axis = {axis}> (x) }}"
    near(text, {"x": drawn(kind, 2, 7, 33) * HALVES[kind].type(3)}, 2)


@kinds
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
    feeds = {"x": drawn(kind, 2, 5, 24), "w": drawn(kind, 24, seed=1), "b": drawn(kind, 24, seed=2)}
    near(text, {**feeds, "c": normal(24, seed=3) > 0}, 4)


@kinds
def test_images_are_convolved_pooled_and_normalised(kind: str) -> None:
    to = int(DataType.of(HALVES[kind]))
    text = f"""g ({kind}[N,3,12,12] x, {kind}[8] s) => ({kind}[] y)
    <float[8,3,3,3] f = {{{numbers(216)}}}, float[8,1,3,3] t = {{{numbers(72)}}}> {{
      w = Cast <to = {to}> (f)  d = Cast <to = {to}> (t)
      a = Conv <pads = [1,1,1,1]> (x, w)  r = Relu(a)
      e = Conv <group = 8, strides = [2,2]> (r, d)  m = MaxPool <kernel_shape = [2,2]> (e)
      n = InstanceNormalization(m, s, s)  h = HardSigmoid(n)  y = GlobalAveragePool(h)
    }}"""
    near(text, {"x": drawn(kind, 2, 3, 12, 12), "s": drawn(kind, 8, seed=2)}, 8)


def numbers(count: int) -> str:
    return ", ".join(f"{number:.4f}" for number in normal(count, seed=count))


@kinds
def test_attention_is_one_kernel(kind: str) -> None:
    text = f"""g ({kind}[2,3,10,16] q, {kind}[2,3,9,16] k, {kind}[2,3,9,16] v) => ({kind}[] y) {{
      y = Attention(q, k, v)
    }}"""
    feeds = {"q": drawn(kind, 2, 3, 10, 16), "k": drawn(kind, 2, 3, 9, 16, seed=1)}
    near(text, {**feeds, "v": drawn(kind, 2, 3, 9, 16, seed=2)}, 4)


@kinds
def test_scores_between_products_are_not_rounded(kind: str) -> None:
    text = f"""g ({kind}[2,10,16] q, {kind}[2,16,9] k, {kind}[2,9,16] v) => ({kind}[] y) {{
      s = MatMul(q, k)  p = Softmax(s)  y = MatMul(p, v)
    }}"""
    feeds = {
        "q": drawn(kind, 2, 10, 16),
        "k": drawn(kind, 2, 16, 9, seed=1),
        "v": drawn(kind, 2, 9, 16, seed=2),
    }
    q, k, v = (feeds[name].astype(np.float64) for name in "qkv")
    weights = np.exp(q @ k)
    wanted = weights / weights.sum(-1, keepdims=True) @ v
    ((found, _),) = both(model(text, opset=28), feeds)
    np.testing.assert_allclose(found.astype(np.float64), wanted, STEP[kind], STEP[kind] / 4)
    assert len([key for key in steps_of(text) if key.startswith("attention")]) == 1


@kinds
def test_a_clip_without_limits_has_those_of_its_type(kind: str) -> None:
    text = f"g ({kind}[N] x, {kind} low) => ({kind}[N] y) {{ y = Clip(x, low) }}"
    x = np.array([np.inf, -np.inf, 2, np.nan]).astype(HALVES[kind])
    same(text, {"x": x, "low": np.array(-3).astype(HALVES[kind])})


def test_both_kinds_meet_in_casts() -> None:
    text = """g (float16[N] x, bfloat16[N] b, int64[N] i, double[N] d) => (float16[N] y, bfloat16[N] z, int32[N] k) {
      h = Cast <to = 16> (x)  s = Add(h, b)  f = Cast <to = 10> (s)  y = Mul(f, x)
      j = CastLike(i, b)  e = CastLike(d, b)  t = Add(j, e)  z = Sub(t, s)  k = Cast <to = 6> (y)
    }"""
    feeds = {
        "x": drawn("float16", 40),
        "b": drawn("bfloat16", 40, seed=1),
        "d": normal(40).astype(np.float64),
    }
    same(text, {**feeds, "i": np.arange(40) << np.arange(40)})


# --- what stays of 16 bits --------------------------------------------------------------------


@kinds
def test_moves_are_of_16_bits(kind: str) -> None:
    text = f"""g ({kind}[2,3,4] x, int64[5] i) => ({kind}[] y) {{
      t = Transpose <perm = [2,0,1]> (x)  g = Gather(t, i)  c = Concat <axis = 0> (g, t)  y = Neg(c)
    }}"""
    same(text, {"x": drawn(kind, 2, 3, 4), "i": np.array([3, 0, -1, 2, 1])})
    made = prepared(model(text, opset=28)).model.graph
    assert [node.op_type for node in made.nodes][-3:] == ["Cast", "Neg", "Cast"]


@kinds
def test_values_are_for_callers_and_for_nodes(kind: str) -> None:
    """One that both read is rounded once, and is the same to them."""
    text = f"""g ({kind}[N,8] x, {kind}[8,8] w) => ({kind}[] a, {kind}[] b, {kind}[] c, {kind}[] d) {{
      a = MatMul(x, w)  b = Relu(a)  c = Transpose(b)  e = Mul(a, b)  d = Softmax(e)
    }}"""
    one = model(text, opset=28)
    feeds = {"x": drawn(kind, 3, 8), "w": drawn(kind, 8, 8, seed=1)}
    for (found, wanted), steps in zip(both(one, feeds), (0, 0, 0, 3), strict=True):
        tolerance = STEP[kind] * steps
        np.testing.assert_allclose(found.astype(np.float64), wanted.astype(np.float64), tolerance, tolerance)


@kinds
def test_nodes_of_the_host_get_16_bits(kind: str) -> None:
    text = f"""g ({kind}[4,4] x) => ({kind}[4] y) {{
      i = Constant <value = int64[1] {{0}}> ()
      a = Add(x, x)  e = Einsum <equation = "ij->j"> (a)  b = ReduceSum <keepdims = 0> (a, i)  y = Mul(e, b)
    }}"""
    same(text, {"x": drawn(kind, 4, 4)}, native=False)


@kinds
def test_bodies_of_loops_compute_in_float32(kind: str) -> None:
    text = f"""g ({kind}[N] x, int64 n) => ({kind}[N] y, {kind}[K,N] z) {{
      t = Constant <value = bool {{1}}> ()
      y, z = Loop <body = b (int64 i, bool go, {kind}[N] s) => (bool on, {kind}[N] u, {kind}[N] v) {{
        on = Identity(go)  m = Mul(s, x)  u = Add(m, x)  v = Sigmoid(u)
      }}> (n, t, x)
    }}"""
    for found, wanted in both(model(text, opset=28), {"x": drawn(kind, 20), "n": np.array(3)}, native=False):
        np.testing.assert_allclose(
            found.astype(np.float64), wanted.astype(np.float64), STEP[kind], STEP[kind]
        )


@kinds
@pytest.mark.parametrize("turned", [0, 1])
def test_large_weights_stay_of_16_bits(kind: str, turned: int) -> None:
    one = model(f"g ({kind}[N,256] x, {kind}[256,512] w) => ({kind}[] y) {{ y = MatMul(x, w) }}", opset=28)
    if turned:
        text = "g ({0}[N,256] x, {0}[512,256] w) => ({0}[] y) {{ y = Gemm <transB = 1, alpha = 0.5> (x, w) }}"
        one = model(text.format(kind), opset=28)
    w = one.graph.inputs[1]
    w.initializer = Tensor.of(drawn(kind, 512, 256) if turned else drawn(kind, 256, 512))
    one.graph.remove_input(w)
    one.graph.add_initializer(w)
    ((found, wanted),) = both(one, {"x": drawn(kind, 3, 256, seed=1)})
    step = STEP[kind]
    np.testing.assert_allclose(found.astype(np.float64), wanted.astype(np.float64), step, step)
    (product,) = (step for step in compile_model(one).steps if step.kernel.key.startswith("matmul"))
    assert product.reads[1].dtype is (DataType.FLOAT if turned else DataType.of(HALVES[kind]))


@kinds
def test_bodies_read_and_hand_on_what_is_around_them(kind: str) -> None:
    """Values of 16 bits, and float32 that a Cast makes of them outside."""
    text = f"""g ({kind}[3] x, int64 n, bool c) => (float[] y, {kind}[] z) {{
      w = Cast <to = 1> (x)  a = Add(x, x)
      y = Loop <body = b (int64 i, bool go, float[3] s) => (bool on, float[3] u) {{
        on = Identity(go)  u = Add(s, w)
      }}> (n, c, w)
      z = If <then_branch = t () => ({kind}[3] p) {{ p = Mul(a, x) }}, else_branch = e () => ({kind}[3] q) {{
        q = Identity(a)
      }}> (c)
    }}"""
    one = model(text, opset=28)
    for chosen in (True, False):
        feeds = {"x": drawn(kind, 3), "n": np.array(3), "c": np.array(chosen)}
        for found, wanted in both(one, feeds, native=False):
            np.testing.assert_allclose(
                found.astype(np.float64), wanted.astype(np.float64), STEP[kind], STEP[kind]
            )


def test_models_that_keep_an_early_operator_set_stay_as_they_are() -> None:
    """Add-6 refuses what later versions broadcast, so that the model cannot be converted; Cast-1 names types in words."""
    text = """g (float16[N,3] x, float16[M,3] b) => (float16[] y, float[] z) {
      y = Add(x, b)  z = Cast <to = "FLOAT"> (y)
    }"""
    one = model(text, opset=5)
    made = prepared(one).model
    assert made.opset_imports[""] == 5
    x = drawn("float16", 2, 3)
    for found, wanted in both(one, {"x": x, "b": x}, native=False):
        np.testing.assert_array_equal(found, wanted)


# --- graphs by chance -------------------------------------------------------------------------


@kinds
@pytest.mark.parametrize("first", range(0, 40, 10))
def test_copies_of_graphs_made_by_chance_are_as_near_as_the_reference_engine(first: int, kind: str) -> None:
    """To what float64 makes of them; how far that engine is says how much a graph makes of a rounding."""
    half = DataType.of(HALVES[kind])
    for seed in range(first, first + 10):
        made = sample(seed)
        copy = halved(made.model, half)
        session = sx.Session(copy, engine="native", threads=1)
        for turn, feeds in enumerate(made.feeds):
            with np.errstate(all="ignore"):
                fed = half_feeds(feeds, half)
                wanted = Interpreter(copy).run(fed)
                found = session.run(fed)
            for name, one in wanted.items():
                exact = made.outputs[name].precise[turn]
                holds(np.asarray(found[name]), np.asarray(one), exact, f"seed {seed}, {name}")


def holds(found: Array, wanted: Array, exact: Array, where: str) -> None:
    assert found.dtype == wanted.dtype and found.shape == wanted.shape, f"{where}: {found}, not {wanted}"
    if wanted.dtype.name not in STEP or exact.shape != wanted.shape:
        return
    here, there = found.astype(np.float64), wanted.astype(np.float64)
    np.testing.assert_array_equal(np.isfinite(here), np.isfinite(there), where)
    finite = np.isfinite(there) & np.isfinite(exact)
    top = max(float(np.abs(exact[finite]).max(initial=0)), 1e-3)
    apart = float(np.abs(there[finite] - exact[finite]).max(initial=0))
    allowed = 4 * STEP[wanted.dtype.name] * top + 2 * apart
    np.testing.assert_allclose(here[finite], exact[finite], 0, allowed, err_msg=where)
