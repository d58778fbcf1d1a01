import math
from collections.abc import Sequence

import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case
from ops.control.node_inference import floats, infer_node
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, InferenceError
from sardonyx._src.ir import Graph, TensorType, Type
from sardonyx._src.ir.build import GraphBuilder
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.ops.inference import Known

F = np.float32
LN2 = math.log(2)
DOMAIN = "ai.onnx.preview"


def array(values: object, *shape: int) -> np.ndarray:
    return np.array(values, F).reshape(shape)


def modifier(op_type: str, by: float, dtype: DataType = DataType.FLOAT) -> Graph:
    b = GraphBuilder(21)
    x = b.input("x", dtype)
    b.output(b.op(op_type, x, b.constant("by", np.array(by, dtype.numpy))), "y")
    return b.graph


def flattening() -> Graph:
    b = GraphBuilder(21)
    b.output(b.Flatten(b.input("x", DataType.FLOAT)), "y")
    return b.graph


def flex(inputs: list[RuntimeValue], expected: np.ndarray, label: str, **given: object) -> Case:
    return Case("FlexAttention", 1, inputs, [expected], given, label, DOMAIN)


# Scores of 0 and ln 2 are weights of 1/3 and 2/3, which make 5 of 3 and 6.
Q, K, V, Y = (
    array(LN2, 1, 1, 1, 1),
    array([0, 1], 1, 1, 2, 1),
    array([3, 6], 1, 1, 2, 1),
    array(5, 1, 1, 1, 1),
)
WIDE = np.concatenate([K, 0 * K, 0 * K, 0 * K], 3)
GROUPS: list[RuntimeValue] = [np.zeros((1, 4, 1, 1), F), np.zeros((1, 2, 1, 1), F), array([7, 9], 1, 2, 1, 1)]
HALF = ml_dtypes.bfloat16
MASKED = modifier("Sub", math.inf)

CASES = [
    flex([Q, K, V], Y, "scale 1", scale=1.0),
    flex([2 * LN2 * WIDE[:, :, 1:], WIDE, V], Y, "scale by head size"),
    flex(GROUPS, array([7, 7, 9, 9], 1, 4, 1, 1), "shared key heads"),
    flex([Q, K, V], array(4.2, 1, 1, 1, 1) + 1.2, "score_mod", scale=1.0, score_mod=modifier("Mul", 2)),  # 1/5, 4/5
    flex([Q, K, V], 2 * Y, "prob_mod", scale=1.0, prob_mod=modifier("Mul", 2)),
    flex([Q, K, V], array(5.4 + 9, 1, 1, 1, 1), "both", scale=1.0, score_mod=modifier("Mul", 2), prob_mod=modifier("Add", 1)),
    flex([Q, K, V], array(math.nan, 1, 1, 1, 1), "all masked", scale=1.0, score_mod=MASKED),
    *(flex([x.astype(d) for x in (Q, K, V)], Y.astype(d), np.dtype(d).name, scale=1.0) for d in (HALF, np.float16, "f8")),
    flex([x.astype("f8") for x in (Q, K, V)], 2 * Y.astype("f8"), "double for the subgraph", scale=1.0,
         prob_mod=modifier("Mul", 2, DataType.DOUBLE)),
    flex([Q, K, V], 2 * Y, "softmax_precision for the subgraph", scale=1.0, softmax_precision=11,
         prob_mod=modifier("Mul", 2, DataType.DOUBLE)),
    flex([Q, K[:, :, :0], V[:, :, :0]], 0 * Y, "no keys"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize(
    ("inputs", "attributes", "message"),
    [
        ([Q[0], K, V], {}, "Q, K and V must have rank 4; got ranks 3, 4 and 4"),
        ([Q, WIDE, V], {}, "Q, K and V must agree in batch, lengths and head sizes"),
        ([GROUPS[0], *(np.zeros((1, 3, 1, 1), F),) * 2], {}, "query heads must be a multiple of key heads"),
        (
            [Q, K, V],
            {"softmax_precision": 6},
            r"must be one of 1 \(FLOAT\), 10 \(FLOAT16\), 11 \(DOUBLE\), 16 \(BFLOAT16\); got 6",
        ),
        (
            [Q, K, V],
            {"score_mod": flattening()},
            r"score_mod must keep type and shape, float32\[1, 1, 1, 2\]; got float32\[1, 2\]",
        ),
    ],
)
def test_bad_calls_are_refused(
    inputs: list[RuntimeValue], attributes: dict[str, object], message: str
) -> None:
    with pytest.raises(EvaluationError, match=message):
        assert_case(Case("FlexAttention", 1, inputs, [...], attributes, domain=DOMAIN))


# --- types -----------------------------------------------------------------------------------

INPUTS: list[Type | None] = [floats("B", 8, "S", 64), floats("B", 2, "T", 64), floats("B", 2, "T", 32)]


def test_symbols_come_through() -> None:
    assert infer_node("FlexAttention", 1, INPUTS, domain=DOMAIN) == [floats("B", 8, "S", 32)]


@pytest.mark.parametrize(("precision", "seen"), [(None, DataType.FLOAT), (10, DataType.FLOAT16)])
def test_subgraphs_see_scores(precision: int | None, seen: DataType) -> None:
    received: list[Type | None] = []

    def bodies(
        graph: Graph, inputs: Sequence[Type | None], known: Sequence[Known | None]
    ) -> list[Type | None]:
        received.extend(inputs)
        return list(inputs)

    given = {"score_mod": Graph("s"), "softmax_precision": precision}
    infer_node("FlexAttention", 1, INPUTS, given, bodies=bodies, domain=DOMAIN)
    assert received == [TensorType(seen, floats("B", 8, "S", "T").shape)]


@pytest.mark.parametrize(
    ("inputs", "attributes"),
    [
        ([floats(1, 3, 1, 4), floats(1, 2, 5, 4), None], {}),
        ([floats(1, 2, 1, 4), floats(1, 2, 5, 3), None], {}),
        ([floats(1, 2, 4), None, None], {}),
        (INPUTS, {"softmax_precision": 6}),
    ],
)
def test_contradictions_are_refused(inputs: list[Type | None], attributes: dict[str, object]) -> None:
    with pytest.raises(InferenceError):
        infer_node("FlexAttention", 1, inputs, attributes, domain=DOMAIN)
