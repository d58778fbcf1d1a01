"""Recurrent layers whose kernel projects the inputs itself: batches of known size."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from compile import guarded
from compile.lane_widths import with_lanes
from compile.reference_comparison import normal
from compile.test_lower_recurrence import ACTIVATIONS, reference_recurrence, unused_operands
from compile.test_recurrent_forms import GATES, SIZE, FixedLayer, Layer, assert_native, states
from sardonyx._src.compile.kernels.recurrent.operands import RecurrentOperands
from sardonyx._src.compile.kernels.recurrent.packed_weights import pack_weights
from sardonyx._src.compile.kernels.recurrent.recurrence import recurrence_step
from sardonyx._src.compile.kernels.recurrent.variant import GATE_COUNTS, PHASES, CellKind, RecurrenceVariant
from sardonyx._src.compile.program.step import Step
from sardonyx._src.compile.program.tensor import Buffer
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.nn.recurrent_activations import choose_activations
from sardonyx._src.runtime.native_program import compile_for_host

EACH_KIND = pytest.mark.parametrize("kind", GATES)


def projects(layer: Layer) -> bool:
    actions = compile_for_host(layer.model()).program.actions
    return any(isinstance(action, Step) and action.kernel.key.endswith("projected") for action in actions)


@EACH_KIND
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("layout", [0, 1])
@pytest.mark.parametrize("dtype", ["float", "double", "float16"])
@pytest.mark.parametrize("fed", [False, True])
def test_forms(kind: str, direction: str, layout: int, dtype: str, fed: bool) -> None:
    layer = FixedLayer(kind, direction, 21, 6, 5, layout, dtype, ("B", *states(kind)), fed=fed)
    assert projects(layer)
    assert_native(layer)


@EACH_KIND
@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
@pytest.mark.parametrize("lengths", [(4, 0, 2, 1), (0, 0, 0, 0)])
def test_lengths(kind: str, direction: str, lengths: tuple[int, ...]) -> None:
    operands = ("B", "sequence_lens", *states(kind))
    layer = FixedLayer(kind, direction, 17, 9, operands=operands, fed=False, lengths=lengths)
    assert projects(layer)
    assert_native(layer)


def test_peepholes_activations_of_each_direction_and_no_bias() -> None:
    layer = FixedLayer("LSTM", "bidirectional", 19, 5, operands=("initial_c", "P"), outputs=(0, 1, 2))
    names = '["relu", "TANH", "Sigmoid", "HardSigmoid", "Tanh", "Softsign"]'
    layer = replace(layer, attributes={"activations": names, "clip": "0.5"})
    assert projects(layer)
    assert_native(layer)


@pytest.mark.parametrize("batch", [4, 7, 8, 33, 70])
def test_batches(batch: int) -> None:
    layer = FixedLayer("LSTM", "bidirectional", 33, batch, 3, fed=False)
    assert projects(layer)
    assert_native(layer)


def test_other_layers_have_a_product_for_all_time_steps() -> None:
    assert not projects(Layer("LSTM", batch=8))  # of any batch
    assert not projects(FixedLayer("LSTM", batch=3))
    assert not projects(FixedLayer("GRU", batch=8, attributes={"linear_before_reset": "1"}))


@pytest.mark.parametrize("lanes", [1, 4, 8, 16])
@pytest.mark.parametrize("cell", ["lstm", "reset_gru", "rnn"])
@pytest.mark.parametrize("lengths", [None, (3, 0, 5, 1, 4)])
def test_the_kernel_stays_in_bounds_and_matches_float64(
    lanes: int, cell: CellKind, lengths: tuple[int, ...] | None
) -> None:
    length, gates, batch, hidden = 5, GATE_COUNTS[cell], 5, 21
    shapes = {
        "x": (length, batch, SIZE),
        "input_weights": (2, SIZE, gates * hidden),
        "bias": (2, gates * hidden),
        "weights": (2, hidden, gates * hidden),
        "hidden_bias": (2, hidden),
        "h": (2, batch, hidden),
        "c": (2, batch, hidden),
    }
    arrays: dict[str, Array] = {
        name: normal(*dims, seed=i) / 2 for i, (name, dims) in enumerate(shapes.items())
    }
    lens = None if lengths is None else np.array(lengths, np.int32)
    projected = arrays["x"] @ arrays["input_weights"][:, None] + arrays["bias"][:, None, None]
    whole = np.full(batch, length) if lens is None else lens
    expected = reference_recurrence(cell, {**arrays, "input_gates": projected}, whole)
    for name, size in (("weights", hidden), ("input_weights", SIZE)):
        weights = arrays[name].transpose(0, 2, 1).reshape(2, gates, hidden, size)
        arrays[name] = pack_weights(weights, PHASES[cell], lanes)
    arrays |= {name: np.zeros(array.shape, np.float32) for name, array in expected.items()}
    arrays |= {} if lens is None else {"lengths": lens, "status": np.zeros(16, np.int64)}
    arrays = {name: array for name, array in arrays.items() if name not in unused_operands(cell)}
    tensors = {name: guarded.tensor(array, name) for name, array in arrays.items()}
    buffers: dict[Buffer, Array] = {buffer: arrays[name] for name, (_, buffer) in tensors.items()}
    views = {name: view for name, (view, _) in tensors.items()}
    x = views["x"]
    views["x"] = replace(x, shape=(2, *x.shape), strides=(0, *x.strides))
    activations = tuple(choose_activations(ACTIVATIONS[cell].split(), (), ()))
    variant = RecurrenceVariant(cell, activations, has_lengths=lens is not None, projects_inputs=True)
    step = recurrence_step(variant, RecurrentOperands(**views, is_backward=False))
    guarded.run(with_lanes(step, lanes), buffers)
    for name, array in expected.items():
        np.testing.assert_allclose(arrays[name], array, 1e-4, 1e-5)  # of some dozen float32 operations a step
