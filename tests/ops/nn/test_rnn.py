import math
from collections.abc import Sequence

import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case
from ops.control.node_inference import floats, infer_node
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, InferenceError, LimitError
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import TensorType, Type
from sardonyx._src.ir.build import GraphBuilder
from sardonyx._src.ops.api import RunLimits, RuntimeValue

F = np.float32


def array(values: object, dtype: type[np.generic] = F) -> np.ndarray:
    return np.array(values, dtype)


# With the identity for f, W = 1 and R = 10, the output is the number whose digits are the inputs so far.
X = array([[[1]], [[2]], [[3]]])
W, R = array([[[1]]]), array([[[10]]])
Y, Y_H = array([[[[1]]], [[[12]]], [[[123]]]]), array([[[123]]])
BACK, BACK_H = array([[[[321]]], [[[32]]], [[[3]]]]), array([[[321]]])
IDENTITY = {"activations": ["Affine"]}
BOTH = {"activations": ["Affine", "Affine"], "direction": "bidirectional"}
W2, R2 = np.repeat(W, 2, 0), np.repeat(R, 2, 0)
LEFT_OUT = [None, None, None]

PAIR = array([[[1], [4]], [[2], [5]], [[3], [6]]])  # two sequences
SHORT = np.array([3, 2], np.int32)
SHORT_Y = array([[[[1], [4]]], [[[12], [45]]], [[[123], [0]]]])
SHORT_BACK = array([[[[321], [54]]], [[[32], [5]]], [[[3], [0]]]])
NONE_OF_SECOND = np.array([3, 0], np.int32)
HALF = ml_dtypes.bfloat16

