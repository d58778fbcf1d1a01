"""Recurrent layers whose kernel projects the inputs itself: batches of known size."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compile.test_recurrent_forms import GATES, FixedLayer, Layer, assert_native, states
from sardonyx._src.compile.program import Step
from sardonyx._src.runtime.runs.native_program import compile_for_host

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
