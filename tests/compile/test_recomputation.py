"""Recomputation of activations: equal results in less memory, for chains, branches, loops and shared values."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.pipeline import compile_model
from sardonyx._src.compile.program.encoding.executable import Executable
from sardonyx._src.compile.program.memory.recomputation import (
    METADATA_KEY,
    MemoryGoal,
    live_bytes,
    peak_bytes,
)
from sardonyx._src.grad.runnable import without_gradient_nodes
from sardonyx._src.ir import Array
from sardonyx._src.train.training_models import algorithm_model, state_values

ROWS, WIDTH, DEPTH = 64, 32, 16


def perceptron(depth: int = DEPTH, rows: str = str(ROWS)) -> sx.Model:
    """Square layers with tanh, of equal sizes."""
    draw = np.random.default_rng(5)
    layers = "".join(
        f"p{i} = MatMul(h{i}, w{i}) h{i + 1} = {'Softsign' if i % 2 else 'Tanh'}(p{i}) " for i in range(depth)
    )
    zeros = ", ".join(f"float[{WIDTH},{WIDTH}] w{i}" for i in range(depth))
    text = f"g (float[{rows},{WIDTH}] h0, {zeros}) => (float[{rows},{WIDTH}] y) {{ {layers} y = Identity(h{depth}) }}"
    model = parse_model(text, opset=21)
    for i in range(depth):
        weight = model.graph.value(f"w{i}")
        model.graph.remove_input(weight)
        data = draw.normal(size=(WIDTH, WIDTH)).astype(np.float32) / np.float32(WIDTH**0.5)
        weight.initializer = sx.Tensor.of(data, name=f"w{i}")
        model.graph.add_initializer(weight)
    return sx.train.prepare(model, loss="mse", optimizer="adam")


def batch() -> dict[str, Array]:
    draw = np.random.default_rng(6)
    return {name: draw.normal(size=(ROWS, WIDTH)).astype(np.float32) for name in ("h0", "target")}


def compiled(model: sx.Model, goal: object) -> Executable:
    step = algorithm_model(model, model.training[0], state_values(model), inference_outputs=False)
    if goal is not None:
        step.metadata[METADATA_KEY] = str(goal)
    return compile_model(without_gradient_nodes(step), host_target(), verify=True)


def activations(executable: Executable) -> int:
    return peak_bytes(executable.program)


@pytest.mark.parametrize("rows", [str(ROWS), "N"])
def test_a_deep_network_needs_less_memory(rows: str) -> None:
    model = perceptron(rows=rows)
    plain, less = compiled(model, None), compiled(model, "auto")
    assert activations(less) < 0.7 * activations(plain)
    assert len(less.program.actions) > len(plain.program.actions)
    if less.program.is_static:
        assert less.plan.size < 0.7 * plain.plan.size


def test_memory_grows_more_slowly_than_depth() -> None:
    sizes = {depth: activations(compiled(perceptron(depth), "auto")) for depth in (8, 32)}
    assert sizes[32] < 2.5 * sizes[8]


def test_a_number_of_bytes_is_reached_with_few_operations() -> None:
    model = perceptron()
    plain, least = compiled(model, None), compiled(model, 1)
    middle = (activations(plain) + activations(least)) // 2
    between = compiled(model, middle)
    assert activations(least) < activations(between) <= middle < activations(plain)
    assert len(plain.program.actions) < len(between.program.actions) <= len(least.program.actions)
    assert len(compiled(model, 10**9).program.actions) == len(plain.program.actions)


@pytest.mark.parametrize("goal", ["auto", 1])
def test_losses_and_states_have_equal_bits(goal: MemoryGoal) -> None:
    model = perceptron()
    sessions = [
        sx.TrainingSession(model, engine="native"),
        sx.TrainingSession(model, engine="native", checkpointing=goal),
    ]
    for _ in range(4):
        losses = [session.step(batch())["loss"] for session in sessions]
        assert np.array_equal(*losses)  # type: ignore[arg-type]
    for name, array in sessions[0].state.items():
        np.testing.assert_array_equal(sessions[1].state[name], array)


def test_the_goal_is_part_of_a_prepared_model() -> None:
    model = perceptron(4)
    prepared = sx.train.prepare(sx.train.without_training(model), loss="mse", checkpointing=4096)
    assert prepared.metadata[METADATA_KEY] == "4096"
    assert METADATA_KEY not in sx.train.without_training(prepared).metadata


LSTM = """g (float[T,2,8] x) => (float[2,6] y) <float[1,24,8] w, float[1,24,6] r> {
  a = Tanh(x) b = Softsign(a) all, last, cell = LSTM<hidden_size = 6>(b, w, r) axis = Constant<value_ints = [0]>() y = Squeeze(last, axis) }"""


def test_loops_are_not_divided() -> None:
    draw = np.random.default_rng(7)
    text = LSTM.replace("<float[1,24,8] w, float[1,24,6] r>", "")
    model = parse_model(text.replace("x)", "x, float[1,24,8] w, float[1,24,6] r)", 1), opset=21)
    for name, shape in (("w", (1, 24, 8)), ("r", (1, 24, 6))):
        value = model.graph.value(name)
        model.graph.remove_input(value)
        value.initializer = sx.Tensor.of(draw.normal(size=shape).astype(np.float32), name=name)
        model.graph.add_initializer(value)
    training = sx.train.prepare(model, loss="mse", optimizer="sgd")
    feeds = {"x": draw.normal(size=(200, 2, 8)).astype(np.float32), "target": np.zeros((2, 6), np.float32)}
    sessions = [sx.TrainingSession(training, engine="native", checkpointing=goal) for goal in (None, 1)]
    for _ in range(3):
        losses = [session.step(feeds)["loss"] for session in sessions]
        assert np.array_equal(*losses)  # type: ignore[arg-type]


def test_live_bytes_end_with_the_program() -> None:
    program = compiled(perceptron(2), None).program
    live = live_bytes(program)
    assert len(live) == len(program.actions) and max(live) == peak_bytes(program) > live[-1]


@pytest.mark.parametrize("goal", ["least", 0, -1, 1.5])
def test_other_goals_are_refused(goal: object) -> None:
    for function in (sx.train.prepare, sx.TrainingSession):
        with pytest.raises((sx.InputError, TypeError), match="checkpointing"):
            function(perceptron(1), checkpointing=goal)  # type: ignore[arg-type]
