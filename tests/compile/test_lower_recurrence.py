"""LSTM, GRU and RNN are native in every direction, with and without initial states; their kernel stays in bounds."""

from __future__ import annotations

import numpy as np
import pytest

from compile import guarded
from compile.lane_widths import with_lanes
from compile.reference_comparison import assert_matches_reference, normal
from models import parse_model
from sardonyx._src.compile.kernels.recurrent.operands import RecurrentOperands
from sardonyx._src.compile.kernels.recurrent.packed_weights import pack_weights
from sardonyx._src.compile.kernels.recurrent.recurrence import recurrence_step
from sardonyx._src.compile.kernels.recurrent.variant import (
    GATE_COUNTS,
    PHASES,
    CellKind,
    RecurrenceVariant,
)
from sardonyx._src.compile.program.tensor import Buffer
from sardonyx._src.interp.run_state import RandomSource
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import RunLimits
from sardonyx._src.ops.nn.recurrent_activations import choose_activations
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


# f, g and h of a cell, whose defaults they are
ACTIVATIONS = {"lstm": "Sigmoid Tanh Tanh", "gru": "Sigmoid Tanh", "reset_gru": "Sigmoid Tanh", "rnn": "Tanh"}


def reference_step(
    cell: CellKind, x: Array, weights: Array, hidden_bias: Array, states: list[Array]
) -> list[Array]:
    """The next states of a cell in float64; x: [batch, gates * hidden]; weights: [hidden, gates * hidden]."""
    h = states[0]
    gates = np.split(x, GATE_COUNTS[cell], 1)
    products = np.split(h @ weights, GATE_COUNTS[cell], 1)
    if cell == "lstm":
        i, o, f, n = (a + b for a, b in zip(gates, products, strict=True))
        c = sigmoid(f) * states[1] + sigmoid(i) * np.tanh(n)
        return [sigmoid(o) * np.tanh(c), c]
    if cell == "rnn":
        return [np.tanh(gates[0] + products[0])]
    z, r = (sigmoid(a + b) for a, b in zip(gates[:2], products[:2], strict=True))
    gated, reset = r * (products[2] + hidden_bias), (r * h) @ np.split(weights, 3, 1)[2]
    last = gated if cell == "gru" else reset
    return [(1 - z) * np.tanh(gates[2] + last) + z * h]


def reference_recurrence(cell: CellKind, arrays: dict[str, Array], lengths: Array) -> dict[str, Array]:
    """y, last_h and last_c in float64 of two directions, the second one backward."""
    wide = {name: array.astype(np.float64) for name, array in arrays.items()}
    names = ("h", "c") if cell == "lstm" else ("h",)
    results = {"y": np.zeros((2, *wide["input_gates"].shape[1:3], wide["h"].shape[2]))}
    results |= {f"last_{name}": wide[name].copy() for name in names}
    for d in range(2):
        for sequence, length in enumerate(lengths):
            states = [wide[name][d, sequence : sequence + 1] for name in names]
            for t in range(length) if d == 0 else reversed(range(length)):
                x = wide["input_gates"][d, t, sequence : sequence + 1]
                states = reference_step(cell, x, wide["weights"][d], wide["hidden_bias"][d], states)
                results["y"][d, t, sequence] = states[0]
            for name, state in zip(names, states, strict=True):
                results[f"last_{name}"][d, sequence] = state
    return results


@pytest.mark.parametrize("lanes", [1, 4, 8, 16])
@pytest.mark.parametrize("cell", list(GATE_COUNTS))
@pytest.mark.parametrize("hidden", [3, 21])
def test_the_kernel_stays_in_bounds_and_matches_float64(lanes: int, cell: CellKind, hidden: int) -> None:
    assert_kernel_matches(lanes, cell, hidden, batch=6, lengths=np.array([5, 0, 3, 5, 1, 4], np.int32))


@pytest.mark.parametrize("batch", [1, 3, 9])
def test_the_kernel_matches_float64_for_any_batch(batch: int) -> None:
    assert_kernel_matches(16, "lstm", 40, batch, lengths=None)


def assert_kernel_matches(lanes: int, cell: CellKind, hidden: int, batch: int, lengths: Array | None) -> None:
    """Asserts that a kernel for this number of lanes stays in bounds and computes both directions of 5 time steps."""
    length, gates = 5, GATE_COUNTS[cell]
    shapes = {
        "input_gates": (2, length, batch, gates * hidden),
        "weights": (2, hidden, gates * hidden),
        "hidden_bias": (2, hidden),
        "h": (2, batch, hidden),
        "c": (2, batch, hidden),
    }
    arrays = {name: normal(*dims, seed=i) / 2 for i, (name, dims) in enumerate(shapes.items())}
    expected = reference_recurrence(cell, arrays, np.full(batch, length) if lengths is None else lengths)
    weights = arrays["weights"].transpose(0, 2, 1).reshape(2, gates, hidden, hidden)
    arrays["weights"] = pack_weights(weights, PHASES[cell], lanes)
    arrays |= {name: np.zeros(array.shape, np.float32) for name, array in expected.items()}
    arrays |= {} if lengths is None else {"lengths": lengths, "status": np.zeros(16, np.int64)}
    arrays = {name: array for name, array in arrays.items() if name not in unused_operands(cell)}
    tensors = {name: guarded.tensor(array, name) for name, array in arrays.items()}
    buffers: dict[Buffer, Array] = {buffer: arrays[name] for name, (_, buffer) in tensors.items()}
    views = {name: tensor for name, (tensor, _) in tensors.items()}
    operands = RecurrentOperands(**views, is_backward=False)
    activations = tuple(choose_activations(ACTIVATIONS[cell].split(), (), ()))
    variant = RecurrenceVariant(cell, activations, has_lengths=lengths is not None)
    guarded.run(with_lanes(recurrence_step(variant, operands), lanes), buffers)
    for name, array in expected.items():
        np.testing.assert_allclose(arrays[name], array, 1e-4, 1e-5)  # of some dozen float32 operations a step


def unused_operands(cell: CellKind) -> set[str]:
    return {"c", *(("hidden_bias",) if cell != "gru" else ())} - ({"c"} if cell == "lstm" else set())
