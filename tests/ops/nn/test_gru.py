import math

import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case
from ops.control.node_inference import floats, infer_node
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import TensorType
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ops.api import RuntimeValue

F = np.float32


def array(values: object) -> np.ndarray:
    return np.array(values, F)


# One neuron with the identity for f and g.  For x = 1 the gates are z = 1/2 and r = 2, and the hidden gate is
# h = 3 + r H'.  So H = (h + H') / 2 = 3/2 (1 + H'): from 0 it is 1.5, 3.75, …
ONE, TWO = np.ones((1, 1, 1), F), np.ones((2, 1, 1), F)
W, R = array([0.5, 2, 3]).reshape(1, 3, 1), array([0, 0, 1]).reshape(1, 3, 1)
Y, Y_H = array([1.5, 3.75]).reshape(2, 1, 1, 1), array([[[3.75]]])
H0 = array([[[4]]])
BIAS = array([[0, 0, 1, 0, 0, 10]])  # of h: 1 by Wb, 10 by Rb
IDENTITY = {"activations": ["Affine", "Affine"]}


def unit(inputs: list[RuntimeValue], h: float, label: str, version: int = 7, **attributes: object) -> Case:
    """One step and its output."""
    return Case("GRU", version, inputs, [array([[[[h]]]]), array([[[h]]])], {**IDENTITY, **attributes}, label)


PAST = [None, None, H0]
BIASED: list[RuntimeValue] = [ONE, W, R, BIAS, None, H0]
HALF = ml_dtypes.bfloat16
TWICE: list[RuntimeValue] = [np.concatenate([ONE, ONE * 2]), np.concatenate([W, W]), np.concatenate([R, R])]

CASES = [
    *(Case("GRU", v, [TWO, W, R], [Y, Y_H], IDENTITY) for v in (1, 3, 7, 14, 22)),
    *(Case("GRU", v, [TWO, W, R], [Y, Y_H], {**IDENTITY, "output_sequence": 1}, "output_sequence") for v in (1, 3)),
    *(unit(BIASED, 13, "linear after reset", v) for v in (1, 3, 7, 14, 22)),  # h = 3 + 2 * 4 + 11 = 22
    *(unit(BIASED, 18, "linear before reset", v, linear_before_reset=1) for v in (3, 7, 14, 22)),  # 4 + 2 (4 + 10) = 32
    Case("GRU", 22, [x.astype(HALF) for x in (TWO, W, R)], [Y.astype(HALF), Y_H.astype(HALF)], IDENTITY, "bfloat16"),
    # z = r = 1/2, h = tanh(1)
    Case("GRU", 7, [ONE, array([0, 0, 1]).reshape(1, 3, 1), 0 * R], [array([[[[0.5 * math.tanh(1)]]]])], label="by default"),
    Case("GRU", 1, [TWO[::-1] * array([1, 2]).reshape(2, 1, 1), W, 0 * R], [array([1.5, 1.5]).reshape(2, 1, 1, 1)],
         {**IDENTITY, "direction": "forward"}, "forward"),
    Case("GRU", 1, [TWO, W, R], [Y[::-1]], {**IDENTITY, "direction": "reverse"}, "reverse"),
    # x = 2: z = 1, so H stays; backwards it stays 0 first, then 1.5
    Case("GRU", 14, TWICE, [array([[[[1.5]], [[1.5]]], [[[1.5]], [[0]]]]), array([[[1.5]], [[1.5]]])],
         {"activations": ["Affine"] * 4, "direction": "bidirectional"}, "bidirectional"),
    Case("GRU", 14, [np.ones((2, 2, 1), F), W, R, None, np.array([2, 1], np.int32)],
         [array([[[[1.5], [1.5]]], [[[3.75], [0]]]]), array([[[3.75], [1.5]]])], IDENTITY, "lengths"),
    Case("GRU", 14, [np.ones((2, 1, 1), F), W, R, None, None, array([[[0]], [[4]]])],
         [array([[[[1.5]]], [[[7.5]]]]), array([[[1.5]], [[7.5]]])], {**IDENTITY, "layout": 1}, "batch first"),
    unit([ONE, W, R, *PAST], 0.5 * 1 + 0.5 * 4, "clip", clip=1.0),  # z = 1/2, r = 1, h = 1
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("linear_before_reset", [0, 1])
def test_many_neurons_are_their_formula(linear_before_reset: int) -> None:
    rng = np.random.default_rng(11)
    length, batch, size, n = 3, 2, 4, 3
    x, w, r = (
        rng.normal(size=(length, batch, size)),
        rng.normal(size=(3, n, size)),
        rng.normal(size=(3, n, n)),
    )
    wb, rb, h0 = rng.normal(size=(3, n)), rng.normal(size=(3, n)), rng.normal(size=(batch, n))
    Y = np.zeros((length, 1, batch, n))
    for k in range(batch):
        h = h0[k]
        for t in range(length):
            z, s = ([1 / (1 + math.exp(-(w[g, j] @ x[t, k] + r[g, j] @ h + wb[g, j] + rb[g, j]))) for j in range(n)]
                    for g in (0, 1))  # fmt: skip
            if linear_before_reset:
                inner = [s[j] * (r[2, j] @ h + rb[2, j]) for j in range(n)]
            else:
                inner = [r[2, j] @ (np.array(s) * h) + rb[2, j] for j in range(n)]
            new = [math.tanh(w[2, j] @ x[t, k] + inner[j] + wb[2, j]) for j in range(n)]
            h = np.array([(1 - z[j]) * new[j] + z[j] * h[j] for j in range(n)])
            Y[t, 0, k] = h
    weights = [w.reshape(1, 3 * n, size), r.reshape(1, 3 * n, n), np.concatenate([wb, rb]).reshape(1, 6 * n)]
    given = {"linear_before_reset": linear_before_reset}
    assert_case(Case("GRU", 14, [x, *weights, None, h0[None]], [Y, Y[-1]], given))


@pytest.mark.parametrize(
    ("inputs", "attributes", "message"),
    [
        ([ONE, W[:, :2], R], {}, r"W must have shape \[1, 3, 1\]; got \[1, 2, 1\]"),
        ([ONE, W, R], {"activations": ["Tanh"]}, "activations must have 2 names; got 1"),
    ],
)
def test_bad_calls_are_refused(
    inputs: list[RuntimeValue], attributes: dict[str, object], message: str
) -> None:
    with pytest.raises(EvaluationError, match=message):
        assert_case(Case("GRU", 14, inputs, [...], attributes))


def test_symbols_come_through() -> None:
    rows = TensorType(DataType.FLOAT, (1, 3 * symbol("H"), symbol("I")))
    for version in (1, 3, 7, 14, 22):
        types = infer_node("GRU", version, [floats("T", "B", "I"), rows, None], outputs=2)
        assert types == [floats("T", 1, "B", "H"), floats(1, "B", "H")]
