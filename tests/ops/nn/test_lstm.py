import math

import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case
from ops.control.node_inference import floats, infer_node
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, InferenceError
from sardonyx._src.ir import TensorType
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ops.api import RuntimeValue

F = np.float32


def array(values: object) -> np.ndarray:
    return np.array(values, F)


# One neuron with the identity for f, g and h.  For x = 1 the gates are i = 1, o = 2, f = 3, c = 5, so that
# C = 3 C' + 5 and H = 2 C, where C' is the cell's state before.
ONES = np.ones((2, 1, 1), F)
W = array([1, 2, 3, 5]).reshape(1, 4, 1)
R = np.zeros((1, 4, 1), F)
Y, Y_H, Y_C = array([10, 40]).reshape(2, 1, 1, 1), array([[[40]]]), array([[[20]]])
IDENTITY = {"activations": ["Affine"] * 3}
ONE = ONES[:1]


def cell(inputs: list[RuntimeValue], h: float, c: float, label: str, **attributes: object) -> Case:
    """One step, and its output and cell state."""
    out = [array([[[[h]]]]), array([[[h]]]), array([[[c]]])]
    return Case("LSTM", 14, inputs, out, {**IDENTITY, **attributes}, label)


C0 = array([[[1]]])
EVEN_GATES = array([[[[0.5 * math.tanh(1)]]]])  # all gates are 1/2, C = 1
R_I = array([1, 0, 0, 0]).reshape(1, 4, 1)
BIAS = array([[0, 0, 0, 1, 0, 0, 1, 0]])  # 1 more for c by Wb, for f by Rb
HALF_I = array([0.5, 2, 3, 5]).reshape(1, 4, 1)
TWICE_W, TWICE_R = np.concatenate([W, 2 * W]), np.concatenate([R, R])
HALF = ml_dtypes.bfloat16

