"""Training sessions: initialization, steps, inference, state and checkpoints of models with training information."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from sardonyx._src.ir import Array
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.runtime.session.session import Engine
from train.training_texts import DESCENT, MOMENTUM, PAIR, REGRESSION, SWAP, start_text, training_text

ENGINES: tuple[Engine, ...] = ("reference", "native")
DRAW = np.random.default_rng(3)
X = DRAW.standard_normal((32, 3)).astype(np.float32)
T = (X @ np.array([[1.0], [-2.0], [0.5]], np.float32) + 0.25).astype(np.float32)
FEEDS = {"x": X, "t": T}


def model(*steps: str, graph: str = REGRESSION) -> sx.Model:
    return sx.from_text(training_text(graph, steps))


def tensors(results: Mapping[str, RuntimeValue]) -> dict[str, Array]:
    return {name: value for name, value in results.items() if isinstance(value, np.ndarray)}


def descend(w: Array, b: Array) -> tuple[Array, Array, float]:
    """A step of gradient descent, as REGRESSION and DESCENT define it, in NumPy."""
    error = X @ w + b - T
    slope = 2 * error / len(error)
    loss = float((error * error).mean())
    return w - np.float32(0.1) * (X.T @ slope), b - np.float32(0.1) * slope.sum(0), loss


@pytest.mark.parametrize("engine", ENGINES)
def test_steps_descend_as_numpy_does(engine: Engine) -> None:
    session = sx.TrainingSession(model(DESCENT), engine=engine)
    w, b = np.zeros((3, 1), np.float32), np.zeros(1, np.float32)
    for count in range(1, 6):
        results = tensors(session.step(FEEDS))
        w, b, loss = descend(w, b)
        assert float(results["loss"]) == pytest.approx(loss, rel=1e-5)
        np.testing.assert_allclose(session.state["w"], w, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(session.state["b"], b, rtol=1e-4, atol=1e-6)
        assert session.state["count"] == count


@pytest.mark.parametrize("engine", ENGINES)
def test_initialization_assigns_its_outputs(engine: Engine) -> None:
    session = sx.TrainingSession(model(DESCENT), engine=engine)
    np.testing.assert_array_equal(session.state["w"], np.zeros((3, 1)))
    session.initialize()
    drawn = np.random.RandomState(7).normal(size=(3, 1)).astype(np.float32)
    np.testing.assert_allclose(session.state["w"], drawn, rtol=1e-6)
    np.testing.assert_array_equal(session.state["b"], [0.5])
    assert session.state["count"] == 0


@pytest.mark.parametrize("engine", ENGINES)
def test_initializations_of_several_steps_run_in_their_order(engine: Engine) -> None:
    starts = [{"a": (5, 6), "b": (7, 8)}, {"b": (9, 10)}, {"a": (11, 12)}]
    for order, expected in (
        ((0, 1, 2), {"a": (11, 12), "b": (9, 10)}),
        ((2, 0, 1), {"a": (5, 6), "b": (9, 10)}),
        ((2, 1, 0), {"a": (5, 6), "b": (7, 8)}),
    ):
        session = sx.TrainingSession(
            model(*(start_text(starts[i]) for i in order), graph=PAIR), engine=engine
        )
        session.initialize()
        assert {name: tuple(value) for name, value in session.state.items()} == expected
        np.testing.assert_array_equal(session.infer()["sum"], np.add(expected["a"], expected["b"]))


@pytest.mark.parametrize("engine", ENGINES)
def test_inference_uses_the_state_and_keeps_it(engine: Engine) -> None:
    session = sx.TrainingSession(model(DESCENT), engine=engine)
    session.step(FEEDS)
    before = dict(session.state)
    y = tensors(session.infer({"x": X}))["y"]
    np.testing.assert_allclose(y, X @ before["w"] + before["b"], rtol=1e-5, atol=1e-6)
    assert all(session.state[name] is value for name, value in before.items())


@pytest.mark.parametrize("engine", ENGINES)
def test_all_updates_are_assigned_at_once(engine: Engine) -> None:
    session = sx.TrainingSession(model(SWAP, graph=PAIR), engine=engine)
    session.step()
    np.testing.assert_array_equal(session.state["a"], [3, 4])
    np.testing.assert_array_equal(session.state["b"], [1, 2])


@pytest.mark.parametrize("engine", ENGINES)
def test_outputs_of_the_inference_graph_can_be_left_out(engine: Engine) -> None:
    whole, part = (sx.TrainingSession(model(DESCENT), engine=engine) for _ in range(2))
    for _ in range(2):
        all_results = tensors(whole.step(FEEDS))
        results = tensors(part.step(FEEDS, inference_outputs=False))
    assert all_results.keys() - results.keys() == {"y"}
    for name, value in results.items():
        np.testing.assert_allclose(value, all_results[name], rtol=1e-5, atol=1e-7)


NUMERIC = "float float16 bfloat16 double int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool int4 uint4 float8e4m3fn float8e5m2"


@pytest.mark.parametrize("dtype", NUMERIC.split())
def test_states_of_every_element_type(dtype: str, tmp_path: Path) -> None:
    """The states of SWAP change places, in memory and in a checkpoint; two elements of 4 bits are one number of the text."""
    a, b = ("1", "16") if dtype.endswith("int4") else ("1, 0", "0, 1")
    graph = f"pair () => ({dtype}[2] first) <{dtype}[2] a = {{{a}}}, {dtype}[2] b = {{{b}}}> {{ first = Identity(a) }}"
    text = training_text(graph, [SWAP.replace("float[2]", f"{dtype}[2]")]).replace('"": 18', '"": 21')
    session = sx.TrainingSession(sx.from_text(text), engine="reference")
    before = dict(session.state)
    session.step()
    assert session.state["a"].dtype == before["b"].dtype
    assert session.state["a"].tobytes() == before["b"].tobytes() != session.state["b"].tobytes()
    session.save(tmp_path / "checkpoint.onnx")
    resumed = sx.TrainingSession(tmp_path / "checkpoint.onnx", engine="reference")
    assert {n: v.tobytes() for n, v in resumed.state.items()} == {
        n: v.tobytes() for n, v in session.state.items()
    }
    assert tensors(resumed.infer())["first"].tobytes() == before["b"].tobytes()


@pytest.mark.parametrize("engine", ENGINES)
def test_several_steps_share_the_state_and_run_in_any_order(engine: Engine) -> None:
    mixed = sx.TrainingSession(model(DESCENT, MOMENTUM), engine=engine)
    assert mixed.steps == 2
    mixed.step(FEEDS, index=1)
    after_momentum = mixed.state["w"]
    velocity = mixed.state["v"]
    mixed.step(FEEDS, index=0)
    assert mixed.state["v"] is velocity
    expected, _, _ = descend(after_momentum, np.zeros(1, np.float32))
    np.testing.assert_allclose(mixed.state["w"], expected, rtol=1e-4, atol=1e-6)
    other = sx.TrainingSession(model(DESCENT, MOMENTUM), engine=engine)
    other.step(FEEDS, index=0)
    other.step(FEEDS, index=1)
    assert not np.allclose(other.state["w"], mixed.state["w"])


@pytest.mark.parametrize("engine", ENGINES)
def test_a_checkpoint_continues_with_equal_bits(engine: Engine, tmp_path: Path) -> None:
    session = sx.TrainingSession(model(DESCENT, MOMENTUM), engine=engine)
    session.initialize()
    for index in (0, 1, 1):
        session.step(FEEDS, index)
    session.save(tmp_path / "checkpoint.onnx")
    assert sx.check(tmp_path / "checkpoint.onnx").ok
    resumed = sx.TrainingSession(tmp_path / "checkpoint.onnx", engine=engine)
    for index in (1, 0, 1):
        session.step(FEEDS, index)
        resumed.step(FEEDS, index)
    assert session.state.keys() == resumed.state.keys() == {"w", "b", "count", "v"}
    for name, value in session.state.items():
        assert value.tobytes() == resumed.state[name].tobytes(), name


def test_a_checkpoint_leaves_the_model_of_the_caller() -> None:
    source = model(DESCENT)
    before = sx.to_text(source)
    session = sx.TrainingSession(source, engine="reference")
    session.step(FEEDS)
    checkpoint = session.checkpoint()
    assert sx.to_text(source) == before
    assert sx.to_text(checkpoint) != before
    session.step(FEEDS)
    assert sx.TrainingSession(checkpoint, engine="reference").state["count"] == 1


def test_a_failing_step_leaves_the_state() -> None:
    session = sx.TrainingSession(model(DESCENT), engine="reference")
    before = dict(session.state)
    with pytest.raises(sx.InputError, match="no value for input"):
        session.step({"x": X})
    with pytest.raises(sx.InputError, match="'w' is a state variable, which cannot be fed"):
        session.step({**FEEDS, "w": np.zeros((3, 1), np.float32)})
    with pytest.raises(sx.InputError, match=r"index must be in 0 to 0; got 1"):
        session.step(FEEDS, index=1)
    assert all(session.state[name] is value for name, value in before.items())


def test_an_update_must_have_the_type_of_the_state() -> None:
    wrong = SWAP.replace("from_a = Identity(a)", "c = Cast<to = 11>(a) from_a = Concat<axis = 0>(c, c)")
    session = sx.TrainingSession(model(wrong.replace("float[2] from_a", "double[4] from_a"), graph=PAIR))
    with pytest.raises(sx.OutputError, match=r"state variable 'b' must be float32\[2\]; got float64\[4\]"):
        session.step()
    np.testing.assert_array_equal(session.state["a"], [1, 2])


def test_the_state_cannot_be_written_to() -> None:
    session = sx.TrainingSession(model(SWAP, graph=PAIR))
    with pytest.raises(ValueError, match="read-only"):
        session.state["a"][0] = 1
    with pytest.raises(TypeError):
        session.state["a"] = np.zeros(2)  # type: ignore[index]  # which is what the test is about


def test_a_model_without_training_information_is_refused() -> None:
    with pytest.raises(sx.InputError, match="must have training information"):
        sx.TrainingSession(sx.from_text(f'<ir_version: 10, opset_import: ["": 18]> {PAIR}'))


def test_a_plain_session_ignores_training_information() -> None:
    out = tensors(sx.Session(model(DESCENT)).run({"x": X}))
    np.testing.assert_array_equal(out["y"], np.zeros((32, 1)))
