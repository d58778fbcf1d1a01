"""ReverseSequence is native for every element type, and refuses lengths out of range as the reference engine does."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from compile.reference_comparison import assert_matches_reference, normal
from models import parse_model
from sardonyx._src.ir import Array

AXES = {0: "time_axis = 0, batch_axis = 1", 1: "time_axis = 1, batch_axis = 0"}


def model_text(dtype: str, time_axis: int, rest: str = ",C") -> str:
    dims = f"[T,B{rest}]" if time_axis == 0 else f"[B,T{rest}]"
    body = f"y = ReverseSequence <{AXES[time_axis]}> (x, n)"
    return f"g ({dtype}{dims} x, int64[B] n) => ({dtype}{dims} y) {{ {body} }}"


@pytest.mark.parametrize("time_axis", [0, 1])
@pytest.mark.parametrize("dtype", ["float", "double", "float16", "bfloat16", "int8", "int64", "bool"])
def test_sequences_are_reversed(time_axis: int, dtype: str) -> None:
    types = {"float": np.float32, "double": np.float64, "int8": np.int8, "int64": np.int64, "bool": np.bool_}
    feeds = []
    for length, batch, rest, lengths in [
        (4, 3, 5, [4, 0, 2]),
        (1, 1, 1, [1]),
        (3, 2, 0, [1, 3]),
    ]:
        shape = (length, batch, rest) if time_axis == 0 else (batch, length, rest)
        x: Array = (normal(*shape) * 5).astype(types.get(dtype, np.float32))
        if dtype in ("float16", "bfloat16"):
            x = x.astype(sx.DataType[dtype.upper()].numpy)
        feeds.append({"x": x, "n": np.array(lengths, np.int64)})
    assert_matches_reference(model_text(dtype, time_axis), *feeds)


def test_a_sequence_of_scalars() -> None:
    feeds = {"x": normal(4, 2), "n": np.array([3, 4])}
    assert_matches_reference(model_text("float", 0, ""), feeds)


def test_sequences_without_steps_have_no_length() -> None:
    for engine in ("native", "reference"):
        session = sx.Session(
            parse_model(model_text("float", 0), opset=28),
            engine="native" if engine == "native" else "reference",
        )
        assert session.run({"x": normal(0, 2, 3), "n": np.zeros(2, np.int64)})["y"].shape == (0, 2, 3)
        with pytest.raises(sx.EvaluationError, match=r"must be 2 numbers in \[0, 0\]"):
            session.run({"x": normal(0, 2, 3), "n": np.array([2, 0])})


@pytest.mark.parametrize("lengths", [[5, 1], [1, -1], [2**62, 0]])
def test_lengths_out_of_range_are_refused_alike(lengths: list[int]) -> None:
    model, messages = parse_model(model_text("float", 0), opset=28), []
    for engine in ("native", "reference"):
        session = sx.Session(model, engine="native" if engine == "native" else "reference")
        with pytest.raises(sx.EvaluationError) as error:
            session.run({"x": normal(4, 2, 3), "n": np.array(lengths)})
        messages.append(str(error.value))
    assert messages[0] == messages[1] and "must be 2 numbers in [0, 4]" in messages[0]
