"""LSTM, GRU and RNN with constant weights: native in every direction, with and without initial states."""

from __future__ import annotations

import numpy as np
import pytest

from compile import guarded
from compile.lane_widths import with_lanes
from compile.reference_comparison import assert_matches_reference, normal
from models import parse_model
from sardonyx._src.compile.kernels.recurrent.cells import GATE_COUNTS, CellKind
from sardonyx._src.compile.kernels.recurrent.recurrence import RecurrentDirection, recurrence_step
from sardonyx._src.compile.program.tensor import Buffer
from sardonyx._src.interp.run_state import RandomSource
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import RunLimits
from sardonyx._src.runtime.native_program import NativeProgram, compile_for_host
from sardonyx._src.runtime.run_limits import Bailout

SIZE = 3  # of the inputs
KINDS = {"LSTM": 4, "GRU": 3, "RNN": 1}


def constant(name: str, array: Array) -> str:
    dims = ",".join(map(str, array.shape))
    return (
        f"{name} = Constant <value = float[{dims}] {{{', '.join(map(repr, array.reshape(-1).tolist()))}}}> ()"
    )


def layer(kind: str, hidden: int, direction: str, initial: str = "", outputs: str = "y, h") -> str:
    """A layer with constant weights; initial states are inputs of the graph."""
    count, rows = 2 if direction == "bidirectional" else 1, KINDS[kind] * hidden
    w, r, b = (
        normal(count, *dims, seed=i) / 3 for i, dims in enumerate(((rows, SIZE), (rows, hidden), (2 * rows,)))
    )
    attribute_text = "linear_before_reset = 1, " if kind == "GRU" else ""
    states = f"float[{count},B,{hidden}]"
    initial_inputs = {"": "", "h": f", {states} h0", "c": f", {states} h0, {states} c0"}[initial]
    operands = {"": "", "h": ", , h0", "c": ", , h0, c0"}[initial]
    return f"""g (float[T,B,{SIZE}] x{initial_inputs}) => (float[T,D,B,H] y, float[D,B,H] h) {{
      {constant("w", w)} {constant("r", r)} {constant("b", b)}
      {outputs} = {kind} <{attribute_text}direction = "{direction}", hidden_size = {hidden}> (x, w, r, b{operands})
    }}"""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("hidden", [1, 5, 16, 37])
def test_layers_in_every_direction(kind: str, direction: str, hidden: int) -> None:
    assert_matches_reference(
        layer(kind, hidden, direction),
        *({"x": normal(*dims, SIZE)} for dims in ((4, 2), (1, 1), (7, 5), (0, 2), (3, 9))),
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("direction", ["reverse", "bidirectional"])
def test_layers_with_initial_states(kind: str, direction: str) -> None:
    initial = "c" if kind == "LSTM" else "h"
    count = 2 if direction == "bidirectional" else 1
    states = {f"{s}0": normal(count, 2, 6, seed=i) for i, s in enumerate("hc") if s == "h" or initial == "c"}
    assert_matches_reference(layer(kind, 6, direction, initial), {"x": normal(4, 2, SIZE), **states})


def test_initial_states_of_another_batch_bail_out() -> None:
    text = layer("RNN", 6, "forward", "h").replace("float[1,B,6] h0", "float[1,C,6] h0")
    assert_matches_reference(text, {"x": normal(4, 2, SIZE), "h0": normal(1, 2, 6)})
    program = NativeProgram(compile_for_host(parse_model(text)), 1)
    with pytest.raises(Bailout):
        program.run({"x": normal(4, 2, SIZE), "h0": normal(1, 1, 6)}, RunLimits(), RandomSource(0))


@pytest.mark.parametrize("outputs", ["unread, h", "unread, other, c"])
def test_outputs_may_be_unused(outputs: str) -> None:
    text = layer("LSTM", 6, "forward", outputs=outputs)
    last = outputs[-1]
    text = text.replace("(float[T,D,B,H] y, float[D,B,H] h) {", f"(float[D,B,H] {last}) {{")
    assert_matches_reference(text, {"x": normal(4, 2, SIZE)})


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
def test_gru_with_a_reset_before_the_product(direction: str) -> None:
    text = layer("GRU", 6, direction).replace("linear_before_reset = 1, ", "")
    assert "linear_before_reset" not in text
    assert_matches_reference(
        text, *({"x": normal(steps, batch, SIZE)} for steps, batch in [(4, 2), (1, 1), (3, 9), (0, 2)])
    )


def sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def reference_recurrence(
    cell: CellKind, projections: Array, weights: Array, hidden_bias: Array, h: Array, c: Array
) -> tuple[Array, ...]:
    """The recurrence in float64: y, last h, last c."""
    states = []
    for x in projections.astype(np.float64):
        p = np.split(h @ weights.astype(np.float64), GATE_COUNTS[cell], 1)
        x = np.split(x, GATE_COUNTS[cell], 1)
        if cell == "lstm":
            i, o, f, n = (a + b for a, b in zip(x, p, strict=True))
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(n)
            h = sigmoid(o) * np.tanh(c)
        elif cell == "gru":
            z, r = sigmoid(x[0] + p[0]), sigmoid(x[1] + p[1])
            h = (1 - z) * np.tanh(x[2] + r * (p[2] + hidden_bias)) + z * h
        elif cell == "reset_gru":
            z, r = sigmoid(x[0] + p[0]), sigmoid(x[1] + p[1])
            last = (r * h) @ np.split(weights.astype(np.float64), 3, 1)[2]
            h = (1 - z) * np.tanh(x[2] + last) + z * h
        else:
            h = np.tanh(x[0] + p[0])
        states.append(h)
    return np.array(states).reshape(len(projections), *h.shape), h, c


@pytest.mark.parametrize("lanes", [1, 4, 8, 16])
@pytest.mark.parametrize("cell", list(GATE_COUNTS))
@pytest.mark.parametrize("hidden", [3, 21])
def test_the_kernel_stays_in_bounds_and_matches_float64(lanes: int, cell: CellKind, hidden: int) -> None:
    length, batch, rows = 5, 6, GATE_COUNTS[cell] * hidden
    shapes = {
        "projections": (length, batch, rows),
        "weights": (hidden, rows),
        "hidden_bias": (hidden,),
        "h": (batch, hidden),
        "c": (batch, hidden),
    }
    arrays = {name: normal(*dims, seed=i) / 2 for i, (name, dims) in enumerate(shapes.items())}
    output_shapes = {"y": (length, batch, hidden), "last_h": (batch, hidden), "last_c": (batch, hidden)}
    outputs = reference_recurrence(cell, *arrays.values())
    arrays |= {name: np.zeros(dims, np.float32) for name, dims in output_shapes.items()}
    tensors = {name: guarded.tensor(array, name) for name, array in arrays.items()}
    buffers: dict[Buffer, Array] = {buffer: arrays[name] for name, (_, buffer) in tensors.items()}
    projections, weights, hidden_bias, h, c, y, last_h, last_c = (tensor for tensor, _ in tensors.values())
    direction = RecurrentDirection(
        cell, projections, weights, hidden_bias, h, c, y, last_h, last_c, backward=False
    )
    guarded.run(with_lanes(recurrence_step(direction), lanes), buffers)
    for name, expected_output in zip(output_shapes, outputs, strict=True):
        if name != "last_c" or cell == "lstm":
            np.testing.assert_allclose(
                arrays[name], expected_output, 1e-4, 1e-5
            )  # of some dozen float32 operations a step