CASES = [
    *(Case("RNN", v, [X, W, R], [Y, Y_H], IDENTITY) for v in (1, 7, 14, 22)),
    Case("RNN", 1, [X, W, R], [Y, Y_H], {**IDENTITY, "output_sequence": 1}, "output_sequence"),
    Case(
        "RNN",
        22,
        [x.astype(HALF) for x in (X, W, R)],
        [Y.astype(HALF), Y_H.astype(HALF)],
        IDENTITY,
        "bfloat16",
    ),
    Case(
        "RNN", 14, [x.astype("f8") for x in (X, W, R)], [Y.astype("f8"), Y_H.astype("f8")], IDENTITY, "double"
    ),
    Case("RNN", 14, [array([[[1]]]), W, R], [..., array([[[math.tanh(1)]]])], label="Tanh by default"),
    Case("RNN", 14, [X, W, R], [BACK, BACK_H], {**IDENTITY, "direction": "reverse"}, "reverse"),
    Case(
        "RNN",
        14,
        [X, W2, R2],
        [np.concatenate([Y, BACK], 1), np.concatenate([Y_H, BACK_H])],
        BOTH,
        "bidirectional",
    ),
    Case(
        "RNN",
        14,
        [X[:1], W, R, array([[4, 20]])],
        [array([[[[25]]]]), array([[[25]]])],
        IDENTITY,
        "both biases",
    ),
    Case(
        "RNN",
        14,
        [X, W, R, *LEFT_OUT[1:], array([[[9]]])],
        [Y + array([90, 900, 9000]).reshape(3, 1, 1, 1), Y_H + 9000],
        IDENTITY,
        "initial_h",
    ),
    Case(
        "RNN", 14, [PAIR, W, R, None, SHORT], [SHORT_Y, array([[[123], [45]]])], IDENTITY, "a short sequence"
    ),
    Case(
        "RNN",
        14,
        [PAIR, W, R, None, SHORT],
        [SHORT_BACK, array([[[321], [54]]])],
        {**IDENTITY, "direction": "reverse"},
        "a short sequence, reverse",
    ),
    Case(
        "RNN",
        14,
        [PAIR, W, R, None, NONE_OF_SECOND, array([[[0], [7]]])],
        [array([[[[1], [0]]], [[[12], [0]]], [[[123], [0]]]]), array([[[123], [7]]])],
        IDENTITY,
        "an empty sequence",
    ),
    Case(
        "RNN",
        14,
        [PAIR.swapaxes(0, 1), W, R, None, SHORT, array([[[0]], [[1]]])],
        [array([[[[1]], [[12]], [[123]]], [[[14]], [[145]], [[0]]]]), array([[[123]], [[145]]])],
        {**IDENTITY, "layout": 1},
        "batch first",
    ),
    Case("RNN", 14, [X[:0], W, R], [Y[:0], array([[[0]]])], IDENTITY, "no step"),
    Case("RNN", 14, [X[:, :0], W, R], [Y[:, :, :0], Y_H[:, :0]], IDENTITY, "no sequence"),
    Case("RNN", 14, [X, W, R], [Y, Y_H], {**IDENTITY, "hidden_size": 1}, "hidden_size"),
    Case(
        "RNN",
        14,
        [X, W, R],
        [array([[[[1]]], [[[12]]], [[[50]]]]), array([[[50]]])],
        {**IDENTITY, "clip": 50.0},
        "clip",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


FUNCTIONS: list[tuple[str, list[float], list[float], float, float]] = [
    ("Relu", [], [], -1, 0),
    ("Relu", [], [], 2, 2),
    ("Sigmoid", [], [], 0, 0.5),
    ("Sigmoid", [], [], -1000, 0),
    ("Softsign", [], [], -1, -0.5),
    ("Softplus", [], [], 0, math.log(2)),
    ("Softplus", [], [], 1000, 1000),
    ("LeakyRelu", [], [], -2, -0.02),
    ("LeakyRelu", [0.5], [], -2, -1),
    ("LeakyRelu", [0.5], [], 3, 3),
    ("ThresholdedRelu", [], [], 1, 1),
    ("ThresholdedRelu", [], [], 0.5, 0),
    ("ThresholdedRelu", [0.25], [], 0.5, 0.5),
    ("Elu", [], [], -1, math.exp(-1) - 1),
    ("Elu", [2.0], [], -1, 2 * (math.exp(-1) - 1)),
    ("Elu", [], [], 1000, 1000),
    ("HardSigmoid", [], [], 1, 0.7),
    ("HardSigmoid", [], [], 5, 1),
    ("HardSigmoid", [0.5], [0.25], 1, 0.75),
    ("Affine", [], [], 3, 3),
    ("Affine", [2.0], [5.0], 3, 11),
    ("ScaledTanh", [2.0], [0.5], 2, 2 * math.tanh(1)),
    ("sigmoid", [], [], 0, 0.5),
]


@pytest.mark.parametrize(("name", "alpha", "beta", "x", "y"), FUNCTIONS)
def test_activation(name: str, alpha: Sequence[float], beta: Sequence[float], x: float, y: float) -> None:
    scales = {k: v for k, v in (("activation_alpha", alpha), ("activation_beta", beta)) if v}
    given = {"activations": [name], **scales}
    assert_case(Case("RNN", 14, [array([[[x]]]), W, R], [array([[[[y]]]]), array([[[y]]])], given))


@pytest.mark.parametrize(
    ("names", "alpha", "expected"),
    [
        (["LeakyRelu", "LeakyRelu"], [0.5, 0.25], [-2, -1]),
        (["LeakyRelu", "LeakyRelu"], [0.5], [-2, -0.04]),
        (["Relu", "LeakyRelu"], [0.25], [0, -1]),
        (["Relu", "LeakyRelu"], [9.0, 0.25], [0, -1]),
    ],
)
def test_scales_go_to_the_functions_that_take_one(
    names: Sequence[str], alpha: Sequence[float], expected: Sequence[float]
) -> None:
    given = {"activations": names, "activation_alpha": alpha, "direction": "bidirectional"}
    y = array(expected).reshape(1, 2, 1, 1)
    assert_case(Case("RNN", 14, [array([[[-4]]]), W2, R2], [y, y[0]], given))


def test_many_neurons_are_their_formula() -> None:
    rng = np.random.default_rng(5)
    length, batch, size, hidden = 3, 2, 4, 5
    x, w, r = (
        rng.normal(size=(length, batch, size)),
        rng.normal(size=(hidden, size)),
        rng.normal(size=(hidden, hidden)),
    )
    b, h0 = rng.normal(size=2 * hidden), rng.normal(size=(batch, hidden))
    expected = np.zeros((length, 1, batch, hidden))
    for k in range(batch):
        h = h0[k]
        for t in range(length):
            h = np.array([math.tanh(w[j] @ x[t, k] + r[j] @ h + b[j] + b[hidden + j]) for j in range(hidden)])
            expected[t, 0, k] = h
    assert_case(Case("RNN", 22, [x, w[None], r[None], b[None], None, h0[None]], [expected, expected[-1]]))


@pytest.mark.parametrize(
    ("inputs", "attributes", "message"),
    [
        ([X, W, R], {"clip": -1.0}, r"clip must be >= 0; got -1\.0"),
        ([X, W, R], {"activations": ["Tanh"] * 3}, "activations must have 1 names; got 3"),
        (
            [X, W2, R2],
            {"direction": "bidirectional", "activations": ["Tanh"]},
            "activations must have 2 names; got 1",
        ),
        (
            [X, W, R],
            {"activations": ["ScaledTanh"]},
            "activation_alpha and activation_beta must be given for",
        ),
        ([X, W, R], {"activation_alpha": [1.0, 2.0]}, "activation_alpha must .*; got 2"),
        ([X, W, R], {"hidden_size": 2}, r"W must have shape \[1, 2, 1\]; got \[1, 1, 1\]"),
        ([X[0], W, R], {}, "X and R must have rank 3; got 2 and 3"),
        ([X, array([[[1, 2]]]), R], {}, r"W must have shape \[1, 1, 1\]; got \[1, 1, 2\]"),
        ([X, W, array([[[1], [1]]])], {}, r"R must have shape \[1, 1, 1\]; got \[1, 2, 1\]"),
        ([X, W, R, array([[1]])], {}, r"B must have shape \[1, 2\]; got \[1, 1\]"),
        ([X, W, R, None, np.array([4], np.int32)], {}, r"sequence_lens must lie in \[0, 3\]; got \[4\]"),
        ([X, W, R, None, np.array([1, 1], np.int32)], {}, r"sequence_lens must have shape \[1\]; got \[2\]"),
        ([X, W, R, None, None, array([[1]])], {}, r"initial_h must have shape \[1, 1, 1\]; got \[1, 1\]"),
    ],
)
def test_bad_calls_are_refused(
    inputs: list[RuntimeValue], attributes: dict[str, object], message: str
) -> None:
    with pytest.raises(EvaluationError, match=message):
        assert_case(Case("RNN", 14, inputs, [..., ...], attributes))


def test_large_results_pass_the_limit() -> None:
    b = GraphBuilder(14)
    b.output(b.RNN(b.constant("x", X), b.constant("w", W), b.constant("r", R)), "y")
    with pytest.raises(LimitError, match="would take 12 bytes"):
        Interpreter(b.model(), limits=RunLimits(bytes=11)).run({})


# --- types -----------------------------------------------------------------------------------


def test_symbols_come_through() -> None:
    inputs: list[Type | None] = [floats("T", "B", "I"), floats(1, "H", "I"), floats(1, "H", "H")]
    assert infer_node("RNN", 14, inputs, outputs=2) == [floats("T", 1, "B", "H"), floats(1, "B", "H")]
    first = [floats("B", "T", "I"), *inputs[1:]]
    assert infer_node("RNN", 14, first, {"layout": 1}, outputs=2) == [
        floats("B", "T", 1, "H"),
        floats("B", 1, "H"),
    ]


def test_sizes_are_taken_from_wherever_they_stand() -> None:
    inputs: list[Type | None] = [floats(None, None, 3), None, None]
    assert infer_node("RNN", 7, inputs, {"hidden_size": 5}, outputs=1) == [floats(None, 1, None, 5)]
    inputs += [None, TensorType(DataType.INT32, (2,))]
    assert infer_node("RNN", 7, inputs, {"direction": "bidirectional"}, outputs=2) == [
        floats(None, 2, 2, None),
        floats(2, 2, None),
    ]
    inputs += [floats(1, "B", 6)]
    assert infer_node("RNN", 7, [floats(4, None, 3), *inputs[1:]], outputs=1) == [floats(4, 1, 2, 6)]
    assert infer_node("RNN", 7, [None, *inputs[1:]], outputs=2) == [None, None]
    unranked = TensorType(DataType.FLOAT)
    assert infer_node("RNN", 7, [unranked, unranked, floats(1, 6, None)], outputs=1) == [
        floats(None, 1, None, 6)
    ]


@pytest.mark.parametrize(
    ("inputs", "attributes"),
    [
        ([floats(3, 2), None, None], {}),
        ([floats(3, 2, 4), floats(2, 5, 4), None], {}),
        ([floats(3, 2, 4), floats(1, 5, 3), None], {}),
        ([floats(3, 2, 4), floats(1, 5, 4), floats(1, 5, 6)], {}),
        ([floats(3, 2, 4), None, None], {"direction": "sideways"}),
        ([floats(3, 2, 4), None, None, None, TensorType(DataType.INT32, (3,))], {}),
    ],
)
def test_contradictions_are_refused(inputs: list[Type | None], attributes: dict[str, object]) -> None:
    with pytest.raises(InferenceError):
        infer_node("RNN", 14, inputs, attributes)