CASES = [
    *(Case("LSTM", v, [ONES, W, R], [Y, Y_H, Y_C], IDENTITY) for v in (1, 7, 14, 22)),
    Case("LSTM", 1, [ONES, W, R], [Y], {**IDENTITY, "output_sequence": 1}, "output_sequence"),
    Case(
        "LSTM",
        22,
        [x.astype(HALF) for x in (ONES, W, R)],
        [x.astype(HALF) for x in (Y, Y_H, Y_C)],
        IDENTITY,
        "bfloat16",
    ),
    Case(
        "LSTM",
        7,
        [0 * ONE, 0 * W, R, None, None, None, 2 * C0],
        [EVEN_GATES, EVEN_GATES[0], C0],
        label="by default",
    ),
    cell([ONE, W, R, BIAS, None, None, C0], 2 * (4 + 6), 10, "both biases"),  # C = 4 * 1 + 1 * 6
    cell([ONE, W, R_I, None, None, C0], 20, 10, "initial_h"),  # i = 2
    cell([ONE, W, R, None, None, None, C0], 16, 8, "initial_c"),
    cell(
        [ONE, W, R, None, None, None, C0, array([[1, 2, 3]])], 544, 16, "peepholes"
    ),  # i = 2, f = 6, o = 2 + 2 * 16
    cell([ONE, HALF_I, R, None, None, None, 4 * C0], 9, 4.5, "input_forget", input_forget=1),  # f = 1 - 0.5
    Case(
        "LSTM",
        14,
        [ONES, W, R],
        [array([6, 6]).reshape(2, 1, 1, 1), array([[[6]]]), array([[[12]]])],
        {**IDENTITY, "clip": 3.0},
        "clip, but not of the state",
    ),
    Case(
        "LSTM",
        14,
        [np.concatenate([ONE, 2 * ONE]), TWICE_W, TWICE_R],
        # forward C: 5, 6 * 5 + 2 * 10; backward, with twice the gates: 4 * 20, 6 * 80 + 2 * 10
        [
            array([[[[10]], [[4 * 500]]], [[[4 * 50]], [[8 * 80]]]]),
            array([[[200]], [[2000]]]),
            array([[[50]], [[500]]]),
        ],
        {"activations": ["Affine"] * 6, "direction": "bidirectional"},
        "bidirectional",
    ),
    Case(
        "LSTM",
        14,
        [np.ones((2, 2, 1), F), W, R, None, np.array([2, 1], np.int32)],
        [array([[[[10], [10]]], [[[40], [0]]]]), array([[[40], [10]]]), array([[[20], [5]]])],
        IDENTITY,
        "lengths",
    ),
    Case(
        "LSTM",
        14,
        [np.ones((2, 1, 1), F), W, R, None, None, array([[[0]], [[0]]]), array([[[0]], [[1]]])],
        [array([[[[10]]], [[[16]]]]), array([[[10]], [[16]]]), array([[[5]], [[8]]])],
        {**IDENTITY, "layout": 1},
        "batch first",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


def test_activations_are_f_g_h() -> None:
    """Softsign halves 1: it shows which of the three was halved."""
    ones, zeros = np.ones((1, 4, 1), F), np.zeros((1, 4, 1), F)
    for place, h in ((0, 0.5 * 0.5), (1, 0.5), (2, 0.5)):
        names = ["Affine", "Affine", "Affine"]
        names[place] = "Softsign"
        assert_case(Case("LSTM", 7, [ONE, ones, zeros], [array([[[[h]]]])], {"activations": names}))


def test_many_neurons_are_their_formula() -> None:
    rng = np.random.default_rng(7)
    length, batch, size, n = 3, 2, 4, 3
    x, w, r = (
        rng.normal(size=(length, batch, size)),
        rng.normal(size=(4, n, size)),
        rng.normal(size=(4, n, n)),
    )
    b, p = rng.normal(size=(2, 4, n)), rng.normal(size=(3, n))
    h0, c0 = rng.normal(size=(batch, n)), rng.normal(size=(batch, n))
    Y, last_h, last_c = np.zeros((length, 1, batch, n)), np.zeros((1, batch, n)), np.zeros((1, batch, n))
    for k in range(batch):
        h, c = h0[k], c0[k]
        for t in range(length):
            to = [
                [w[g, j] @ x[t, k] + r[g, j] @ h + b[0, g, j] + b[1, g, j] for j in range(n)]
                for g in range(4)
            ]
            i = [1 / (1 + math.exp(-to[0][j] - p[0, j] * c[j])) for j in range(n)]
            f = [1 / (1 + math.exp(-to[2][j] - p[2, j] * c[j])) for j in range(n)]
            c = np.array([f[j] * c[j] + i[j] * math.tanh(to[3][j]) for j in range(n)])
            o = [1 / (1 + math.exp(-to[1][j] - p[1, j] * c[j])) for j in range(n)]
            h = np.array([o[j] * math.tanh(c[j]) for j in range(n)])
            Y[t, 0, k] = h
        last_h[0, k], last_c[0, k] = h, c
    flat = [w.reshape(1, 4 * n, size), r.reshape(1, 4 * n, n), b.reshape(1, 8 * n)]
    assert_case(
        Case("LSTM", 14, [x, *flat, None, h0[None], c0[None], p.reshape(1, 3 * n)], [Y, last_h, last_c])
    )


@pytest.mark.parametrize(
    ("inputs", "attributes", "message"),
    [
        ([ONE, W, R, *[None] * 4, array([[1]])], {}, r"P must have shape \[1, 3\]; got \[1, 1\]"),
        (
            [ONE, W, R, None, None, None, array([[1]])],
            {},
            r"initial_c must have shape \[1, 1, 1\]; got \[1, 1\]",
        ),
        ([ONE, W[:, :3], R], {}, r"W must have shape \[1, 4, 1\]; got \[1, 3, 1\]"),
        ([ONE, W, R], {"activations": ["Tanh"]}, "activations must have 3 names; got 1"),
    ],
)
def test_bad_calls_are_refused(
    inputs: list[RuntimeValue], attributes: dict[str, object], message: str
) -> None:
    with pytest.raises(EvaluationError, match=message):
        assert_case(Case("LSTM", 14, inputs, [...], attributes))


def test_symbols_come_through() -> None:
    rows = TensorType(DataType.FLOAT, (1, 4 * symbol("H"), symbol("I")))
    types = infer_node("LSTM", 14, [floats("T", "B", "I"), rows, None], outputs=3)
    assert types == [floats("T", 1, "B", "H"), floats(1, "B", "H"), floats(1, "B", "H")]


def test_rows_come_by_fours() -> None:
    assert infer_node("LSTM", 14, [floats(3, 2, 5), floats(1, 8, 5), None]) == [floats(3, 1, 2, 2)]
    with pytest.raises(InferenceError, match="W and R must have a multiple of 4 rows; got 6"):
        infer_node("LSTM", 14, [floats(3, 2, 5), floats(1, 6, 5), None])
