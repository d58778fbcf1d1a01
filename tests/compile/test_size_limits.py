"""Sizes beyond 64 bits and beyond memory: counted as violations, refused or sent to the reference engine, never truncated."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.compile.program.encoding.encoding import Encoding
from sardonyx._src.compile.program.encoding.size_functions import SizeFunctionBuilder
from sardonyx._src.compile.program.memory.arena import MemoryPlan
from sardonyx._src.ir import Attribute, Tensor
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.dims import symbol
from sardonyx._src.runtime.engine.engine import NativeEngine
from sardonyx._src.runtime.programs.context_memory import are_sizes
from sardonyx._src.runtime.runs.native_program import NativeProgram
from sardonyx._src.runtime.session.session import ENGINES, Engine

WINDOWS = "g (float[1,2,N,4] q, float[1,2,N,4] k) => (y) {{ y = Attention <{side}_window_size = {size}> (q, k, k) }}"


def native(session: sx.Session) -> NativeProgram:
    assert isinstance(session._runner, NativeEngine)
    return session._runner.native


@pytest.mark.parametrize("number", [1 << 63, -(1 << 63) - 1, 1 << 70])
def test_a_constant_beyond_64_bits_is_a_violation(number: int) -> None:
    for dim in (number, symbol("n") * number, symbol("n") + number):
        builder = SizeFunctionBuilder({"n": 0})
        builder.emit_dim(dim)
        assert builder.constant_violations == 1
        assert str(number) not in "\n".join(builder.lines)


def test_a_slot_beyond_64_bits_is_counted_and_not_encoded() -> None:
    encoding = Encoding(MemoryPlan((), {}, 0, (), {}))
    encoding.append(1 << 63)
    encoding.append(7)
    encoding.set_slot(1, -(1 << 64))
    assert (encoding.values, encoding.oversized) == ([0, 0], 2)


@pytest.mark.parametrize(
    ("largest", "is_within"), [(1 << 48, True), ((1 << 48) + 1, False), (-(1 << 62), False)]
)
def test_slots_of_a_run_are_held_to_what_memory_can_have(largest: int, is_within: bool) -> None:
    assert are_sizes(np.array([0, largest], np.int64)) is is_within


MAIN = "g (float[N] x) => (float[N] y, float[N] z) { y = Neg(x)  s = Softmax(x)  z = Sqrt(s) }"


def test_outputs_arena_and_scratch_are_held_to_the_limit_together() -> None:
    x = np.ones(1 << 16, np.float32)
    wide, narrow = (
        sx.Session(parse_model(MAIN), engine="native", limits=sx.RunLimits(bytes=size))
        for size in (1 << 22, x.nbytes + 1)
    )
    for name, result in wide.run({"x": x}).items():
        np.testing.assert_array_equal(np.asarray(result), np.asarray(narrow.run({"x": x})[name]))
    assert wide.stats.bailouts == {}
    assert set(narrow.stats.bailouts) == {"memory limit"}


def test_scratch_of_all_threads_counts() -> None:
    text = "g (float[1,C,8,8] x) => (float[1,C,8,8] y) { y = LRN <size = 5> (x) }"
    x = np.ones((1, 64, 8, 8), np.float32)
    for threads, is_native in ((1, True), (2, False)):
        session = sx.Session(parse_model(text), engine="native", threads=threads)
        _, arena, scratch, _ = native(session).size_function([64])
        limit = arena + scratch + x.nbytes
        limited = sx.Session(
            parse_model(text), engine="native", threads=threads, limits=sx.RunLimits(bytes=limit)
        )
        limited.run({"x": x})
        assert (limited.stats.bailouts == {}) is is_native


@pytest.mark.parametrize("value", [2**53, 2**63 - 1, -(2**63)])
def test_elements_of_constants_are_no_sizes(value: int) -> None:
    model = parse_model(f"g (float[1] x) => (int64 y) {{ y = Constant <value_int = {value}> () }}")
    result = sx.Session(model, engine="native").run({"x": np.ones(1, np.float32)})["y"]
    assert np.asarray(result).tolist() == value


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("engine", ["reference", "native"])
@pytest.mark.parametrize("size", [2**31, 2**62, 2**63 - 1])
def test_a_window_past_every_key_is_no_window(side: str, engine: Engine, size: int) -> None:
    rng = np.random.default_rng(0)
    feeds = {name: rng.standard_normal((1, 2, 5, 4)).astype(np.float32) for name in "qk"}
    huge, none = (
        sx.Session(parse_model(WINDOWS.format(side=side, size=n), opset=25), engine=engine).run(feeds)["y"]
        for n in (size, -1)
    )
    np.testing.assert_allclose(np.asarray(huge), np.asarray(none), 1e-6)


@pytest.mark.parametrize("engine", ["reference", "native"])
@pytest.mark.parametrize(("start", "rows"), [(2**63 - 1, [1, 2]), (-(2**63), [1, 2]), (-1, [2, 0])])
def test_a_circular_write_wraps_any_index(engine: Engine, start: int, rows: list[int]) -> None:
    """2^63 = 2 modulo 3, so that 2^63 - 1 and -2^63 are both 1."""
    text = 'g (float[1,3,1] p, float[1,2,1] u, int64[1] w) => (y) { y = TensorScatter <mode = "circular", axis = 1> (p, u, w) }'
    expected = np.zeros((1, 3, 1), np.float32)
    expected[0, rows, 0] = 1, 2
    feeds = {
        "p": np.zeros((1, 3, 1), "f4"),
        "u": np.array([[[1], [2]]], np.float32),
        "w": np.array([start], np.int64),
    }
    session = sx.Session(parse_model(text, opset=24), engine=engine)
    np.testing.assert_array_equal(np.asarray(session.run(feeds)["y"]), expected)


@pytest.mark.parametrize("weight", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("dims", ["1,1,2,3", "N,1,H,W"])
def test_a_transposed_convolution_does_not_multiply_weights_by_padding(weight: float, dims: str) -> None:
    """Only elements that an element of x scatters the weight to are infinite or NaN."""
    model = parse_model(
        f"g (float[{dims}] x) => (y) <float[1,1,2,2] w = {{1, 2, 3, 4}}> {{ y = ConvTranspose (x, w) }}"
    )
    weights = np.array([[[[1, 2], [3, weight]]]], np.float32)
    model.graph.initializers["w"].initializer = Tensor.of(weights)
    x = np.arange(1, 7, dtype=np.float32).reshape(1, 1, 2, 3)
    expected = np.zeros((1, 1, 3, 4), np.float32)
    for i, j in np.ndindex(2, 3):
        expected[0, 0, i : i + 2, j : j + 2] += x[0, 0, i, j] * weights[0, 0]
    for engine in ENGINES[1:]:
        result = sx.Session(model, engine=engine).run({"x": x})["y"]
        np.testing.assert_array_equal(np.asarray(result), expected)


@pytest.mark.parametrize("alpha", [np.inf, -np.inf, np.nan])
def test_an_infinite_factor_scales_sums_of_products(alpha: float) -> None:
    """alpha * (A @ B), not (alpha * A) @ B, which would have NaN wherever A has a zero."""
    model = parse_model("g (float[N,2] a, float[2,2] b) => (y) { y = Gemm <alpha = 2.0> (a, b) }")
    model.graph.nodes[0].attributes["alpha"] = Attribute("alpha", AttributeType.FLOAT, float(alpha))
    a, b = np.array([[1, 0], [0, -2], [1, 1]], np.float32), np.array([[1, 2], [1, -2]], np.float32)
    with np.errstate(invalid="ignore"):
        expected = np.float32(alpha) * (a @ b)
    for engine in ENGINES[1:]:
        result = sx.Session(model, engine=engine).run({"a": a, "b": b})["y"]
        np.testing.assert_array_equal(np.asarray(result), expected)


LOOP = """g (int64 n, float[1] x) => (float[1] y, float[K,1] z) { c = Constant <value = bool {1}> ()
  y, z = Loop <body = b (int64 i, bool k, float[1] v) => (bool l, float[1] w, float[1] s) { l = Identity(k)  w = Add(v, v)  s = Neg(v) }> (n, c, x) }"""


@pytest.mark.parametrize("count", [-1, -(2**31), -(2**63)])
def test_a_negative_trip_count_runs_no_iteration(count: int) -> None:
    for engine in ENGINES[1:]:
        results = sx.Session(parse_model(LOOP), engine=engine).run(
            {"n": np.array(count, np.int64), "x": np.ones(1, np.float32)}
        )
        assert np.asarray(results["y"]).tolist() == [1]
        assert np.asarray(results["z"]).shape == (0, 1)
