"""No step of a program leaves its tensors, whatever the graph and the indices; each claim is tried in a process of its own."""

from __future__ import annotations

import multiprocessing
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pytest

import sardonyx as sx
from compile.guarded_programs import ran, stays_inside
from compile.random_layers import sample
from models import model
from sardonyx._src.compile.program import Program
from sardonyx._src.compile.step import Step
from sardonyx._src.errors import SardonyxError
from sardonyx._src.ir.graph import Model
from sardonyx._src.ir.tensors import Array
from sardonyx._src.runtime.native import compile_model

INDICES = (-(2**63), 2**63 - 1, -(2**31), 2**31, 2**62, -5, 4, 1_000_000)
X = np.arange(12, dtype=np.float32).reshape(4, 3)


def ended(work: Callable[..., None], *args: object) -> int:
    """How a process ends that does this: 0, or what went wrong."""
    process = multiprocessing.get_context("spawn").Process(target=work, args=args)
    process.start()
    process.join(300)
    assert process.exitcode is not None, "the process hangs"
    return process.exitcode


def graphs(first: int, count: int, lanes: int | None = None) -> None:
    for seed in range(first, first + count):
        sys.stderr.write(f"seed {seed}\n")
        stays_inside(sample(seed), lanes)


@pytest.mark.parametrize("first", [30_000, 40_000])
def test_steps_of_graphs_made_by_chance_stay_inside_of_what_they_declare(first: int) -> None:
    assert ended(graphs, first, 40) == 0, "the seed that was printed last leaves its tensors, or is wrong"


@pytest.mark.parametrize("lanes", [1, 4, 8])
def test_steps_of_narrow_vectors_stay_inside(lanes: int) -> None:
    assert ended(graphs, 50_000 + 100 * lanes, 12, lanes) == 0, "the seed that was printed last is wrong"


def undeclared() -> None:
    """Runs a program one of whose steps does not say what it reads."""
    ran(silent(), {"x": np.ones(4, np.float32)}, at_end=True, seed=0)


def silent() -> Program:
    program = compile_model(model("g (float[4] x) => (float[4] y) { y = Relu(x) }"))
    program.actions = [replace(one, reads=()) if isinstance(one, Step) else one for one in program.actions]
    return program


def test_a_step_that_reads_what_it_does_not_declare_is_told_by_the_checked_build() -> None:
    with pytest.raises(AssertionError, match="is outside of what"):
        ran(silent(), {"x": np.ones(4, np.float32)}, at_end=True, seed=0, checks=True)


def test_a_step_that_reads_what_it_does_not_declare_ends_the_process() -> None:
    assert ended(undeclared) == -signal.SIGSEGV


def test_views_of_nothing_may_begin_behind_its_end() -> None:
    text = "g (float[N,4] x) => (float[N,2] y) { a = Constant<value_ints = [2]>()  b = Constant<value_ints = [4]>() "
    text += "c = Constant<value_ints = [1]>()  s = Slice(x, a, b, c)  z = Constant<value_int = 1>()  y = CumSum(s, z) }"
    found = sx.Session(model(text), engine="native").run({"x": np.zeros((0, 4), np.float32)})["y"]
    assert np.asarray(found).shape == (0, 2)


@pytest.mark.parametrize("operator", ["MaxPool<kernel_shape = [2, 2]>", "AveragePool<kernel_shape = [2, 2]>"])
def test_images_of_any_number_of_channels_are_pooled(operator: str) -> None:
    made = model(f"g (float[N,C,H,W] x) => (float[N,C,P,Q] y) {{ y = {operator}(x) }}")
    native, reference = (sx.Session(made, engine=e) for e in ("native", "reference"))
    for shape in ((1, 3, 4, 5), (2, 17, 3, 2), (2, 0, 3, 2)):
        x = np.random.default_rng(1).standard_normal(shape, np.float32)
        found, wanted = (np.asarray(one.run({"x": x})["y"]) for one in (native, reference))
        np.testing.assert_allclose(found, wanted, 1e-6)


LAYERS = {
    "Conv": "w = Constant<value = float[3,3,1,1] {1,2,3,4,5,6,7,8,9}>()  r = Conv(x, w)",
    "Resize": "s = Constant<value_floats = [1.0, 1.0, 1.0, 1.0]>()  h = Constant<value_floats = [1.0, 1.0, 0.5, 2.0]>() "
    "t = Resize(x, , h)  u = Constant<value_floats = [1.0, 1.0, 2.0, 0.5]>()  r = Resize(t, , u)",
    "MaxPool": "r = MaxPool<kernel_shape = [1, 1]>(x)",
}


