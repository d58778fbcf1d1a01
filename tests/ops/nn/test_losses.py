"""NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss."""

import math

import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case
from ops.control.node_inference import floats, infer_node
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, InferenceError
from sardonyx._src.ir import TensorType, Type
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ops.api import RuntimeValue

F = np.float32
HALF = ml_dtypes.bfloat16


def array(values: object) -> np.ndarray:
    return np.array(values, F)


LOGS = array([[-1, -2, -3], [-4, -5, -6]])
WEIGHT = array([10, 1, 2])
TARGET = np.array([2, 0])
SPREAD = array([[[-1, -2], [-3, -4]], [[-5, -6], [-7, -8]]])  # two classes, two places
PLACES = np.array([[0, 1], [1, 0]])
SOME_IGNORED = np.array([-1, 1])
NAN = array(math.nan)


def nll(
    inputs: list[RuntimeValue],
    expected: object,
    reduction: str,
    label: str = "",
    version: int = 13,
    **given: object,
) -> Case:
    out = [np.asarray(expected, F)]
    return Case(
        "NegativeLogLikelihoodLoss",
        version,
        inputs,
        out,
        {"reduction": reduction, **given},
        f"{reduction} {label}",
    )


LN2, LN4 = math.log(2), math.log(4)
SCORES = array(
    [[0, 1 + math.log(3), -math.inf], [1000, 1000, 999 - 1000]]
)  # of 0 and ln 3 once 1 is taken off
SCORES[0, 0] = 1
LOG_PROB = array([[-LN4, math.log(3) - LN4, -math.inf], [-LN2, -LN2, -1001 - LN2]])


def sce(
    inputs: list[RuntimeValue],
    expected: object,
    reduction: str,
    label: str = "",
    version: int = 13,
    **given: object,
) -> Case:
    out = [np.asarray(expected, F), LOG_PROB]
    return Case(
        "SoftmaxCrossEntropyLoss",
        version,
        inputs,
        out,
        {"reduction": reduction, **given},
        f"{reduction} {label}",
    )


