"""Runs of new sizes on the fast path: results, errors and limits are those of runs with all checks."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import sardonyx as sx
from models import parse_model, parse_record
from sardonyx._src.errors import EvaluationError, InputError, LimitError, OutputError, ShapeWarning
from sardonyx._src.runtime.engine.engine import NativeEngine
from sardonyx._src.runtime.fast_path.sized_path import SizedPath
from sardonyx._src.runtime.runs.native_program import NativeProgram
from sardonyx._src.runtime.saved_programs.writing import save_compiled

F = np.float32
Floats = NDArray[np.float32]
# A step of a decoder: the past grows by the new rows, and all rows are averaged.
GROW = """g (float[S,3] x, float[P,3] past) => (float[T,3] present, float[3] mean) {
    present = Concat <axis = 0> (past, x)  zero = Constant <value_ints = [0]> ()
    mean = ReduceMean <keepdims = 0> (present, zero) }"""
SUM = "g (float[N,3] x, float[N,3] y) => (float[N,3] z) { e = Exp(x)  z = Add(e, y) }"
# A cache with room for all tokens of a mask, as GroupQueryAttention has.
EXTEND = """g (float[P,3] past, int64[T] mask) => (float[T,3] present) {
    rows = Shape <end = 1> (past)  total = Shape (mask)  most = Max (rows, total)
    zero = Constant <value_ints = [0]> ()  none = Constant <value_ints = [0, 0]> ()
    lack = Sub (most, rows)  pads = Concat <axis = 0> (none, lack, zero)  present = Pad (past, pads) }"""
NEXT = 'g (float[N] x, float["N+1"] y) => (float["2*N+1"] z) { z = Concat <axis = 0> (x, y) }'


def open_session(text: str, threads: int = 1, **options: object) -> sx.Session:
    record = parse_record(text, opset=21, ir=10)
    return sx.Session(record, engine="native", threads=threads, **options)  # type: ignore[arg-type]


def native_program(session: sx.Session) -> NativeProgram:
    assert isinstance(session._runner, NativeEngine)
    return session._runner.native


def rows(count: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).standard_normal((count, 3), F)


def warm(session: sx.Session, *feeds: Mapping[str, Floats]) -> sx.Session:
    """The session after two runs with all checks of each of the feeds, or of small ones of SUM."""
    for fed in feeds or [{"x": rows(2), "y": rows(2, 1)}]:
        session.run(fed)
        session.run(fed)
    paths = [context.fast_path for context in native_program(session).contexts]
    assert [type(path) for path in paths] == [SizedPath]
    return session


def quick_runs(session: sx.Session) -> int:
    return session.stats.fast_path_runs


# --- results ---------------------------------------------------------------------------------


def test_a_past_that_grows_needs_checks_only_in_the_first_runs() -> None:
    session, past, kept = open_session(GROW), rows(0), []
    for step in range(200):
        x = rows(1 + step % 3, step)
        results = session.run({"x": x, "past": past})
        np.testing.assert_array_equal(results["present"], np.concatenate([past, x]))
        np.testing.assert_allclose(results["mean"], np.concatenate([past, x]).mean(axis=0), 1e-4, 1e-6)
        past = results["present"]
        kept.append((past, past.copy()))
    assert quick_runs(session) == 198
    assert all(np.array_equal(array, copy) for array, copy in kept)


def test_a_cache_is_as_long_as_its_mask_or_longer() -> None:
    session = open_session(EXTEND)
    for length in range(1, 40):
        past = rows(length, length)
        present = session.run({"past": past, "mask": np.ones(length + 1 + length % 2, np.int64)})["present"]
        np.testing.assert_array_equal(present[:length], past)
        assert present.shape == (length + 1 + length % 2, 3) and not present[length:].any()
    assert quick_runs(session) == 37
    with pytest.warns(ShapeWarning, match="dimension 'T'"):
        session.run({"past": rows(5), "mask": np.ones(4, np.int64)})
    assert quick_runs(session) == 37


def test_lengths_in_any_order_have_the_bits_of_a_first_run() -> None:
    session = warm(open_session(SUM))
    for n in np.random.default_rng(4).permutation(70).tolist():
        fed = {"x": rows(n, n), "y": rows(n, n + 1)}
        first = open_session(SUM).run(fed)["z"]
        for _ in range(2):
            assert session.run(fed)["z"].tobytes() == first.tobytes()
    assert quick_runs(session) == 140


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("n", [0, 1, 7, 40_000])
def test_sizes_far_from_those_of_the_first_runs(n: int, threads: int) -> None:
    session = warm(open_session(SUM, threads))
    for count in (n, 2, n, n, 3):
        fed = {"x": rows(count), "y": rows(count, 1)}
        np.testing.assert_allclose(session.run(fed)["z"], np.exp(fed["x"]) + fed["y"], 1e-5, 1e-6)


def test_arena_and_scratch_that_are_too_small_are_replaced_by_a_run_with_checks() -> None:
    text = """g (float[N,3] x, float[3,64] w, float[64,3] v) => (float[N,3] y) {
        h = MatMul(x, w)  s = Softmax(h)  y = MatMul(s, v) }"""
    draw = np.random.default_rng(1)
    weights = {"w": draw.standard_normal((3, 64), F), "v": draw.standard_normal((64, 3), F)}
    session = open_session(text)
    for n in (1, 1, 2, 3000, 3001, 5, 9000, 9000, 1):
        x = rows(n, n)
        h = np.exp(x @ weights["w"])
        expected = (h / h.sum(axis=1, keepdims=True)) @ weights["v"]
        np.testing.assert_allclose(session.run({"x": x, **weights})["y"], expected, 1e-4, 1e-5)
    assert 3 <= quick_runs(session) <= 7


def test_checked_runs_between_quick_ones_of_other_sizes() -> None:
    """`outputs` makes a run take all checks: it must not take slots of other sizes for its own."""
    session = warm(open_session(SUM))
    for n in (2, 5, 2, 5, 5, 2, 2, 9):
        fed = {"x": rows(n, n), "y": rows(n, n + 1)}
        expected = np.exp(fed["x"]) + fed["y"]
        np.testing.assert_allclose(session.run(fed, ["z"])["z"], expected, 1e-5, 1e-6)
        other = {"x": rows(n + 1, n), "y": rows(n + 1, 3)}
        np.testing.assert_allclose(session.run(other)["z"], np.exp(other["x"]) + other["y"], 1e-5, 1e-6)
        np.testing.assert_allclose(session.run(fed, ["z"])["z"], expected, 1e-5, 1e-6)


def test_threads_with_sizes_of_their_own() -> None:
    session, failures = warm(open_session(SUM)), []

    def run_often(seed: int) -> None:
        draw = np.random.default_rng(seed)
        for _ in range(300):
            n = int(draw.integers(0, 50))
            fed = {"x": rows(n, seed), "y": rows(n, seed + 1)}
            if not np.allclose(session.run(fed)["z"], np.exp(fed["x"]) + fed["y"], 1e-5, 1e-6):
                failures.append(n)

    threads = [threading.Thread(target=run_often, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert quick_runs(session) > 1000


def test_saved_programs(tmp_path: Path) -> None:
    save_compiled(parse_model(NEXT), tmp_path / "next.sdx")
    session = sx.Session(tmp_path / "next.sdx")
    for n in (1, 1, 4, 0, 9):
        x, y = rows(n)[:, 0].copy(), rows(n + 1, 1)[:, 0].copy()
        np.testing.assert_array_equal(session.run({"x": x, "y": y})["z"], np.concatenate([x, y]))
    assert quick_runs(session) == 3


def test_arrays_for_outputs_of_new_sizes() -> None:
    session = warm(open_session(SUM))
    for n in (5, 1):
        fed, z = {"x": rows(n), "y": rows(n, 1)}, np.empty((n, 3), F)
        assert session.run(fed, out={"z": z})["z"] is z
        np.testing.assert_allclose(z, np.exp(fed["x"]) + fed["y"], 1e-5, 1e-6)
        with pytest.raises(OutputError, match=rf"must be float32\[{n}, 3\]; got float32\[7, 3\]"):
            session.run(fed, out={"z": np.empty((7, 3), F)})
    assert quick_runs(session) == 2


def test_names_of_sizes_that_only_exporters_know_to_be_equal() -> None:
    """Exporters declare `past + 1` of the mask and of the results, which is a name: each run compares its lengths."""
    text = """g (float[1,3] x, float[past,3] old, int64["past + 1"] mask) => (float["past + 1",3] new, int64["past + 1"] m) {
        new = Concat <axis = 0> (old, x)  m = Neg(mask) }"""
    session = open_session(text)
    for n in (0, 1, 2, 3, 9):
        fed = {"x": rows(1, n), "old": rows(n), "mask": np.ones(n + 1, np.int64)}
        np.testing.assert_array_equal(session.run(fed)["new"], np.concatenate([fed["old"], fed["x"]]))
    assert quick_runs(session) == 3
    for _ in range(2):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            results = session.run({"x": rows(1), "old": rows(4), "mask": np.ones(7, np.int64)})
        assert results["new"].shape == (5, 3)
        assert results["m"].tolist() == [-1] * 7
        assert quick_runs(session) == 3
    assert not caught  # a location is reported once
    strict = open_session(text, shapes="strict")
    for n in (1, 2, 3):
        strict.run({"x": rows(1), "old": rows(n), "mask": np.ones(n + 1, np.int64)})
        with pytest.raises(OutputError, match="dimension 'past \\+ 1' must have one length"):
            strict.run({"x": rows(1), "old": rows(4), "mask": np.ones(7, np.int64)})
    assert quick_runs(strict) == 1


# --- feeds that a program does not accept ----------------------------------------------------


def test_one_name_must_have_one_length() -> None:
    session = warm(open_session(SUM))
    for n in (2, 3):
        with pytest.raises(InputError, match="dimension 'N' must have one length"):
            session.run({"x": rows(n), "y": rows(n + 1)})
        fed = {"x": rows(n), "y": rows(n, 1)}
        np.testing.assert_allclose(session.run(fed)["z"], np.exp(fed["x"]) + fed["y"], 1e-5, 1e-6)
    assert quick_runs(session) == 2


def test_a_dim_that_is_an_expression() -> None:
    x, y = rows(9)[:, 0].copy(), rows(9, 1)[:, 1].copy()
    session = warm(open_session(NEXT), {"x": x[:2], "y": y[:3]})
    for n in (4, 0, 7):
        with pytest.raises(InputError, match=r"must be N\+1, which is"):
            session.run({"x": x[:n], "y": y[:n]})
        results = session.run({"x": x[:n], "y": y[: n + 1]})
        np.testing.assert_array_equal(results["z"], np.concatenate([x[:n], y[: n + 1]]))
    assert quick_runs(session) == 3


@pytest.mark.parametrize(
    "fed",
    [
        {"x": rows(4), "y": rows(4).astype(np.float64)},
        {"x": rows(4), "y": rows(4)[:, :2].copy()},
        {"x": rows(4), "y": rows(4)[0]},
        {"x": rows(4)},
    ],
)
def test_invalid_feeds_between_sizes(fed: Mapping[str, Floats]) -> None:
    session = warm(open_session(SUM))
    for n in (3, 4, 2):
        with pytest.raises(InputError):
            session.run(fed)
        right = {"x": rows(n), "y": rows(n, 1)}
        np.testing.assert_allclose(session.run(right)["z"], np.exp(right["x"]) + right["y"], 1e-5, 1e-6)
    assert quick_runs(session) == 3


def test_strided_feeds_take_all_checks() -> None:
    session = warm(open_session(SUM))
    wide = np.random.default_rng(0).standard_normal((5, 6), F)
    results = session.run({"x": wide[:, ::2], "y": wide[:, 1::2]})
    np.testing.assert_allclose(results["z"], np.exp(wide[:, ::2]) + wide[:, 1::2], 1e-5, 1e-6)
    assert quick_runs(session) == 0


def test_a_guard_that_new_sizes_violate() -> None:
    text = "g (float[N] x, float[M] y) => (float[K] z) { z = Add(x, y) }"
    session, x = open_session(text), np.arange(8, dtype=F)
    for n, m in ((3, 3), (3, 3), (4, 4), (4, 1), (5, 5), (1, 5), (6, 6)):
        assert session.run({"x": x[:n], "y": x[:m]})["z"].tolist() == (x[:n] + x[:m]).tolist()
        with pytest.raises(EvaluationError, match="broadcast"):
            session.run({"x": x[: n + 1], "y": x[: n + 2]})
    assert quick_runs(session) == 5


def test_an_index_out_of_range_and_what_comes_after_it() -> None:
    text = "g (float[N,3] x, int64[M] i) => (float[M,3] y) { y = Gather <axis = 0> (x, i) }"
    session = open_session(text)
    for n in (2, 2, 5, 3):
        assert session.run({"x": rows(n), "i": np.array([n - 1])})["y"].tolist() == rows(n)[[n - 1]].tolist()
        with pytest.raises(EvaluationError, match="indices must be in"):
            session.run({"x": rows(n), "i": np.array([0, n])})
        fed = {"x": rows(n), "i": np.array([0, n - 1])}
        assert session.run(fed)["y"].tolist() == rows(n)[[0, n - 1]].tolist()
    assert quick_runs(session) > 3


# --- limits ----------------------------------------------------------------------------------


def test_dims_beyond_the_range_of_sizes() -> None:
    text = "g (float[N,M] x) => (float[M,N] y) { e = Exp(x)  y = Transpose <perm = [1, 0]> (e) }"
    session = open_session(text)
    for shape in ((2, 3), (2, 3), (0, 1 << 50), (4, 5), (1 << 50, 0)):
        x = np.ones(shape, F)
        assert session.run({"x": x})["y"].shape == shape[::-1]
    assert quick_runs(session) == 1


def test_an_inner_size_beyond_the_range_of_sizes() -> None:
    text = """g (float[N,M] x) => (float[N] y) { c = Concat <axis = 1> (x, x, x)
        axis = Constant <value_ints = [1]> ()  y = ReduceSum <keepdims = 0> (c, axis) }"""
    session = open_session(text)
    for shape in ((2, 3), (2, 3), (0, 1 << 47), (2, 5)):
        assert session.run({"x": np.ones(shape, F)})["y"].tolist() == [3 * shape[1]] * shape[0]
    assert quick_runs(session) == 1
    assert sum(session.stats.bailouts.values()) == 1


def test_sizes_that_overflow() -> None:
    text = "g (uint8[N,M] x) => (uint8[N,K] y) { y = Concat <axis = 1> (x, x, x) }"
    session = open_session(text)
    for columns in (2, 2, 5):
        x = np.arange(2 * columns, dtype=np.uint8).reshape(2, columns)
        assert session.run({"x": x})["y"].tolist() == np.concatenate([x, x, x], axis=1).tolist()
        with pytest.raises(EvaluationError):
            session.run({"x": np.empty((0, 3 << 60), np.uint8)})
    assert session.run({"x": np.empty((0, 1 << 50), np.uint8)})["y"].shape == (0, 3 << 50)
    assert quick_runs(session) == 1


def test_the_memory_of_a_run_is_limited() -> None:
    session = warm(open_session(SUM, limits=sx.RunLimits(run_bytes=10_000)))
    for n in (10, 11):
        with pytest.raises(LimitError):
            session.run({"x": rows(900), "y": rows(900)})
        fed = {"x": rows(n), "y": rows(n, 1)}
        np.testing.assert_allclose(session.run(fed)["z"], np.exp(fed["x"]) + fed["y"], 1e-5, 1e-6)
    assert quick_runs(session) == 2


def test_native_memory_is_limited() -> None:
    session = warm(open_session(SUM, limits=sx.RunLimits(bytes=10_000)))
    for n in (10, 900, 11, 901):
        fed = {"x": rows(n), "y": rows(n, 1)}
        np.testing.assert_allclose(session.run(fed)["z"], np.exp(fed["x"]) + fed["y"], 1e-5, 1e-6)
    assert quick_runs(session) == 2
    assert session.stats.bailouts == {"memory limit": 2}


def test_the_memory_that_an_outer_run_has_left() -> None:
    session = warm(open_session(SUM))
    native, fed = native_program(session), {"x": rows(9), "y": rows(9, 1)}
    assert native.try_run(fed, max_bytes=9 * 3 * 4 - 1) is None
    outputs = native.try_run(fed, max_bytes=100_000)
    assert outputs is not None
    np.testing.assert_allclose(np.asarray(outputs["z"]), np.exp(fed["x"]) + fed["y"], 1e-5, 1e-6)


# --- declarations ----------------------------------------------------------------------------


def test_a_wrong_declaration_of_an_output_is_found_at_every_size() -> None:
    text = "g (float[N] x) => (float[5] y) { y = Exp(x) }"
    session = open_session(text, shapes="strict")
    for _ in range(3):
        session.run({"x": np.zeros(5, F)})
    with pytest.raises(OutputError, match="must have length 5"):
        session.run({"x": np.zeros(6, F)})
    lax = open_session(text)
    for _ in range(3):
        lax.run({"x": np.zeros(5, F)})
    with pytest.warns(ShapeWarning, match="must have length 5"):
        lax.run({"x": np.zeros(6, F)})


def test_sizes_are_not_compared_if_the_caller_says_so() -> None:
    text = "g (float[N] x) => (float[%s] y) { y = Exp(x) }"
    session, other = open_session(text % 5, shapes="off"), open_session(text % "N")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in (5, 5, 6, 7):
            assert session.run({"x": np.zeros(n, F)})["y"].shape == (n,)
            other.run({"x": np.zeros(n, F)})
    assert quick_runs(session) == quick_runs(other) > 0


def test_the_first_run_of_each_size_is_verified() -> None:
    session = open_session(SUM, verify="first")
    for n in (2, 2, 2, 3, 3, 4):
        session.run({"x": rows(n), "y": rows(n, 1)})
    assert session.stats.verified_runs == 3
    every = open_session(SUM, verify="every")
    for n in (2, 2, 2, 3, 3, 4):
        every.run({"x": rows(n), "y": rows(n, 1)})
    assert every.stats.verified_runs == 6
    assert quick_runs(every) == 4