@pytest.mark.parametrize("dims", ["3,4,6", "4,6", "3,1,1", "1,3,4,6", "6"])
@pytest.mark.parametrize("layer", LAYERS)
def test_images_beside_operands_of_fewer_dims(layer: str, dims: str) -> None:
    """Three dims of an operand beside an image are its channels, height and width."""
    made = model(
        f"g (float[1,3,4,6] x, float[{dims}] c) => (float[1,3,4,6] y) {{ {LAYERS[layer]}  y = Mul(r, c) }}"
    )
    draw = np.random.default_rng(1)
    fed: dict[str, Array] = {"x": draw.standard_normal((1, 3, 4, 6), np.float32)}
    fed["c"] = draw.standard_normal([int(d) for d in dims.split(",")], np.float32)
    wanted = np.asarray(sx.Session(made, engine="reference").run(fed)["y"])
    for checks in (False, True):
        found = ran(compile_model(made), fed, at_end=True, seed=0, checks=checks)
        assert found is not None
        np.testing.assert_allclose(found["y"], wanted, 1e-5, 1e-5)


@pytest.mark.parametrize("other", ["A,B,C,5,6", "5,6", "1,B,1,5,6"])
def test_batches_of_many_open_dims_are_multiplied(other: str) -> None:
    text = "g (float[A,B,C,4,5] a, float[%s] b) => (float[A,B,C,4,6] y) { t = Transpose<perm = [2, 0, 1, 3, 4]>(a) "
    text += "u = Transpose<perm = [1, 2, 0, 3, 4]>(t)  y = MatMul(u, b) }"
    sizes = {"A": 2, "B": 3, "C": 2}
    draw = np.random.default_rng(1)
    a, b = (
        draw.standard_normal([sizes.get(d) or int(d) for d in dims.split(",")], np.float32)
        for dims in ("A,B,C,4,5", other)
    )
    found = sx.Session(model(text % other), engine="native").run({"a": a, "b": b})["y"]
    np.testing.assert_allclose(np.asarray(found), a.astype(np.float64) @ b, 0, 1e-5)  # sums of 5 terms


PICKS = {
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


def indices(made: Model) -> None:
    """Runs a program that picks by each bad index, guarded: it notes the index, and touches nothing."""
    program = compile_model(made)
    assert any(isinstance(one, Step) for one in program.actions), "the operator has a lowering"
    for index in INDICES:
        for at_end, checks in ((True, False), (False, False), (True, True)):
            fed: dict[str, Array] = {"x": X, "i": np.array([index], np.int64)}
            found = ran(program, fed, at_end=at_end, seed=0, checks=checks)
            assert found is None, f"index {index} is taken"


@pytest.mark.parametrize("name", PICKS)
def test_an_index_out_of_range_touches_nothing(name: str) -> None:
    assert ended(indices, model(PICKS[name])) == 0


@pytest.mark.parametrize("name", PICKS)
@pytest.mark.parametrize("index", [*INDICES, -4, 3, 0])
def test_an_index_is_refused_as_the_reference_engine_does(name: str, index: int) -> None:
    fed: dict[str, Array] = {"x": X, "i": np.array([index], np.int64)}
    native, reference = (sx.Session(model(PICKS[name]), engine=e) for e in ("native", "reference"))
    for _ in range(3):
        assert said(native, fed) == said(reference, fed)


BOUNDS = {
    "Slice": "g (float[4,3] x, int64[1] i, int64[1] j) => (float[A,B] y) { y = Slice(x, i, j) }",
    "TopK": "g (float[4,3] x, int64[1] i, int64[1] j) => (float[A,B] y, int64[A,B] p) { y, p = TopK<axis = 0>(x, i) }",
    "Tile": "g (float[4,3] x, int64[1] i, int64[1] j) => (float[A,B] y) { k = Concat<axis = 0>(i, j)  y = Tile(x, k) }",
    "Expand": "g (float[1,3] x, int64[1] i, int64[1] j) => (float[A,B] y) { y = Expand(x, i) }",
    "Reshape": "g (float[4,3] x, int64[1] i, int64[1] j) => (float[A] y) { k = Concat<axis = 0>(i, j)  y = Reshape(x, k) }",
}


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize("pair", [(0, 2), (-1, -9), (3, 4), (-3, -4), (2**62, -(2**62)), (1, 2**40)], ids=str)
def test_sizes_that_are_fed_mean_what_they_mean_to_the_reference_engine(
    name: str, pair: tuple[int, int]
) -> None:
    x = X[:1] if name == "Expand" else X
    fed: dict[str, Array] = {"x": x, "i": np.array(pair[:1], np.int64), "j": np.array(pair[1:], np.int64)}
    native, reference = (sx.Session(model(BOUNDS[name]), engine=e) for e in ("native", "reference"))
    for _ in range(3):
        assert said(native, fed) == said(reference, fed)


def said(session: sx.Session, fed: Mapping[str, Array]) -> object:
    """The results as lists, or the error."""
    try:
        return {name: np.asarray(value).tolist() for name, value in session.run(fed).items()}
    except SardonyxError as error:
        return type(error).__name__, str(error)
