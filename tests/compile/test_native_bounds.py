"""Memory safety: no step accesses memory out of the bounds of its tensors, for any graph and indices.

Each claim is tested in a process of its own, which an out-of-bounds access terminates.
"""

from __future__ import annotations

import multiprocessing
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pytest

import sardonyx as sx
from compile.guarded_programs import assert_stays_in_bounds, run_guarded
from compile.random_layers import sample
from models import parse_model
from sardonyx._src.compile.program import Step
from sardonyx._src.compile.program.encoding.executable import Executable
from sardonyx._src.errors import SardonyxError
from sardonyx._src.ir import Array, Model
from sardonyx._src.runtime.runs.native_program import compile_for_host

INDICES = (-(2**63), 2**63 - 1, -(2**31), 2**31, 2**62, -5, 4, 1_000_000)
X = np.arange(12, dtype=np.float32).reshape(4, 3)


def exit_code_of(work: Callable[..., None], *args: object) -> int:
    """The exit code of a new process that executes a function."""
    process = multiprocessing.get_context("spawn").Process(target=work, args=args)
    process.start()
    process.join(300)
    assert process.exitcode is not None, "the process hangs"
    return process.exitcode


def assert_graphs_stay_in_bounds(first: int, count: int, lanes: int | None = None) -> None:
    for seed in range(first, first + count):
        sys.stderr.write(f"seed {seed}\n")
        assert_stays_in_bounds(sample(seed), lanes)


@pytest.mark.parametrize("first", [30_000, 40_000])
def test_steps_of_random_graphs_stay_in_bounds(first: int) -> None:
    assert exit_code_of(assert_graphs_stay_in_bounds, first, 40) == 0, (
        "the last seed printed accesses memory out of bounds, or is wrong"
    )


@pytest.mark.parametrize("lanes", [1, 4, 8])
def test_steps_of_narrow_vectors_stay_in_bounds(lanes: int) -> None:
    assert exit_code_of(assert_graphs_stay_in_bounds, 50_000 + 100 * lanes, 12, lanes) == 0, (
        "the last seed printed is wrong"
    )


def run_undeclared() -> None:
    """Runs a program with a step that does not declare what it reads."""
    run_guarded(build_undeclaring_program(), {"x": np.ones(4, np.float32)}, at_end=True, seed=0)


def build_undeclaring_program() -> Executable:
    executable = compile_for_host(parse_model("g (float[4] x) => (float[4] y) { y = Relu(x) }"))
    program = executable.program
    program.actions = [
        replace(action, reads=()) if isinstance(action, Step) else action for action in program.actions
    ]
    return executable


def test_the_checked_build_reports_an_undeclared_read() -> None:
    with pytest.raises(AssertionError, match="is outside of the operands"):
        run_guarded(
            build_undeclaring_program(), {"x": np.ones(4, np.float32)}, at_end=True, seed=0, checks=True
        )


def test_an_undeclared_read_terminates_the_process() -> None:
    assert exit_code_of(run_undeclared) == -signal.SIGSEGV


def test_empty_views_may_begin_past_the_end() -> None:
    text = "g (float[N,4] x) => (float[N,2] y) { a = Constant<value_ints = [2]>()  b = Constant<value_ints = [4]>() "
    text += "c = Constant<value_ints = [1]>()  s = Slice(x, a, b, c)  z = Constant<value_int = 1>()  y = CumSum(s, z) }"
    result = sx.Session(parse_model(text), engine="native").run({"x": np.zeros((0, 4), np.float32)})["y"]
    assert np.asarray(result).shape == (0, 2)


