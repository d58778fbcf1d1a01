"""NonZero, Compress and NonMaxSuppression as native steps that count their results, beside the reference engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from compile.test_matmul_kernel import LANES, Memory, make_target
from models import parse_model
from sardonyx._src.compile.kernels.selection.non_max_suppression import SuppressionLimits, suppression_step
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.pipeline import compile_model
from sardonyx._src.compile.program.steps.program import BindSizes
from sardonyx._src.ir import Array, Model
from sardonyx._src.runtime.saved_programs.writing import save_compiled

RNG = np.random.default_rng(11)


def assert_native(model: Model, runs: Sequence[Mapping[str, Array]]) -> sx.Session:
    """Asserts equal results of runs whose sizes differ, without fallbacks; returns the session."""
    compile_model(model, host_target(), verify=True)
    native, reference = (sx.Session(model, engine=engine) for engine in ("native", "reference"))
    assert native.stats.fallback_nodes == 0
    for feeds in runs:
        expected = reference.run(feeds)
        for name, actual in native.run(feeds).items():
            np.testing.assert_array_equal(np.asarray(actual), np.asarray(expected[name]), strict=True)
    assert not native.stats.bailouts
    return native


def sparse(dtype: str, *shape: int, share: float = 0.4) -> Array:
    return (RNG.integers(1, 3, shape) * (RNG.random(shape) < share)).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bool", "int8", "uint16", "int64"])
def test_non_zero_of_every_type(dtype: str) -> None:
    name = {"float32": "float", "float64": "double"}.get(dtype, dtype)
    model = parse_model(f"g ({name}[3,5] x) => (int64[2,N] y) {{ y = NonZero(x) }}", opset=17)
    assert_native(model, [{"x": sparse(dtype, 3, 5, share=share)} for share in (0.4, 0.7, 0.0, 1.0, 0.7)])


@pytest.mark.parametrize("shape", [(1,), (40,), (0,), (4, 3), (2, 0, 3), (2, 3, 4, 2)])
def test_non_zero_of_any_shape(shape: tuple[int, ...]) -> None:
    for dims in (",".join(map(str, shape)), ",".join("ABCD"[: len(shape)])):
        text = f"g (float[{dims}] x) => (int64[R,N] y) {{ y = NonZero(x) }}"
        assert_native(parse_model(text, opset=17), [{"x": sparse("float32", *shape)}])


def test_non_zero_of_special_numbers() -> None:
    x = np.array([0.0, -0.0, np.nan, np.inf, 1e-45, -1.0], np.float32)
    assert_native(parse_model("g (float[N] x) => (int64[1,M] y) { y = NonZero(x) }", opset=17), [{"x": x}])


def test_what_follows_is_compiled_for_the_size() -> None:
    text = """g (float[N] x) => (float[M] y, int64[1] count) <int64[1] flat = {-1}> {
      p = NonZero(x) q = Reshape(p, flat) g = Gather(x, q) a = Neg(g) y = Mul(a, g) count = Shape(q) }"""
    native = assert_native(parse_model(text, opset=17), [{"x": sparse("float32", 30)} for _ in range(6)])
    feeds = {"x": sparse("float32", 30)}
    before = native.stats.fast_path_runs
    for _ in range(5):
        native.run(feeds)
    assert native.stats.fast_path_runs >= before + 2


def test_other_sizes_leave_the_fast_path() -> None:
    model = parse_model("g (float[20] x) => (int64[1,M] y) { y = NonZero(x) }", opset=17)
    session = sx.Session(model, engine="native")
    for share in (0.5, 0.1, 0.9):
        x = sparse("float32", 20, share=share)
        for _ in range(4):
            np.testing.assert_array_equal(np.asarray(session.run({"x": x})["y"])[0], np.flatnonzero(x))
    assert session.stats.fast_path_runs > 0


def test_several_bindings_in_one_run() -> None:
    text = """g (float[A,B] x, bool[A] c) => (int64[2,N] y, float[K,B] z, int64[2,M] w) {
      y = NonZero(x) z = Compress <axis = 0> (x, c) w = NonZero(z) }"""
    runs = [{"x": sparse("float32", 7, 4), "c": RNG.random(7) < 0.5} for _ in range(5)]
    assert_native(parse_model(text, opset=17), runs)


def test_a_saved_program_binds_counts(tmp_path: Path) -> None:
    text = "g (float[A,B] x) => (int64[2,N] y) { t = Relu(x) y = NonZero(t) }"
    save_compiled(parse_model(text, opset=17), tmp_path / "m.sdx")
    session = sx.Session(tmp_path / "m.sdx")
    for _ in range(4):
        x = RNG.normal(size=(3, 4)).astype(np.float32)
        np.testing.assert_array_equal(np.asarray(session.run({"x": x})["y"]), np.nonzero(np.maximum(x, 0)))


def test_branches_call_the_reference_kernel() -> None:
    """Sizes are bound in the main graph only."""
    text = """g (float[5] x, bool c) => (int64[1,N] y) {
      y = If <then_branch = t () => (int64[1,K] a) { a = NonZero(x) },
              else_branch = e () => (int64[1,L] b) { n = Neg(x) m = Relu(n) b = NonZero(m) }> (c) }"""
    session = sx.Session(parse_model(text, opset=17), engine="native")
    x = np.array([0, 1, -1, 0, 2], np.float32)
    assert np.asarray(session.run({"x": x, "c": np.array(True)})["y"]).tolist() == [[1, 2, 4]]
    assert np.asarray(session.run({"x": x, "c": np.array(False)})["y"]).tolist() == [[2]]


# --- Compress -------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", ["", "<axis = 0>", "<axis = 1>", "<axis = -1>"])
@pytest.mark.parametrize("length", [0, 1, 3])
def test_compress(axis: str, length: int) -> None:
    model = parse_model(
        f"g (float[3,A,4] x, bool[C] c) => (float[] y) {{ y = Compress {axis} (x, c) }}", opset=17
    )
    runs = [
        {"x": RNG.normal(size=(3, 3, 4)).astype(np.float32), "c": RNG.random(length) < 0.6} for _ in range(3)
    ]
    assert_native(model, runs)


# --- NonMaxSuppression ----------------------------------------------------------------------------


def draw_boxes(batch: int, count: int) -> Array:
    """Boxes of which many overlap, corners in any order."""
    center, size = RNG.random((batch, count, 2)) * 10, RNG.random((batch, count, 2)) * 4
    corners = np.stack([center - size / 2, center + size / 2], 2)
    flip = RNG.random((batch, count, 1, 2)) < 0.3
    return np.where(flip, corners[:, :, ::-1], corners).reshape(batch, count, 4).astype(np.float32)


def suppression_model(limits: str, names: str, attributes: str = "", dims: str = "B,N,4") -> Model:
    batch, count, _ = dims.split(",")
    return parse_model(
        f"g (float[{dims}] b, float[{batch},C,{count}] s) => (int64[M,3] y) <{limits}> "
        f"{{ y = NonMaxSuppression {attributes} (b, s{names}) }}",
        opset=17,
    )


LIMITS = "int64 m = {{{0}}}, float i = {{{1}}}, float t = {{{2}}}"


def draw_suppression(batch: int, classes: int, count: int) -> dict[str, Array]:
    scores = RNG.random((batch, classes, count)).astype(np.float32)
    return {"b": draw_boxes(batch, count), "s": np.round(scores, 2)}  # with equal scores


@pytest.mark.parametrize("centered", ["", "<center_point_box = 1>"])
@pytest.mark.parametrize(
    ("most", "overlap", "score"),
    [(3, 0.5, 0.3), (100, 0.1, 0.0), (1000, 0.9, 0.9), (0, 0.5, 0.5), (5, 0.0, 2.0)],
)
def test_non_max_suppression(most: int, overlap: float, score: float, centered: str) -> None:
    model = suppression_model(LIMITS.format(most, overlap, score), ", m, i, t", centered)
    assert_native(
        model, [draw_suppression(*size) for size in ((1, 1, 60), (2, 3, 100), (1, 2, 1), (2, 1, 17))]
    )


@pytest.mark.parametrize("names", ["", ", m", ", m, i", ", m, , t"])
def test_limits_may_be_omitted(names: str) -> None:
    model = suppression_model(LIMITS.format(9, 0.4, 0.2), names)
    assert_native(model, [draw_suppression(1, 2, 50)])


def test_special_numbers() -> None:
    """NaN scores come last; boxes with NaN, infinities or no area suppress nothing."""
    feeds = draw_suppression(1, 2, 40)
    feeds["s"][0, 0, ::3] = np.nan
    feeds["s"][0, 1, :5] = [np.inf, -np.inf, 0.0, -0.0, np.nan]
    feeds["b"][0, ::4, 1] = np.nan
    feeds["b"][0, 1::8] = np.inf
    feeds["b"][0, 2] = 3.0
    for limits in (LIMITS.format(40, 0.5, -1.0), LIMITS.format(40, 0.5, 0.0)):
        assert_native(suppression_model(limits, ", m, i, t"), [feeds])


COMPUTED_LIMITS = """g (float[B,N,4] b, float[B,C,N] s, int64[1] m, float[1] i, float t) => (int64[M,3] y) {
  y = NonMaxSuppression(b, s, m, i, t) }"""


def limit_feeds(most: int, overlap: float, score: float) -> dict[str, Array]:
    return {"m": np.array([most]), "i": np.array([overlap], np.float32), "t": np.array(score, np.float32)}


def test_limits_that_a_run_computes() -> None:
    limits = [(2, 0.5, 0.3), (0, 0.5, 0.3), (1 << 40, 1.0, -np.inf), (7, 0.0, 0.6), (7, 0.4, np.nan)]
    runs = [{**draw_suppression(2, 3, 70), **limit_feeds(*each)} for each in limits]
    assert_native(parse_model(COMPUTED_LIMITS, opset=17), runs)


@pytest.mark.parametrize(
    ("limits", "message"),
    [((-1, 0.5, 0.0), "max_output_boxes"), ((3, 1.5, 0.0), "iou"), ((3, np.nan, 0.0), "iou")],
)
def test_computed_limits_out_of_range(limits: tuple[int, float, float], message: str) -> None:
    session = sx.Session(parse_model(COMPUTED_LIMITS, opset=17), engine="native")
    with pytest.raises(sx.EvaluationError, match=message):
        session.run({**draw_suppression(1, 2, 9), **limit_feeds(*limits)})


@pytest.mark.parametrize("lanes", LANES)
def test_suppression_on_every_target(lanes: int | None) -> None:
    feeds = draw_suppression(2, 2, 90)
    segments, counts = np.zeros((4, 50), np.int64), np.zeros(4, np.int64)
    memory, status = Memory(), np.zeros(1, np.int64)
    boxes, scores, segment_tensor, count_tensor, status_tensor = (
        memory.tensor(array) for array in (feeds["b"], feeds["s"], segments, counts, status)
    )
    limits = SuppressionLimits(*(memory.tensor(array) for array in limit_feeds(50, 0.4, 0.25).values()))
    step = suppression_step(
        boxes, scores, segment_tensor, count_tensor, limits, status_tensor, is_centered=False
    )
    memory.run([step], make_target(lanes))
    assert status[0] == 0
    model = suppression_model(LIMITS.format(50, 0.4, 0.25), ", m, i, t")
    expected = np.asarray(sx.Session(model, engine="reference").run(feeds)["y"])
    actual = [(u // 2, u % 2, box) for u in range(4) for box in segments[u, : counts[u]]]
    np.testing.assert_array_equal(actual, expected)


def test_bindings_name_their_counts() -> None:
    model = parse_model("g (float[20] x) => (int64[1,M] y) { y = NonZero(x) }", opset=17)
    (binding,) = (a for a in compile_model(model, host_target()).program.actions if isinstance(a, BindSizes))
    assert binding.count is not None and binding.reads == (binding.count,)
