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
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ops.api import RunLimits, RuntimeValue

F = np.float32
INF = math.inf
LN2 = math.log(2)


def array(values: object, *shape: int) -> np.ndarray:
    result = np.array(values, F)
    return result.reshape(shape) if shape else result


def powers(keys: int, batch: int = 1) -> np.ndarray:
    """Values 1, 2, 4, …: [batch, 1, keys, 1]."""
    return np.tile(2.0 ** np.arange(keys), batch).astype(F).reshape(batch, 1, keys, 1)


def zeros(length: int, batch: int = 1) -> np.ndarray:
    return np.zeros((batch, 1, length, 1), F)


def means(*rows: str) -> np.ndarray:
    """The outputs for queries of zeros: the mean of the values of keys that a row marks with 1; 0 if there are none."""
    values = [[2.0**j for j, mark in enumerate(row) if mark == "1"] for row in rows]
    return array([sum(v) / len(v) if v else 0 for v in values], 1, 1, len(rows), 1)


def reach(
    version: int, queries: int, keys: int, rows: list[str], label: str, *more: RuntimeValue, **given: object
) -> Case:
    """Queries of zeros; `rows` marks the keys that each of them attends to."""
    inputs = [zeros(queries), zeros(keys), powers(keys), *more]
    return Case("Attention", version, inputs, [means(*rows)], given, label)


# Scores of 0 and ln 2 are weights of 1/3 and 2/3, which make 5 of 3 and 6.
Q, K, V, Y = (
    array(LN2, 1, 1, 1, 1),
    array([0, 1], 1, 1, 2, 1),
    array([3, 6], 1, 1, 2, 1),
    array(5, 1, 1, 1, 1),
)
FOUR = np.concatenate([K, zeros(2), zeros(2), zeros(2)], 3)  # head size 4, so scores are halved
THIRDS = array([1 / 3, 2 / 3], 1, 1, 1, 2)
SCORES = array([0, LN2], 1, 1, 1, 2)
MASK = np.array([[True, False, True], [False, True, True]])
PAST = [zeros(2), powers(2)]
NO_MASK: list[RuntimeValue] = [None]
NO_PAST: list[RuntimeValue] = [None, None, None]


def stages(mode: int, expected: object, *mask: RuntimeValue, version: int = 23, **given: object) -> Case:
    out = [..., ..., ..., array(expected, 1, 1, 1, 2)]
    given = {"scale": 1.0, "qk_matmul_output_mode": mode, **given}
    return Case("Attention", version, [Q, K, V, *mask], out, given, f"qk_matmul_output_mode {mode}")


CAP = 2 * math.tanh(LN2 / 2)
PACKED = [
    array([[LN2, 0], [0, LN2]], 1, 2, 2),
    array([[0, 1], [1, 0]], 1, 2, 2),
    array([[3, 3], [6, 6]], 1, 2, 2),
]
GROUPS = np.zeros((1, 4, 1, 1), F), np.zeros((1, 2, 1, 1), F), array([7, 9], 1, 2, 1, 1)
MIXED = [np.zeros((1, 1, 2), np.float16), np.zeros((1, 2, 2), np.float16), array([1, 2, 3, 5, 6, 7], 1, 2, 3)]

