"""Adagrad, Adam and Momentum."""

import math

import numpy as np
import pytest

from cases import Case, assert_case
from ops.control.node_inference import floats, infer_node
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, InferenceError
from sardonyx._src.ir import TensorType, Type
from sardonyx._src.ops.api import RuntimeValue

F = np.float32
DOMAIN = "ai.onnx.preview.training"


def array(*values: float) -> np.ndarray:
    return np.array(values, F)


def case(op: str, inputs: list[RuntimeValue], expected: list[object], label: str, **given: object) -> Case:
    return Case(op, 1, inputs, expected, given, label, DOMAIN)


R, FIRST, SECOND = np.array(0.5, F), np.array(0), np.array(1)
X, G = array(1, 2), array(3, -4)

# Adagrad: H = 7 + 9 = 16 and 0 + 16 = 16, roots 4
H = array(7, 0)
NO_EPSILON: dict[str, object] = {"epsilon": 0.0}
STEPPED = array(1 - 0.5 * 3 / 4, 2 + 0.5 * 4 / 4)

# Adam with alpha 1/2, beta 3/4: V = (V' + G) / 2, H = (3 H' + G^2) / 4
V0, H0 = array(5, 0), array(21, 16)
V1, H1 = array(4, -2), array(18, 16)
FACTORS: dict[str, object] = {"alpha": 0.5, "beta": 0.75, "epsilon": 0.0}
ADAM_X = array(1 - 0.5 * 4 / math.sqrt(18), 2 + 0.5 * 2 / 4)
WARM = math.sqrt(1 - 0.75**2) / (1 - 0.5**2)  # after two steps
WARM_X = array(1 - 0.5 * WARM * 4 / math.sqrt(18), 2 + 0.5 * WARM * 2 / 4)

# Momentum with alpha 1/2: V = V' / 2 + beta G
STANDARD: dict[str, object] = {"alpha": 0.5, "beta": 0.25, "mode": "standard", "norm_coefficient": 0.0}
NESTEROV = {**STANDARD, "mode": "nesterov"}
M0 = array(2, 6)