@pytest.mark.parametrize("operator", ["MaxPool<kernel_shape = [2, 2]>", "AveragePool<kernel_shape = [2, 2]>"])
def test_pooling_handles_any_number_of_channels(operator: str) -> None:
    tested_model = parse_model(f"g (float[N,C,H,W] x) => (float[N,C,P,Q] y) {{ y = {operator}(x) }}")
    native, reference = (sx.Session(tested_model, engine=e) for e in ("native", "reference"))
    for shape in ((1, 3, 4, 5), (2, 17, 3, 2), (2, 0, 3, 2)):
        x = np.random.default_rng(1).standard_normal(shape, np.float32)
        result, expected = (np.asarray(session.run({"x": x})["y"]) for session in (native, reference))
        np.testing.assert_allclose(result, expected, 1e-6)


LAYERS = {
    "Conv": "w = Constant<value = float[3,3,1,1] {1,2,3,4,5,6,7,8,9}>()  r = Conv(x, w)",
    "Resize": "s = Constant<value_floats = [1.0, 1.0, 1.0, 1.0]>()  h = Constant<value_floats = [1.0, 1.0, 0.5, 2.0]>() "
    "t = Resize(x, , h)  u = Constant<value_floats = [1.0, 1.0, 2.0, 0.5]>()  r = Resize(t, , u)",
    "MaxPool": "r = MaxPool<kernel_shape = [1, 1]>(x)",
}


@pytest.mark.parametrize("dims", ["3,4,6", "4,6", "3,1,1", "1,3,4,6", "6"])
@pytest.mark.parametrize("layer", LAYERS)
def test_images_broadcast_with_operands_of_lower_rank(layer: str, dims: str) -> None:
    """The three dims of the other operand are channels, height and width."""
    tested_model = parse_model(
        f"g (float[1,3,4,6] x, float[{dims}] c) => (float[1,3,4,6] y) {{ {LAYERS[layer]}  y = Mul(r, c) }}"
    )
    draw = np.random.default_rng(1)
    feeds: dict[str, Array] = {"x": draw.standard_normal((1, 3, 4, 6), np.float32)}
    feeds["c"] = draw.standard_normal([int(d) for d in dims.split(",")], np.float32)
    expected = np.asarray(sx.Session(tested_model, engine="reference").run(feeds)["y"])
    for checks in (False, True):
        result = run_guarded(compile_for_host(tested_model), feeds, at_end=True, seed=0, checks=checks)
        assert result is not None
        np.testing.assert_allclose(result["y"], expected, 1e-5, 1e-5)


@pytest.mark.parametrize("other", ["A,B,C,5,6", "5,6", "1,B,1,5,6"])
def test_matmul_handles_several_symbolic_batch_dims(other: str) -> None:
    text = "g (float[A,B,C,4,5] a, float[%s] b) => (float[A,B,C,4,6] y) { t = Transpose<perm = [2, 0, 1, 3, 4]>(a) "
    text += "u = Transpose<perm = [1, 2, 0, 3, 4]>(t)  y = MatMul(u, b) }"
    sizes = {"A": 2, "B": 3, "C": 2}
    draw = np.random.default_rng(1)
    a, b = (
        draw.standard_normal([sizes.get(d) or int(d) for d in dims.split(",")], np.float32)
        for dims in ("A,B,C,4,5", other)
    )
    result = sx.Session(parse_model(text % other), engine="native").run({"a": a, "b": b})["y"]
    np.testing.assert_allclose(np.asarray(result), a.astype(np.float64) @ b, 0, 1e-5)  # sums of 5 terms


GATHERS = {
    "Gather": "g (float[4,3] x, int64[N] i) => (float[N,3] y) { y = Gather(x, i) }",
    "Gather along the last axis": "g (float[4,3] x, int64[N] i) => (float[4,N] y) { y = Gather<axis = 1>(x, i) }",
    "GatherElements": "g (float[4,3] x, int64[N] i) => (float[N,1] y) "
    "{ a = Constant<value_ints = [1]>()  j = Unsqueeze(i, a)  y = GatherElements(x, j) }",
    "GatherND": "g (float[4,3] x, int64[N] i) => (float[N,3] y) "
    "{ a = Constant<value_ints = [1]>()  j = Unsqueeze(i, a)  y = GatherND(x, j) }",
    "ScatterElements": "g (float[4,3] x, int64[N] i) => (float[4,3] y) { a = Constant<value_ints = [1]>() "
    "j = Unsqueeze(i, a)  u = Cast<to = 1>(j)  y = ScatterElements(x, j, u) }",
    "ScatterND": "g (float[4,3] x, int64[1] i) => (float[4,3] y) { a = Constant<value_ints = [1]>()  b = Constant<value_ints = [0]>() "
    "j = Unsqueeze(i, a)  u = Constant<value_floats = [1.0, 2.0, 3.0]>()  v = Unsqueeze(u, b)  y = ScatterND(x, j, v) }",
}


