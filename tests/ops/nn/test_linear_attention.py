import math

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
LN2 = math.log(2)


def array(values: object, *shape: int) -> np.ndarray:
    return np.array(values, F).reshape(shape)


# One head of size 1 and three tokens; the state is the sum of k v, and q reads it.
Q, K, V = array([1, 1, 10], 1, 3, 1), array([1, 2, 3], 1, 3, 1), array([5, 7, 11], 1, 3, 1)
HALVING, RATE = array([-LN2] * 3, 1, 3, 1), array([1, 0.5, 1], 1, 3, 1)
PAST = array(100, 1, 1, 1, 1)
ONE_HEAD = {"q_num_heads": 1, "kv_num_heads": 1}


def rule(
    name: str, state: float, out: list[float], *more: RuntimeValue, label: str = "", **given: object
) -> Case:
    expected = [array(out, 1, 3, 1), array(state, 1, 1, 1, 1)]
    return Case(
        "LinearAttention",
        27,
        [Q, K, V, *more],
        expected,
        {**ONE_HEAD, "update_rule": name, **given},
        label or name,
    )


# delta: S1 = 0 + 1 (5 - 0) = 5;  S2 = 5 + 1/2 * 2 (7 - 2 * 5) = 2;  S3 = 2 + 3 (11 - 3 * 2) = 17
# gated_delta: S1 = 5;  S2 = 5/2 + 1/2 * 2 (7 - 5) = 4.5;  S3 = 9/4 + 3 (11 - 27/4) = 15
TWO = [array([1, 10, 1, 10], 1, 1, 4), array([1, 2, 3, 4], 1, 1, 4), array([5, 7], 1, 1, 2)]
WIDE_STATE = array([5, 10, 21, 28], 1, 2, 2, 1)
NONE: list[RuntimeValue] = [None]
HALF = ml_dtypes.bfloat16

