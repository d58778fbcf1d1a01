"""Memory of training steps: states reuse the memory of earlier ones, unless a caller holds them."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from sardonyx._src.ir import Tensor
from sardonyx._src.runtime.session.session import Engine

ENGINES = pytest.mark.parametrize("engine", ["reference", "native"])
X = np.ones((2, 3), np.float32)


def make_model() -> sx.Model:
    builder = sx.Builder(21)
    x = builder.input("x", sx.DataType.FLOAT, ["N", 3])
    w = builder.constant("w", np.arange(6, dtype=np.float32).reshape(3, 2))
    builder.output(builder.MatMul(x, w), "y", sx.Builder.tensor(sx.DataType.FLOAT, ["N", 2]))
    return sx.train.prepare(builder.model(), loss="mse", optimizer="sgd")


def open_session(engine: Engine) -> sx.TrainingSession:
    return sx.TrainingSession(make_model(), engine=engine)


FEEDS = {"x": X, "target": np.zeros((2, 2), np.float32)}


@ENGINES
def test_states_that_a_caller_holds_do_not_change(engine: Engine) -> None:
    session = open_session(engine)
    held = []
    for _ in range(6):
        session.step(FEEDS)
        held.append((session.state["w"], session.state["w"].copy()))
    for view, copy in held:
        np.testing.assert_array_equal(view, copy)


@ENGINES
def test_the_first_state_is_apart_from_the_model(engine: Engine, tmp_path: Path) -> None:
    """A file of a few bytes more or less, so that the tensor is aligned in some of them only."""
    for length in range(4):
        model = make_model()
        model.producer_name = "n" * (length + 1)
        sx.save(model, tmp_path / "m.onnx")
        session = sx.TrainingSession(tmp_path / "m.onnx", engine=engine)
        (initializer,) = (v.initializer for v in session.model.graph.initializers.values() if v.name == "w")
        assert isinstance(initializer, Tensor)
        assert session.state["w"].flags.aligned
        assert not np.shares_memory(session.state["w"], initializer.numpy())


def test_states_alternate_between_two_arrays() -> None:
    session = open_session("native")
    addresses = []
    for _ in range(8):
        session.step(FEEDS)
        addresses.append(session.state["w"].ctypes.data)
    assert len(set(addresses[3:])) == 2


@ENGINES
def test_states_begin_at_cache_lines(engine: Engine) -> None:
    """From the stored values on; those of the first two steps are where the engine puts its outputs."""
    session = open_session(engine)
    assert session.state["w"].ctypes.data % 64 == 0
    for _ in range(2):
        session.step(FEEDS)
    for _ in range(4):
        session.step(FEEDS)
        assert session.state["w"].ctypes.data % 64 == 0


@ENGINES
def test_results_that_a_caller_holds_do_not_change(engine: Engine) -> None:
    session = open_session(engine)
    held = []
    for _ in range(6):
        arrays = [value for value in session.step(FEEDS).values() if isinstance(value, np.ndarray)]
        held += [(array, array.copy()) for array in arrays]
    for array, copy in held:
        np.testing.assert_array_equal(array, copy)


@ENGINES
def test_a_step_that_fails_leaves_the_state(engine: Engine) -> None:
    session = open_session(engine)
    for _ in range(4):
        session.step(FEEDS)
    before = session.state["w"].copy()
    with pytest.raises(sx.InputError):
        session.step({"x": X})
    np.testing.assert_array_equal(session.state["w"], before)
    session.step(FEEDS)
    assert not np.array_equal(session.state["w"], before)


def test_early_steps_hold_two_states_at_most() -> None:
    builder = sx.Builder(21)
    w = builder.constant("w", np.ones((512, 1024), np.float32))
    builder.output(
        builder.ReduceMean(builder.Mul(w, builder.input("x", sx.DataType.FLOAT, [1]))),
        "y",
        sx.Builder.tensor(sx.DataType.FLOAT, [1, 1]),
    )
    model = sx.train.prepare(builder.model(), loss="mse", optimizer="sgd")
    session = sx.TrainingSession(model, engine="native")
    feeds = {"x": np.ones(1, np.float32), "target": np.zeros((1, 1), np.float32)}
    size = session.state["w"].nbytes
    tracemalloc.start()
    try:
        for _ in range(4):
            tracemalloc.reset_peak()
            session.step(feeds)
            assert tracemalloc.get_traced_memory()[1] < 3.5 * size  # two states and the gradient
    finally:
        tracemalloc.stop()