CASES = [
    *(nll([LOGS, TARGET], [3, 4], "none", version=v) for v in (12, 13, 22)),
    nll([LOGS, TARGET], 7, "sum"),
    nll([LOGS, TARGET], 3.5, "mean"),
    Case("NegativeLogLikelihoodLoss", 12, [LOGS, TARGET], [array(3.5)], label="mean by default"),
    nll([LOGS, TARGET.astype(np.int32)], [3, 4], "none", "int32 targets"),
    nll([LOGS, TARGET, WEIGHT], [6, 40], "none", "weight"),
    nll([LOGS, TARGET, WEIGHT], 46, "sum", "weight"),
    nll([LOGS, TARGET, WEIGHT], 46 / 12, "mean", "weight"),
    nll([LOGS, TARGET], [3, 0], "none", "one ignored", ignore_index=0),
    nll([LOGS, TARGET], 3, "mean", "one ignored", ignore_index=0),
    nll([LOGS, TARGET, WEIGHT], 3, "mean", "weight and one ignored", ignore_index=0),
    nll([LOGS, SOME_IGNORED], [0, 5], "none", "ignoring no class", ignore_index=-1),
    nll([LOGS, np.array([9, 1])], 5, "sum", "ignoring no class", ignore_index=9),
    nll([-math.inf * np.ones((1, 2), F), np.array([1])], [0], "none", "infinite but ignored", ignore_index=1),
    nll([LOGS, TARGET * 0], NAN, "mean", "all ignored", ignore_index=0),
    nll([LOGS[:0], TARGET[:0]], [], "none", "nothing"),
    nll([LOGS[:0], TARGET[:0]], 0, "sum", "nothing"),
    nll([LOGS[:0], TARGET[:0]], NAN, "mean", "nothing"),
    nll([SPREAD, PLACES], [[1, 4], [7, 6]], "none", "in places"),
    nll([SPREAD, PLACES, array([1, 3])], 40 / 8, "mean", "in places, weight"),  # 1 + 3 * 4 + 3 * 7 + 6
    Case("NegativeLogLikelihoodLoss", 22, [LOGS.astype(HALF), TARGET], [array(3.5).astype(HALF)], label="bfloat16"),
    Case("NegativeLogLikelihoodLoss", 13, [LOGS.astype("f8"), TARGET], [np.array(3.5)], label="double"),
    *(sce([SCORES, np.array([1, 0])], [LN4 - math.log(3), LN2], "none", version=v) for v in (12, 13)),
    sce([SCORES, np.array([0, 2])], LN4 + 1001 + LN2, "sum"),
    sce([SCORES, np.array([0, 1])], (LN4 + LN2) / 2, "mean"),
    sce([SCORES, np.array([0, 1]), array([3, 5, 7])], (3 * LN4 + 5 * LN2) / 8, "mean", "weights"),
    sce([SCORES, np.array([0, 1])], LN4, "mean", "one ignored", ignore_index=1),
    sce([SCORES, np.array([2, 0])], [math.inf, LN2], "none", "what cannot be"),
    Case("SoftmaxCrossEntropyLoss", 12, [np.zeros((1, 4, 2), F), np.array([[1, 3]])], [array(LN4)], label="mean by default"),
    *(
        Case("SoftmaxCrossEntropyLoss", 13, [np.zeros((1, 2), d), np.array([1])], [np.array(LN2).astype(d)], label=np.dtype(d).name)
        for d in (HALF, np.float16, "f8")
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


OPERATORS = [("NegativeLogLikelihoodLoss", 13), ("SoftmaxCrossEntropyLoss", 13)]


@pytest.mark.parametrize(("op", "version"), OPERATORS)
@pytest.mark.parametrize(
    ("inputs", "attributes", "message"),
    [
        ([LOGS[0], TARGET], {}, "targets must have the shape"),
        ([LOGS, TARGET[:1]], {}, "targets must have the shape"),
        ([SPREAD, TARGET], {}, "targets must have the shape"),
        ([LOGS, TARGET, WEIGHT[:2]], {}, r"weight must have shape \[3\], one per class; got \[2\]"),
        ([LOGS, np.array([3, 0])], {}, r"targets must be in \[0, 3\)"),
        ([LOGS, SOME_IGNORED], {}, r"targets must be in \[0, 3\)"),
        ([LOGS, SOME_IGNORED], {"ignore_index": -2}, r"targets must be in \[0, 3\)"),
    ],
)
def test_bad_values_are_refused(
    op: str, version: int, inputs: list[RuntimeValue], attributes: dict[str, object], message: str
) -> None:
    with pytest.raises(EvaluationError, match=message):
        assert_case(Case(op, version, inputs, [...], attributes))


# --- types -----------------------------------------------------------------------------------


def targets(*dims: str | int) -> TensorType:
    return TensorType(DataType.INT64, tuple(symbol(d) if isinstance(d, str) else d for d in dims))


def test_the_loss_has_the_shape_of_the_targets_or_none() -> None:
    inputs: list[Type | None] = [floats("N", 5, "H"), targets("N", 7)]
    assert infer_node("NegativeLogLikelihoodLoss", 13, inputs, {"reduction": "none"}) == [floats("N", 7)]
    assert infer_node("NegativeLogLikelihoodLoss", 13, inputs) == [floats()]
    types = infer_node("SoftmaxCrossEntropyLoss", 13, [inputs[0], None], {"reduction": "none"}, outputs=2)
    assert types == [floats("N", "H"), floats("N", 5, "H")]


@pytest.mark.parametrize(("op", "version"), OPERATORS)
@pytest.mark.parametrize(
    ("inputs", "reduction"),
    [
        ([floats(3), targets(3)], "none"),
        ([floats(3, 2), targets(4)], "mean"),
        ([floats(3, 2), targets(3, 1)], "mean"),
        ([floats(3, 2), targets(3), floats(3)], "mean"),
        ([floats(3, 2), targets(3), floats(2, 1)], "mean"),
        ([floats(3, 2), targets(3)], "median"),
    ],
)
def test_contradictions_are_refused(op: str, version: int, inputs: list[Type | None], reduction: str) -> None:
    with pytest.raises(InferenceError):
        infer_node(op, version, inputs, {"reduction": reduction})
