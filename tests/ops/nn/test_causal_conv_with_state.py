import math

import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case
from ops.control.node_inference import floats, infer_node
from sardonyx._src.errors import EvaluationError, InferenceError, LimitError
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import Type
from sardonyx._src.ir.build import GraphBuilder
from sardonyx._src.ops.api import RunLimits, RuntimeValue

F = np.float32


def array(values: object, *shape: int) -> np.ndarray:
    return np.array(values, F).reshape(shape)


# Taps of 100, 10 and 1 write the last three values as digits, the newest in front of the point.
W = array([100, 10, 1], 1, 1, 3)
X = array([1, 2, 3, 4], 1, 1, 4)
Y, STATE = array([1, 12, 123, 234], 1, 1, 4), array([3, 4], 1, 1, 2)
PAST, BIAS = array([8, 9], 1, 1, 2), array([0.5], 1)
TWO = array([1, 2, 3, 4], 2, 2, 1)  # batch of 2, two channels
SILU = {"activation": "silu"}
HALF = ml_dtypes.bfloat16

CASES = [
    Case("CausalConvWithState", 27, [X, W], [Y, STATE]),
    Case("CausalConvWithState", 27, [X, W, BIAS], [Y + 0.5, STATE], label="bias"),
    Case("CausalConvWithState", 27, [X, W, None, PAST], [array([891, 912, 123, 234], 1, 1, 4), STATE], label="past"),
    Case("CausalConvWithState", 27, [X[..., :1], W, None, PAST], [array(891, 1, 1, 1), array([9, 1], 1, 1, 2)], label="one step"),
    Case("CausalConvWithState", 27, [X[..., :1], W], [array(1, 1, 1, 1), array([0, 1], 1, 1, 2)], label="one step from zeros"),
    Case("CausalConvWithState", 27, [X[..., :0], W, None, PAST], [X[..., :0], PAST], label="no step"),
    Case("CausalConvWithState", 27, [X, W[..., 2:]], [X, X[..., :0]], label="a kernel of one"),
    Case("CausalConvWithState", 27, [TWO, array([10, 100], 2, 1, 1)], [array([10, 200, 30, 400], 2, 2, 1), TWO[..., :0]],
         label="a kernel for each channel"),
    Case("CausalConvWithState", 27, [X[..., :1], W], [array(1 / (1 + math.exp(-1)), 1, 1, 1), ...], SILU, "silu"),
    Case("CausalConvWithState", 27, [-X[..., :1], W], [array(-1 / (1 + math.e), 1, 1, 1), ...], {"activation": "swish"}, "swish"),
    Case("CausalConvWithState", 27, [-1000 * X[..., :1], W], [array(0, 1, 1, 1), ...], SILU, "silu of what is far below 0"),
    *(
        Case("CausalConvWithState", 27, [x.astype(d) for x in (X, W)], [Y.astype(d), STATE.astype(d)], label=np.dtype(d).name)
        for d in (HALF, np.float16)
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


def test_a_long_run_is_the_same_as_its_parts() -> None:
    rng = np.random.default_rng(2)
    x, w = rng.normal(size=(2, 3, 7)).astype(F), rng.normal(size=(3, 1, 4)).astype(F)
    whole = np.zeros((2, 3, 7), F)
    for b, c, t in np.ndindex(2, 3, 7):
        whole[b, c, t] = sum(w[c, 0, 3 - back] * x[b, c, t - back] for back in range(4) if t >= back)
    assert_case(Case("CausalConvWithState", 27, [x, w], [whole, x[..., 4:]]))
    assert_case(
        Case("CausalConvWithState", 27, [x[..., 5:], w, None, x[..., 2:5]], [whole[..., 5:], x[..., 4:]])
    )


@pytest.mark.parametrize(
    ("inputs", "attributes", "message"),
    [
        ([X[0], W], {}, r"weight must .*; got \[1, 1, 3\]"),
        ([X, TWO], {}, r"weight must .*; got \[2, 2, 1\]"),
        ([X, W[..., :0]], {}, r"weight must .*; got \[1, 1, 0\]"),
        ([X, W, PAST[0, 0]], {}, r"bias must have shape \[1\]; got \[2\]"),
        ([X, W, None, STATE[..., :1]], {}, r"past_state must have shape \[1, 1, 2\]; got \[1, 1, 1\]"),
    ],
)
def test_bad_calls_are_refused(
    inputs: list[RuntimeValue], attributes: dict[str, object], message: str
) -> None:
    with pytest.raises(EvaluationError, match=message):
        assert_case(Case("CausalConvWithState", 27, inputs, [..., ...], attributes))


def test_a_large_state_passes_the_limit() -> None:
    b = GraphBuilder(27)
    b.output(b.CausalConvWithState(b.constant("x", X), b.constant("w", W)), "y")
    with pytest.raises(LimitError, match="would take 24 bytes"):
        Interpreter(b.model(), limits=RunLimits(bytes=23)).run({})


def test_symbols_come_through() -> None:
    types = infer_node("CausalConvWithState", 27, [floats("B", None, "L"), floats(6, 1, 4)], outputs=2)
    assert types == [floats("B", 6, "L"), floats("B", 6, 3)]


@pytest.mark.parametrize(
    "inputs", [[floats(1, 2), None], [floats(1, 2, 5), floats(3, 1, 4)], [floats(1, 2, 5), floats(2, 1)]]
)
def test_contradictions_are_refused(inputs: list[Type | None]) -> None:
    with pytest.raises(InferenceError):
        infer_node("CausalConvWithState", 27, inputs)
