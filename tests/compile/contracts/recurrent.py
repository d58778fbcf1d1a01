"""Contracts of recurrent layers: hidden units, sequences and time steps around their tiles, undivided and divided among threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compile.contracts.contract import Axes, Contract, around
from compile.contracts.trial import Trial
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.recurrent.divided_recurrence import divided_recurrence_steps
from sardonyx._src.compile.kernels.recurrent.operands import RecurrentOperands
from sardonyx._src.compile.kernels.recurrent.packed_weights import (
    pack_weights,
    pack_weights_steps,
    packed_columns,
)
from sardonyx._src.compile.kernels.recurrent.projection import projection_step
from sardonyx._src.compile.kernels.recurrent.recurrence import recurrence_step
from sardonyx._src.compile.kernels.recurrent.variant import GATE_COUNTS, PHASES, CellKind, RecurrenceVariant
from sardonyx._src.compile.program import Step
from sardonyx._src.compile.program.operands.tensor import dense_temporary
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array
from sardonyx._src.ops.nn.recurrent_activations import choose_activations

CLOSE = 1e-5  # of some dozen float32 operations a step
INPUTS = 5


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


def unused_operands(cell: CellKind) -> set[str]:
    return {"c", *(("hidden_bias",) if cell != "gru" else ())} - ({"c"} if cell == "lstm" else set())


def recurrence(
    trial: Trial, cell: CellKind, hidden: int, batch: int, length: int, has_lengths: bool, layout: str
) -> Sequence[Step] | None:
    """Both directions of a layer; layout: whole, divided among threads, or with inputs that the kernel projects."""
    if layout == "projected" and cell == "gru":
        return None
    gates = GATE_COUNTS[cell]
    lengths = trial.rng.integers(0, length + 1, batch) if has_lengths else np.full(batch, length)
    x, w = trial.normal(2, length, batch, INPUTS) / 2, trial.normal(2, INPUTS, gates * hidden) / 4
    bias = trial.normal(2, 1, 1, gates * hidden)
    arrays = {
        "input_gates": (np.einsum("dtbi,dig->dtbg", x.astype(np.float64), w) + bias).astype(np.float32),
        "weights": trial.normal(2, hidden, gates * hidden) / max(hidden, 4) ** 0.5,
        "hidden_bias": trial.normal(2, hidden),
        "h": trial.normal(2, batch, hidden),
        "c": trial.normal(2, batch, hidden),
    }
    expected = reference_recurrence(cell, arrays, lengths)
    lanes = trial.target.lanes
    arrays["weights"] = pack(arrays["weights"], cell, hidden, lanes)
    if layout == "projected":
        del arrays["input_gates"]
        arrays |= {"x": x, "input_weights": pack(w, cell, hidden, lanes), "bias": bias.reshape(2, -1)}
    tensors: dict[str, Any] = {
        name: trial.input(array) for name, array in arrays.items() if name not in unused_operands(cell)
    }
    tensors |= {name: trial.result(array, tolerance=CLOSE) for name, array in expected.items()}
    if has_lengths:
        tensors |= {"lengths": trial.input(lengths.astype(np.int32)), "status": trial.status()}
    activations = tuple(choose_activations(ACTIVATIONS[cell].split(), (), ()))
    variant = RecurrenceVariant(
        cell, activations, has_lengths=has_lengths, projects_inputs=layout == "projected"
    )
    operands = RecurrentOperands(**tensors)
    if layout != "divided":
        return [recurrence_step(variant, operands)]
    steps = list(divided_recurrence_steps(variant, operands, trial.target, "layer"))
    count = len(PHASES[cell]) + 1  # steps of an iteration, with the one that counts it
    return [*steps[:-count], *steps[-count:] * length]


def pack(weights: Array, cell: CellKind, hidden: int, lanes: int) -> Array:
    """Weights [2, k, gates * hidden] in the order of the kernel."""
    by_gate = weights.transpose(0, 2, 1).reshape(2, GATE_COUNTS[cell], hidden, weights.shape[1])
    return pack_weights(by_gate, PHASES[cell], lanes)


def recurrence_axes(target: Target) -> Axes:
    lanes = target.lanes
    return {
        "cell": tuple(GATE_COUNTS),
        "hidden": (*range(1, 2 * lanes + 2), 4 * lanes, 4 * lanes + 1, 8 * lanes + 3),
        "batch": (*range(1, 12), 33),
        "length": (1, 2, 5),
        "has_lengths": (False, True),
        "layout": ("whole", "divided", "projected"),
    }


def packed_recurrent_weights(trial: Trial, hidden: int, k: int, cell: CellKind) -> Sequence[Step]:
    """Weights that steps pack, of which every unit is in its place; lanes after the last one are undefined."""
    lanes, gates = trial.target.lanes, GATE_COUNTS[cell]
    weights = trial.integers(2, gates, hidden, k)
    packed = dense_temporary(DataType.FLOAT, (2, packed_columns(gates, hidden, lanes) * k), "packed")
    expected = pack_weights(weights, PHASES[cell], lanes)
    first = 0
    for phase in PHASES[cell]:
        shape = (2, -(-hidden // lanes), k, phase, lanes)
        size = int(np.prod(shape[1:]))
        part = expected[:, first : first + size].reshape(shape)
        for block in range(shape[1]):
            count = min(hidden - block * lanes, lanes)
            view = trial.part(
                packed,
                (2, k, phase, count),
                (packed.shape[1], phase * lanes, lanes, 1),
                first + block * k * phase * lanes,
            )
            trial.expect(view, part[:, block, :, :, :count])
        first += size
    return pack_weights_steps(trial.input(weights), packed, PHASES[cell], lanes)


def packing_axes(target: Target) -> Axes:
    return {"hidden": around(target.lanes)[1:], "k": (1, 2, 7, 17), "cell": tuple(GATE_COUNTS)}


def projection(trial: Trial, rows: int, columns: int, k: int) -> Sequence[Step]:
    """Products of float64 rows, in vectors of half as many lanes."""
    lanes = max(trial.target.lanes // 2, 1)
    x, weights = trial.integers(rows, k, dtype=np.float64), trial.integers(columns, k, dtype=np.float64)
    bias = trial.integers(columns, dtype=np.float64)
    y = trial.result(x @ weights.T + bias, np.float64)
    packed = pack_weights(weights[None, None], (1,), lanes)
    return [projection_step(trial.input(x), trial.input(packed[0]), trial.input(bias), y)]


def projection_axes(target: Target) -> Axes:
    return {"rows": (*range(19), 33), "columns": (*around(target.lanes)[1:], 40), "k": (1, 2, 7)}


CONTRACTS = [
    Contract(recurrence, recurrence_axes),
    Contract(packed_recurrent_weights, packing_axes),
    Contract(projection, projection_axes),
]
