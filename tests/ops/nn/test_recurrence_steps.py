"""Conversion of LSTM, GRU and RNN between versions that differ in layout, direction and optional outputs."""

from __future__ import annotations

import numpy as np
import pytest

from models import only, parse_model
from sardonyx._src.convert.conversion import convert
from sardonyx._src.ir import Array
from versions import convert_closely, op_types

RANDOM = np.random.default_rng(11)
X = RANDOM.normal(size=(2, 3, 4)).astype(np.float32)
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def weights(op: str) -> dict[str, Array]:
    rows = 2 * GATES[op]
    return {name: RANDOM.normal(size=(1, rows, n)).astype(np.float32) for name, n in (("w", 4), ("r", 2))}


@pytest.mark.parametrize("op", GATES)
def test_batch_first_is_said_by_transposing(op: str) -> None:
    rows = 2 * GATES[op]
    text = (
        f"g (float[2,3,4] x, float[1,{rows},4] w, float[1,{rows},2] r, float[2,1,2] h) => (float[] y, float[] last)"
        f' {{ y, last = {op}<hidden_size = 2, layout = 1>(x, w, r, "", "", h) }}'
    )
    h = RANDOM.normal(size=(2, 1, 2)).astype(np.float32)
    down = convert_closely(text, 14, 7, x=X, h=h, **weights(op))
    assert op_types(down) == ["Transpose", "Transpose", op, "Transpose", "Transpose"]


def test_the_misspelled_direction_of_version_1_is_corrected() -> None:
    text = "g (float[2,3,4] x, float[1,6,4] w, float[1,6,2] r) => (float[] y) { y, h = GRU(x, w, r) }"
    up = convert_closely(text, 2, 3, x=X, **weights("GRU"))
    assert only(up.graph, "GRU").attributes["direction"].value == b"forward"


def test_output_sequence_says_whether_the_sequence_is_used() -> None:
    text = "g (float[2,3,4] x, float[1,2,4] w, float[1,2,2] r) => (float[] y) {{ {} = RNN(x, w, r) }}"
    for outputs, expected in (('"", y', 0), ("y", 1)):
        down = convert(parse_model(text.format(outputs), opset=7), 6)
        assert only(down.graph, "RNN").attributes["output_sequence"].value == expected
