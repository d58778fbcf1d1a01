"""LSTM, GRU and RNN are native in every direction, with and without initial states; their kernel stays in bounds."""

from __future__ import annotations

import pytest

from compile.reference_comparison import assert_matches_reference, normal
from models import parse_model
from sardonyx._src.interp.run_state import RandomSource
from sardonyx._src.ir import Array
from sardonyx._src.ops.api import RunLimits
from sardonyx._src.runtime.limits.run_limits import Bailout
from sardonyx._src.runtime.runs.native_program import NativeProgram, compile_for_host

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
