"""Recurrent layers of constant weights are native, in every direction, from any first states."""

from __future__ import annotations

import numpy as np
import pytest

from compile import guarded
from compile.lane_widths import with_lanes
from compile.lowered import normal, runs
from models import model
from sardonyx._src.compile.rows.recurrence import GATES, Cell, Recurrence, recurrent
from sardonyx._src.compile.tensor import Storage
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import RunLimits
from sardonyx._src.runtime.limits import Unfit
from sardonyx._src.runtime.native import NativeProgram, compile_model

SIZE = 3  # of the inputs
KINDS = {"LSTM": 4, "GRU": 3, "RNN": 1}


def constant(name: str, array: Array) -> str:
    dims = ",".join(map(str, array.shape))
    return (
        f"{name} = Constant <value = float[{dims}] {{{', '.join(map(repr, array.reshape(-1).tolist()))}}}> ()"
    )


def layer(kind: str, hidden: int, direction: str, given: str = "", wanted: str = "y, h") -> str:
    """A layer whose weights are constants; first states and more come as further inputs."""
    count, rows = 2 if direction == "bidirectional" else 1, KINDS[kind] * hidden
    w, r, b = (
        normal(count, *dims, seed=i) / 3 for i, dims in enumerate(((rows, SIZE), (rows, hidden), (2 * rows,)))
    )
    more = "linear_before_reset = 1, " if kind == "GRU" else ""
    states = f"float[{count},B,{hidden}]"
    first = {"": "", "h": f", {states} h0", "c": f", {states} h0, {states} c0"}[given]
    taken = {"": "", "h": ", , h0", "c": ", , h0, c0"}[given]
    return f"""g (float[T,B,{SIZE}] x{first}) => (float[T,D,B,H] y, float[D,B,H] h) {{
      {constant("w", w)} {constant("r", r)} {constant("b", b)}
      {wanted} = {kind} <{more}direction = "{direction}", hidden_size = {hidden}> (x, w, r, b{taken})
    }}"""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("hidden", [1, 5, 16, 37])
def test_layers_of_any_direction(kind: str, direction: str, hidden: int) -> None:
    runs(
        layer(kind, hidden, direction),
        *({"x": normal(*dims, SIZE)} for dims in ((4, 2), (1, 1), (7, 5), (0, 2), (3, 9))),
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("direction", ["reverse", "bidirectional"])
def test_layers_begin_where_they_are_told(kind: str, direction: str) -> None:
    given = "c" if kind == "LSTM" else "h"
    count = 2 if direction == "bidirectional" else 1
    states = {f"{s}0": normal(count, 2, 6, seed=i) for i, s in enumerate("hc") if s == "h" or given == "c"}
    runs(layer(kind, 6, direction, given), {"x": normal(4, 2, SIZE), **states})


def test_first_states_of_another_batch_are_left_to_the_reference_engine() -> None:
    text = layer("RNN", 6, "forward", "h").replace("float[1,B,6] h0", "float[1,C,6] h0")
    runs(text, {"x": normal(4, 2, SIZE), "h0": normal(1, 2, 6)})
    program = NativeProgram(compile_model(model(text)), 1)
    with pytest.raises(Unfit):
        program.run({"x": normal(4, 2, SIZE), "h0": normal(1, 1, 6)}, RunLimits(), np.random.default_rng(0))


@pytest.mark.parametrize("wanted", ["unread, h", "unread, other, c"])
def test_results_that_nobody_wants_are_no_trouble(wanted: str) -> None:
    text = layer("LSTM", 6, "forward", wanted=wanted)
    last = wanted[-1]
    text = text.replace("(float[T,D,B,H] y, float[D,B,H] h) {", f"(float[D,B,H] {last}) {{")
    runs(text, {"x": normal(4, 2, SIZE)})


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
def test_a_gate_may_reset_the_state_before_its_product(direction: str) -> None:
    text = layer("GRU", 6, direction).replace("linear_before_reset = 1, ", "")
    assert "linear_before_reset" not in text
    runs(text, *({"x": normal(steps, batch, SIZE)} for steps, batch in [(4, 2), (1, 1), (3, 9), (0, 2)]))


def sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def walked(cell: Cell, given: Array, weights: Array, late: Array, h: Array, c: Array) -> tuple[Array, ...]:
    """The same in float64: y, last h, last c."""
    found = []
    for x in given.astype(np.float64):
        p = np.split(h @ weights.astype(np.float64), GATES[cell], 1)
        x = np.split(x, GATES[cell], 1)
        if cell == "lstm":
            i, o, f, n = (a + b for a, b in zip(x, p, strict=True))
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(n)
            h = sigmoid(o) * np.tanh(c)
        elif cell == "gru":
            z, r = sigmoid(x[0] + p[0]), sigmoid(x[1] + p[1])
            h = (1 - z) * np.tanh(x[2] + r * (p[2] + late)) + z * h
        elif cell == "reset_gru":
            z, r = sigmoid(x[0] + p[0]), sigmoid(x[1] + p[1])
            last = (r * h) @ np.split(weights.astype(np.float64), 3, 1)[2]
            h = (1 - z) * np.tanh(x[2] + last) + z * h
        else:
            h = np.tanh(x[0] + p[0])
        found.append(h)
    return np.array(found).reshape(len(given), *h.shape), h, c


@pytest.mark.parametrize("lanes", [1, 4, 8, 16])
@pytest.mark.parametrize("cell", list(GATES))
@pytest.mark.parametrize("hidden", [3, 21])
def test_the_kernel_stays_in_its_buffers_and_means_what_float64_does(
    lanes: int, cell: Cell, hidden: int
) -> None:
    length, batch, rows = 5, 6, GATES[cell] * hidden
    shapes = {
        "given": (length, batch, rows),
        "weights": (hidden, rows),
        "late": (hidden,),
        "h": (batch, hidden),
        "c": (batch, hidden),
    }
    made = {name: normal(*dims, seed=i) / 2 for i, (name, dims) in enumerate(shapes.items())}
    outs = {"y": (length, batch, hidden), "last_h": (batch, hidden), "last_c": (batch, hidden)}
    wanted = walked(cell, *made.values())
    made |= {name: np.zeros(dims, np.float32) for name, dims in outs.items()}
    tensors = {name: guarded.tensor(array, name) for name, array in made.items()}
    memory: dict[Storage, Array] = {storage: made[name] for name, (_, storage) in tensors.items()}
    given, weights, late, h, c, y, last_h, last_c = (tensor for tensor, _ in tensors.values())
    net = Recurrence(cell, given, weights, late, h, c, y, last_h, last_c, backward=False)
    guarded.run(with_lanes(recurrent(net), lanes), memory)
    for name, one in zip(outs, wanted, strict=True):
        if name != "last_c" or cell == "lstm":
            np.testing.assert_allclose(made[name], one, 1e-4, 1e-5)  # of some dozen float32 operations a step