def assert_indices_are_rejected(tested_model: Model) -> None:
    """Runs a program with each out-of-range index between guard pages: it sets the fault slot, and accesses nothing."""
    executable = compile_for_host(tested_model)
    assert any(isinstance(action, Step) for action in executable.program.actions), (
        "the operator has a lowering"
    )
    for index in INDICES:
        for at_end, checks in ((True, False), (False, False), (True, True)):
            feeds: dict[str, Array] = {"x": X, "i": np.array([index], np.int64)}
            result = run_guarded(executable, feeds, at_end=at_end, seed=0, checks=checks)
            assert result is None, f"index {index} must be rejected"


@pytest.mark.parametrize("name", GATHERS)
def test_an_out_of_range_index_is_not_accessed(name: str) -> None:
    assert exit_code_of(assert_indices_are_rejected, parse_model(GATHERS[name])) == 0


@pytest.mark.parametrize("name", GATHERS)
@pytest.mark.parametrize("index", [*INDICES, -4, 3, 0])
def test_an_index_is_rejected_as_by_the_reference_engine(name: str, index: int) -> None:
    feeds: dict[str, Array] = {"x": X, "i": np.array([index], np.int64)}
    native, reference = (sx.Session(parse_model(GATHERS[name]), engine=e) for e in ("native", "reference"))
    for _ in range(3):
        assert outcome(native, feeds) == outcome(reference, feeds)


BOUNDS = {
    "Slice": "g (float[4,3] x, int64[1] i, int64[1] j) => (float[A,B] y) { y = Slice(x, i, j) }",
    "TopK": "g (float[4,3] x, int64[1] i, int64[1] j) => (float[A,B] y, int64[A,B] p) { y, p = TopK<axis = 0>(x, i) }",
    "Tile": "g (float[4,3] x, int64[1] i, int64[1] j) => (float[A,B] y) { k = Concat<axis = 0>(i, j)  y = Tile(x, k) }",
    "Expand": "g (float[1,3] x, int64[1] i, int64[1] j) => (float[A,B] y) { y = Expand(x, i) }",
    "Reshape": "g (float[4,3] x, int64[1] i, int64[1] j) => (float[A,B] y) { k = Concat<axis = 0>(i, j)  y = Reshape(x, k) }",
}


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize("pair", [(0, 2), (-1, -9), (3, 4), (-3, -4), (2**62, -(2**62)), (1, 2**40)], ids=str)
def test_sizes_in_feeds_are_handled_as_by_the_reference_engine(name: str, pair: tuple[int, int]) -> None:
    x = X[:1] if name == "Expand" else X
    feeds: dict[str, Array] = {"x": x, "i": np.array(pair[:1], np.int64), "j": np.array(pair[1:], np.int64)}
    native, reference = (sx.Session(parse_model(BOUNDS[name]), engine=e) for e in ("native", "reference"))
    for _ in range(3):
        assert outcome(native, feeds) == outcome(reference, feeds)


def outcome(session: sx.Session, feeds: Mapping[str, Array]) -> object:
    """The results as lists, or the class and message of the error."""
    try:
        return {name: np.asarray(value).tolist() for name, value in session.run(feeds).items()}
    except SardonyxError as error:
        return type(error).__name__, str(error)