CASES = [
    *(Case("Attention", v, [Q, K, V], [Y], {"scale": 1.0}) for v in (23, 24, 25)),
    Case("Attention", 23, [2 * FOUR[:, :, 1:] * LN2, FOUR, V], [Y], label="scale by head size"),
    Case("Attention", 23, [-Q, K, V], [Y], {"scale": -1.0}, "negative scale"),
    Case("Attention", 23, [Q, K, V], [array(4.5, 1, 1, 1, 1)], {"scale": 0.0}, "scale 0"),
    Case("Attention", 23, [x.astype("f8") for x in (Q, K, V)], [Y.astype("f8")], {"scale": 1.0}, "double"),
    *(
        Case("Attention", 24, [x.astype(d) for x in (Q, K, V)], [Y.astype(d)], {"scale": 1.0}, np.dtype(d).name)
        for d in (np.float16, ml_dtypes.bfloat16)
    ),
    Case("Attention", 23, [array(math.atanh(LN2 / 2) * 2, 1, 1, 1, 1), K, V], [Y], {"scale": 1.0, "softcap": 2.0}, "softcap"),
    Case("Attention", 23, [Q * 1000, K * 1000, V], [array(6, 1, 1, 1, 1)], {"scale": 1.0}, "no overflow"),
    *(reach(v, 3, 3, ["100", "110", "111"], "causal", is_causal=1) for v in (23, 24, 25)),
    *(reach(v, 2, 3, ["101", "011"], "mask of bool", MASK) for v in (23, 24, 25)),
    reach(23, 2, 3, ["100", "010"], "mask of bool and causal", MASK, is_causal=1),
    reach(23, 2, 3, ["000", "011"], "nothing to look at", MASK & np.array([[False], [True]])),
    reach(23, 2, 3, ["101", "011"], "mask of float", np.where(MASK, 0, -INF).astype(F)),
    reach(23, 2, 3, ["101", "011"], "mask of double", np.where(MASK, 0, -INF)),
    reach(23, 2, 3, ["101", "011"], "mask of rank 4", MASK[None, None]),
    reach(23, 2, 3, ["001", "001"], "mask of rank 1", np.array([False, False, True])),
    reach(23, 2, 3, ["111", "111"], "mask of rank 0", np.array(True)),
    Case("Attention", 23, [0 * Q, K, V, array([0, LN2])], [Y], label="mask added"),
    Case("Attention", 23, [0 * Q, K, V, np.array([-1, 99], np.int8)], [array(6, 1, 1, 1, 1)], label="mask of integers added"),
    reach(23, 2, 3, ["000", "111"], "one column for all keys", np.array([[False], [True]])),
    reach(24, 2, 3, ["000", "100"], "too few columns are filled up", np.array([[False], [True]])),
    reach(25, 2, 4, ["1000", "1100"], "too few columns are filled up", np.array([[True, False], [True, True]])),
    *(
        Case("Attention", v, [zeros(2), zeros(2), 4 * powers(2), None, *PAST],
             [means("1110", "1111"), zeros(4), powers(4)], {"is_causal": 1}, "causal with a past")
        for v in (23, 24, 25)
    ),
    *(
        reach(v, 2, 4, ["1100", "1110"], "causal with a cache", *NO_PAST, np.array([3]), is_causal=1) for v in (24, 25)
    ),
    *(reach(v, 2, 4, ["1110", "1110"], "a cache with padding", *NO_PAST, np.array([3])) for v in (24, 25)),
    reach(24, 3, 4, ["0000", "0000", "1000"], "fewer keys than queries", *NO_PAST, np.array([1]), is_causal=1),
    Case("Attention", 24, [zeros(1, 2), zeros(3, 2), powers(3, 2), *NO_PAST, np.array([1, 3])],
         [array([1, 7 / 3], 2, 1, 1, 1)], label="a length for each of the batch"),
    reach(25, 4, 6, ["110000", "111000", "111100", "011110"], "windows", left_window_size=2, right_window_size=1),
    reach(25, 4, 4, ["1000", "1100", "0110", "0011"], "left window and causal", left_window_size=1, is_causal=1),
    reach(25, 2, 4, ["1000", "1100"], "right window alone", right_window_size=0),
    reach(25, 2, 5, ["00110", "00011"], "windows in a cache", *NO_PAST, np.array([5]), left_window_size=1, is_causal=1),
    Case("Attention", 25, [zeros(2), zeros(2), 4 * powers(2), None, *PAST], [means("0110", "0011")],
         {"left_window_size": 1, "is_causal": 1}, "windows with a past"),
    stages(0, [0, LN2], softcap=2.0),
    stages(1, [0, CAP], softcap=2.0),
    stages(2, [0, CAP + 1], array([0, 1]), softcap=2.0),
    stages(2, [-INF, LN2], np.array([False, True])),
    stages(3, [1 / 3, 2 / 3]),
    stages(3, [0, 0], np.array([False, False])),
    stages(3, [0, 1], np.array([False, True]), version=25),
    Case("Attention", 23, PACKED,
         [array([[5, 4.5], [4.5, 4]], 1, 2, 2), array([0, 1, 1, 0], 1, 2, 2, 1), array([3, 6, 3, 6], 1, 2, 2, 1)],
         {"scale": 1.0, "q_num_heads": 2, "kv_num_heads": 2}, "packed heads"),
    Case("Attention", 23, list(GROUPS), [array([7, 7, 9, 9], 1, 4, 1, 1)], label="shared key heads"),
    Case("Attention", 23, [*MIXED],
         [array([3, 4, 5] , 1, 1, 3).astype(np.float16), np.zeros((1, 1, 2, 2), np.float16), MIXED[2][:, None]],
         {"q_num_heads": 1, "kv_num_heads": 1}, "values of another type and size"),
    Case("Attention", 23, [Q, K, V], [Y, ..., ..., THIRDS], {"scale": 1.0, "softmax_precision": 11, "qk_matmul_output_mode": 3},
         "softmax in double"),
    Case("Attention", 23, [zeros(2), zeros(0), zeros(0)], [zeros(2)], label="no keys"),
    Case("Attention", 23, [zeros(0), zeros(2), powers(2)], [zeros(0)], label="no queries"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


def test_softmax_precision_rounds_scores_and_weights() -> None:
    """A score of 1 + 2^-12 becomes 1 in float16, and so do the weights lose their last bits."""
    q = array(1 + 2**-12, 1, 1, 1, 1)
    given = {"scale": 1.0, "softmax_precision": 10, "qk_matmul_output_mode": 3}
    weights = np.array([1 / (1 + math.e), math.e / (1 + math.e)]).astype(np.float16).astype(F)
    assert_case(Case("Attention", 23, [q, K, V], [..., ..., ..., weights.reshape(1, 1, 1, 2)], given))


def test_attention_is_its_formula_for_many_heads() -> None:
    rng = np.random.default_rng(3)
    q, k, v = rng.normal(size=(2, 4, 3, 5)), rng.normal(size=(2, 2, 6, 5)), rng.normal(size=(2, 2, 6, 7))
    expected = np.zeros((2, 4, 3, 7))
    for b, h, i in np.ndindex(2, 4, 3):
        weights = np.array([math.exp(q[b, h, i] @ k[b, h // 2, j] / math.sqrt(5)) for j in range(6)])
        expected[b, h, i] = weights / weights.sum() @ v[b, h // 2]
    assert_case(Case("Attention", 23, [q, k, v], [expected]))
    packed = [x.swapaxes(1, 2).reshape(2, x.shape[2], -1) for x in (q, k, v, expected)]
    assert_case(Case("Attention", 23, packed[:3], packed[3:], {"q_num_heads": 4, "kv_num_heads": 2}))


BAD: list[tuple[list[RuntimeValue], dict[str, object], str]] = [
    ([Q, K, V[0]], {}, "Q, K and V must all have rank 3 or all rank 4; got 4, 4 and 3"),
    (list(PACKED), {"q_num_heads": 2}, "q_num_heads and kv_num_heads must be given"),
    (
        list(PACKED),
        {"q_num_heads": 3, "kv_num_heads": 2},
        "rows of Q must be a multiple of 3 heads; got 2",
    ),
    (
        [Q, K, V[:, :, :1]],
        {},
        r"Q, K and V must .*; got Q \[1, 1, 1, 1\], K \[1, 1, 2, 1\], V \[1, 1, 1, 1\]",
    ),
    ([Q, FOUR, V], {}, r"Q, K and V must .*; got Q \[1, 1, 1, 1\], K \[1, 1, 2, 4\], V \[1, 1, 2, 1\]"),
    (
        [np.zeros((1, 3, 1, 1), F), *GROUPS[1:]],
        {},
        r"query heads must .*; got Q \[1, 3, 1, 1\], K \[1, 2, 1, 1\], V \[1, 2, 1, 1\]",
    ),
    ([Q, K, V, np.ones(3, bool)], {}, r"attn_mask must broadcast to \[1, 1, 1, 2\]; got shape \[3\]"),
    ([Q, K, V, np.ones((1, 1, 1, 1, 2), bool)], {}, r"attn_mask must .*; got shape \[1, 1, 1, 1, 2\]"),
    ([Q, K, V, None, PAST[0]], {}, r"past_key and past_value must .*; got only one of them"),
    ([Q, K, V, None, FOUR, PAST[1]], {}, r"past_key must .*; got \[1, 1, 2, 4\]"),
    ([Q, K, V, None, *PAST, np.array([1])], {}, "must not be used with past_key"),
    ([Q, K, V, *NO_PAST, np.array([3])], {}, "nonpad_kv_seqlen"),
    ([Q, K, V, *NO_PAST, np.array([-1])], {}, "nonpad_kv_seqlen"),
    ([Q, K, V, *NO_PAST, np.array([1, 1])], {}, "nonpad_kv_seqlen"),
    ([Q, K, V], {"softmax_precision": 7}, r"softmax_precision must .*; got 7"),
]


@pytest.mark.parametrize(("inputs", "attributes", "message"), BAD)
def test_bad_calls_are_refused(
    inputs: list[RuntimeValue], attributes: dict[str, object], message: str
) -> None:
    with pytest.raises(EvaluationError, match=message):
        assert_case(Case("Attention", 25, inputs, [..., ..., ..., ...], attributes))


def test_version_23_fills_no_mask_up() -> None:
    with pytest.raises(
        EvaluationError, match=r"attn_mask must broadcast to \[1, 1, 2, 4\]; got shape \[2, 2\]"
    ):
        assert_case(reach(23, 2, 4, ["1100", "1100"], "", np.array([[True, True], [True, True]])))


def test_large_scores_pass_the_limit() -> None:
    b = GraphBuilder(23)
    b.output(b.Attention(*(b.constant(n, zeros(8)) for n in "qkv")), "y")
    with pytest.raises(LimitError, match=r"attention scores .* would take 256 bytes"):
        Interpreter(b.model(), limits=RunLimits(bytes=255)).run({})


# --- types -----------------------------------------------------------------------------------

INPUTS: list[Type | None] = [floats("B", 8, "S", 64), floats("B", 2, "T", 64), floats("B", 2, "T", 32)]
LENGTHS = TensorType(DataType.INT64, (symbol("B"),))


def test_symbols_come_through() -> None:
    types = infer_node("Attention", 24, INPUTS, outputs=4)
    assert types == [
        floats("B", 8, "S", 32),
        floats("B", 2, "T", 64),
        floats("B", 2, "T", 32),
        floats("B", 8, "S", "T"),
    ]


def test_the_past_makes_the_present_longer() -> None:
    inputs = [*INPUTS, None, floats("B", 2, "P", 64), floats("B", 2, "P", 32)]
    types = infer_node("Attention", 23, inputs, outputs=4, absent=[3])
    total = symbol("P") + symbol("T")
    assert types[1:] == [floats("B", 2, total, 64), floats("B", 2, total, 32), floats("B", 8, "S", total)]


def test_packed_heads_are_split_by_attributes() -> None:
    inputs: list[Type | None] = [floats("B", "S", 512), floats("B", "T", 128), floats("B", "T", 64)]
    types = infer_node("Attention", 23, inputs, {"q_num_heads": 8, "kv_num_heads": 2}, outputs=2)
    assert types == [floats("B", "S", 256), floats("B", 2, "T", 64)]


def test_little_is_known_of_unknown_inputs() -> None:
    unknown = TensorType(DataType.FLOAT)
    assert infer_node("Attention", 23, [unknown, None, INPUTS[2]], outputs=3) == [
        unknown,
        None,
        floats("B", 2, "T", 32),
    ]


@pytest.mark.parametrize(
    ("inputs", "attributes"),
    [
        ([floats(1, 3, 1, 4), floats(1, 2, 5, 4), None], {}),
        ([floats(1, 2, 1, 4), floats(1, 2, 5, 3), None], {}),
        ([floats(1, 2, 1, 4), floats(2, 2, 5, 4), None], {}),
        ([floats(1, 4), None, None], {}),
        ([floats(1, 4, 6), None, None], {}),
        ([floats(1, 4, 6), None, None], {"q_num_heads": 4}),
        ([floats(1, 2, 1, 4), floats(1, 2, 5, 4), floats(1, 5, 8)], {"kv_num_heads": 2}),
        ([*INPUTS, None, floats(1, 2, 5, 4)], {}),
        ([floats(1, 2, 3, 4)] * 3 + [floats(2, 3)], {}),
        ([*INPUTS, floats(1, 1, 1, 1, 1)], {}),
        (INPUTS, {"qk_matmul_output_mode": 4}),
        (INPUTS, {"softmax_precision": 7}),
    ],
)
def test_contradictions_are_refused(inputs: list[Type | None], attributes: dict[str, object]) -> None:
    with pytest.raises(InferenceError):
        infer_node("Attention", 24, inputs, attributes)


@pytest.mark.parametrize(
    ("inputs", "absent", "outputs", "attributes"),
    [
        (INPUTS, (), 1, {"left_window_size": -2}),
        (INPUTS, (), 1, {"right_window_size": -3}),
        (INPUTS, (), 2, {}),
        ([*INPUTS, None, None, None, LENGTHS], (3, 4, 5), 3, {}),
        (INPUTS, (), 1, {"q_num_heads": 8, "kv_num_heads": 2}),
    ],
)
def test_version_25_refuses_what_excludes_each_other(
    inputs: list[Type | None], absent: tuple[int, ...], outputs: int, attributes: dict[str, object]
) -> None:
    with pytest.raises(InferenceError):
        infer_node("Attention", 25, inputs, attributes, outputs=outputs, absent=absent)


def test_a_mask_may_have_fewer_keys_from_24_on() -> None:
    q = floats(1, 2, 3, 4)
    assert infer_node("Attention", 24, [q, q, q, floats(3, 2)]) == [q]
    with pytest.raises(InferenceError, match=r"axis -1 of the mask must .*; got size 2"):
        infer_node("Attention", 23, [q, q, q, floats(3, 2)])