CASES = [
    case("Adagrad", [R, FIRST, X, G, H], [STEPPED, array(16, 16)], "one tensor", **NO_EPSILON),
    case("Adagrad", [R, FIRST, X, G, H], [array(1 - 1.5 / 5, 2 + 2 / 5), ...], "epsilon", epsilon=1.0),
    case("Adagrad", [array(1), np.array(2), X, G, H], [STEPPED, ...], "rate falls", decay_factor=0.5, epsilon=0.0),
    # gradient 3 + 2 * 1 = 5 and -4 + 2 * 2 = 0, H = 24 + 25 and 4 + 0
    case("Adagrad", [R, FIRST, X, G, array(24, 4)], [array(1 - 2.5 / 7, 2), array(49, 4)], "norm_coefficient",
         norm_coefficient=2.0, epsilon=0.0),
    case("Adagrad", [R, FIRST, X, array(9), G, array(2), H, array(0)],
         [STEPPED, array(8.5), array(16, 16), array(4)], "two tensors", **NO_EPSILON),
    case("Adagrad", [R, FIRST, *(x.astype("f8") for x in (X, G, H))],
         [np.array([0.625, 2.5]), np.array([16.0, 16.0])], "double", **NO_EPSILON),
    case("Adagrad", [R, FIRST, np.array(1, F), np.array(3, F), np.array(7, F)], [np.array(0.625, F), np.array(16, F)],
         "a scalar", **NO_EPSILON),
    case("Adam", [R, FIRST, X, G, V0, H0], [ADAM_X, V1, H1], "one tensor", **FACTORS),
    case("Adam", [R, np.array(2), X, G, V0, H0], [WARM_X, V1, H1], "second step", **FACTORS),
    case("Adam", [R, FIRST, X[1:], G[1:], V0[1:], H0[1:]], [array(2 + 0.5 * 2 / 8), ...], "epsilon", **{**FACTORS, "epsilon": 4.0}),
    # gradient 3 + 2 * 1 = 5: V = 5, H = (63 + 25) / 4
    case("Adam", [R, FIRST, X[:1], G[:1], V0[:1], H0[:1]], [array(1 - 2.5 / math.sqrt(22)), array(5), array(22)],
         "norm_coefficient", norm_coefficient=2.0, **FACTORS),
    case("Adam", [R, FIRST, X, G, V0, H0], [0.75 * ADAM_X, V1, H1], "norm_coefficient_post", norm_coefficient_post=0.25, **FACTORS),
    case("Adam", [R, FIRST, X, array(2), G, array(-4), V0, array(0), H0, array(16)],
         [ADAM_X, ADAM_X[1:], V1, V1[1:], H1, H1[1:]], "two tensors", **FACTORS),
    case("Adam", [R, FIRST, array(0), array(1), array(0), array(0)], [..., array(0.1), array(0.001)], "defaults"),
    case("Momentum", [R, FIRST, X, G, M0], [array(-1, 2.5), array(4, -1)], "first step", **STANDARD),
    case("Momentum", [R, SECOND, X, G, M0], [array(1 - 0.875, 1), array(1.75, 2)], "second step", **STANDARD),
    case("Momentum", [R, FIRST, X, G, M0], [array(-1.5, 4.25), array(4, -1)], "nesterov", **NESTEROV),
    case("Momentum", [R, SECOND, X, G, M0], [array(1 - 0.5 * 3.875, 3.5), array(1.75, 2)], "nesterov, second step", **NESTEROV),
    case("Momentum", [R, FIRST, X, G, M0], [array(-2, 0.5), array(6, 3)], "norm_coefficient", **{**STANDARD, "norm_coefficient": 2.0}),
    case("Momentum", [R, FIRST, X, array(1), G, array(3), M0, array(2)], [array(-1, 2.5), array(-1), array(4, -1), array(4)],
         "two tensors", **STANDARD),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize(
    ("op", "inputs", "attributes", "message"),
    [
        (
            "Adagrad",
            [R, FIRST, X, G],
            {},
            "the number of tensors, gradients and states must be a multiple of 3; got 2",
        ),
        (
            "Adam",
            [R, FIRST, X, G, V0],
            {},
            "the number of tensors, gradients and states must be a multiple of 4; got 3",
        ),
        (
            "Adagrad",
            [R, FIRST, X, G, H[:1]],
            {},
            "tensor 0, its gradient and its states must have one type and shape",
        ),
        ("Adagrad", [R, FIRST, X, G, H.astype("f8")], {}, r"float32\[2\], float32\[2\], float64\[2\]"),
        ("Adagrad", [X, FIRST, X, G, H], {}, r"R must have one element; got shape \[2\]"),
        ("Adam", [R, np.array([1, 2]), X, G, V0, H0], {}, r"T must have one element; got shape \[2\]"),
    ],
)
def test_bad_calls_are_refused(
    op: str, inputs: list[RuntimeValue], attributes: dict[str, object], message: str
) -> None:
    with pytest.raises(EvaluationError, match=message):
        assert_case(case(op, inputs, [...], "", **attributes))


# --- types -----------------------------------------------------------------------------------

RATE, COUNT = floats(), TensorType(DataType.INT64, ())


def test_types_stay() -> None:
    given: list[Type | None] = [RATE, COUNT, floats("N", None), floats(4), floats(None, 3), None, None, None]
    assert infer_node("Adagrad", 1, given, domain=DOMAIN, outputs=4) == [floats("N", 3), floats(4)] * 2
    given += [None, None]
    assert infer_node("Adam", 1, given, domain=DOMAIN, outputs=6) == [floats("N", 3), floats(4)] * 3


@pytest.mark.parametrize(
    "tensors",
    [
        [floats(2), floats(2)],
        [floats(2), floats(3), None],
        [floats(2), TensorType(DataType.DOUBLE, (2,)), None],
    ],
)
def test_contradictions_are_refused(tensors: list[Type | None]) -> None:
    with pytest.raises(InferenceError):
        infer_node("Momentum", 1, [RATE, COUNT, *tensors], STANDARD, domain=DOMAIN, outputs=2)