CASES = [
    rule("linear", 52, [5, 19, 520]),
    rule("linear", 152, [105, 119, 1520], PAST, label="with a past"),
    rule("linear", 52, [10, 38, 1040], label="scale", scale=2.0),
    rule("linear", 52, [5, 19, 520], label="chunk_size", chunk_size=1),
    rule("gated", 33 + 14 / 2 + 5 / 4, [5, 16.5, 412.5], None, HALVING),  # 33 + 7 + 1.25 = 41.25
    rule("delta", 17, [5, 2, 170], None, None, RATE),
    rule("gated_delta", 15, [5, 4.5, 150], None, HALVING, RATE),
    # Two heads of size 2, a value of size 1 each; scale 1/sqrt(2) by default, 1 here.
    Case("LinearAttention", 27, TWO, [array([5 + 100, 21 + 280], 1, 1, 2), WIDE_STATE],
         {"q_num_heads": 2, "kv_num_heads": 2, "update_rule": "linear", "scale": 1.0}, "two heads"),
    Case("LinearAttention", 27, TWO, [array([105 / math.sqrt(2), 301 / math.sqrt(2)], 1, 1, 2), WIDE_STATE],
         {"q_num_heads": 2, "kv_num_heads": 2, "update_rule": "linear"}, "scale by key size"),
    Case("LinearAttention", 27, [array([1, 2, 3, 4], 1, 1, 4), array([1, 1], 1, 1, 2), array([5, 7], 1, 1, 2)],
         [array([5, 10, 21, 28], 1, 1, 4), array([5, 7], 1, 2, 1, 1)],
         {"q_num_heads": 4, "kv_num_heads": 2, "update_rule": "linear"}, "shared key heads"),
    Case("LinearAttention", 27, [*TWO, np.ones((1, 2, 2, 1), F), array([0, LN2, 0, -LN2], 1, 1, 4)],
         [array([6 + 120, 22 + 285], 1, 1, 2), array([6, 12, 22, 28.5], 1, 2, 2, 1)],
         {"q_num_heads": 2, "kv_num_heads": 2, "update_rule": "gated", "scale": 1.0}, "a decay for each key element"),
    Case("LinearAttention", 27, [*TWO, np.ones((1, 2, 2, 1), F), array([LN2, -LN2], 1, 1, 2)],
         [array([7 + 120, 21.5 + 285], 1, 1, 2), array([7, 12, 21.5, 28.5], 1, 2, 2, 1)],
         {"q_num_heads": 2, "kv_num_heads": 2, "update_rule": "gated", "scale": 1.0}, "a decay for each head"),
    # beta 2 for both heads, from a past of 0
    Case("LinearAttention", 27, [*TWO, None, None, array(2, 1, 1, 1)],
         [array([210, 602], 1, 1, 2), 2 * WIDE_STATE],
         {"q_num_heads": 2, "kv_num_heads": 2, "update_rule": "delta", "scale": 1.0}, "one rate for all heads"),
    Case("LinearAttention", 27, [x.astype(HALF) for x in (Q, K, V)] + [PAST],
         [array([105, 119, 1520], 1, 3, 1).astype(HALF), array(152, 1, 1, 1, 1)],
         {**ONE_HEAD, "update_rule": "linear"}, "a state of another type"),
    Case("LinearAttention", 27, [x.astype(np.float16) for x in (Q, K, V)],
         [array([5, 19, 520], 1, 3, 1).astype(np.float16), array(52, 1, 1, 1, 1).astype(np.float16)],
         {**ONE_HEAD, "update_rule": "linear"}, "float16"),
    Case("LinearAttention", 27, [Q[:, :0], K[:, :0], V[:, :0], PAST], [V[:, :0], PAST],
         {**ONE_HEAD, "update_rule": "linear"}, "no token"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize(
    ("inputs", "attributes", "message"),
    [
        ([Q, K, V], {"q_num_heads": 3, "kv_num_heads": 2}, "query heads must .*; got 3 and 2"),
        ([Q[0], K, V], {**ONE_HEAD}, "query must have rank 3; got rank 2"),
        (
            [Q, K[:, :2], V],
            {**ONE_HEAD},
            r"query, key and value must .*; got query \[1, 3, 1\], key \[1, 2, 1\], value \[1, 3, 1\]",
        ),
        ([Q, K, V, PAST[0]], {**ONE_HEAD}, r"past_state must have shape \[1, 1, 1, 1\]; got \[1, 1, 1\]"),
        (
            [Q, K, V],
            {**ONE_HEAD, "update_rule": "gated"},
            r"decay must have shape \[1, 3, 1 or 1\]; got None",
        ),
        (
            [Q, K, V, None, HALVING[:, :2]],
            {**ONE_HEAD, "update_rule": "gated"},
            r"decay must have shape \[1, 3, 1 or 1\]; got \[1, 2, 1\]",
        ),
        ([Q, K, V], {**ONE_HEAD, "update_rule": "delta"}, r"beta must have shape \[1, 3, 1 or 1\]; got None"),
        (
            [Q, K, V, None, None, RATE[:, :2]],
            {**ONE_HEAD, "update_rule": "delta"},
            r"beta must have shape \[1, 3, 1 or 1\]; got \[1, 2, 1\]",
        ),
        ([Q, K, V], {**ONE_HEAD}, r"decay must have shape \[1, 3, 1 or 1\]; got None"),
    ],
)
def test_bad_calls_are_refused(
    inputs: list[RuntimeValue], attributes: dict[str, object], message: str
) -> None:
    with pytest.raises(EvaluationError, match=message):
        assert_case(Case("LinearAttention", 27, inputs, [..., ...], attributes))


def test_a_large_state_passes_the_limit() -> None:
    b = GraphBuilder(27)
    given = [b.constant(name, x[:, :0]) for name, x in (("q", Q), ("k", K), ("v", V))]
    b.output(b.LinearAttention(*given, update_rule="linear", **ONE_HEAD), "y")
    with pytest.raises(LimitError, match=r"state .* would take 4 bytes"):
        Interpreter(b.model(), limits=RunLimits(bytes=3)).run({})


# --- types -----------------------------------------------------------------------------------

HEADS = {"q_num_heads": 4, "kv_num_heads": 2}


def test_symbols_come_through() -> None:
    inputs: list[Type | None] = [floats("B", "T", 32), floats("B", "T", 16), floats("B", "T", 6)]
    factors: list[Type | None] = [floats("B", "T", 16), floats("B", "T", 2)]
    types = infer_node("LinearAttention", 27, [*inputs, None, *factors], HEADS, outputs=2, absent=[3])
    assert types == [floats("B", "T", 12), floats("B", 2, 8, 3)]
    state = TensorType(DataType.BFLOAT16, (5, None, None, None))
    types = infer_node("LinearAttention", 27, [*inputs, state, *factors], HEADS, outputs=2)
    assert types == [floats(5, "T", 12), TensorType(DataType.BFLOAT16, (5, 2, 8, 3))]


@pytest.mark.parametrize(
    "inputs",
    [
        [floats(1, 5, 32), floats(1, 5, 12), None],
        [floats(1, 5, 30), None, None],
        [floats(1, 5), None, None],
        [floats(1, 5, 32), floats(1, 4, 16), None],
        [None, None, None, floats(1, 3, 8, 3)],
        [None, None, None, floats(2, 8, 3)],
    ],
)
def test_contradictions_are_refused(inputs: list[Type | None]) -> None:
    with pytest.raises(InferenceError):
        infer_node("LinearAttention", 27, inputs, HEADS)


@pytest.mark.parametrize(
    ("factors", "message"),
    [
        ([], "decay must be given for update_rule 'gated_delta'"),
        ([floats(1, 5, 2)], "beta must be given for update_rule 'gated_delta'"),
        ([floats(1, 5, 3), None], "decay must have 2 or 16 numbers per token; got 3"),
        ([floats(1, 5, 2), floats(1, 5, 3)], "beta must have 2 or 1 numbers per token; got 3"),
        ([floats(1, 4, 2), None], "decay and the tokens contradict"),
    ],
)
def test_factors_fit_the_tokens(factors: list[Type | None], message: str) -> None:
    inputs: list[Type | None] = [floats(1, 5, 32), floats(1, 5, 16), floats(1, 5, 6), None, *factors]
    with pytest.raises(InferenceError, match=message):
        infer_node("LinearAttention", 27, inputs, HEADS, absent=[3])
