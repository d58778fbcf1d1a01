import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case
from ops.control.node_inference import floats, infer_node
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, InferenceError
from sardonyx._src.ir import TensorType, Type
from sardonyx._src.ops.api import RuntimeValue

F = np.float32


def array(values: object, *shape: int) -> np.ndarray:
    return np.array(values, F).reshape(shape)


# cos = 2 and sin = 10 are no angle's, but show where each goes: (a, b) becomes (2a - 10b, 10a + 2b).
COS, SIN = array([2, 2], 1, 1, 2), array([10, 10], 1, 1, 2)
X = array([1, 2, 3, 4], 1, 1, 1, 4)  # one head, one token
SPLIT_PAIRS = array([2 - 30, 4 - 40, 10 + 6, 20 + 8], 1, 1, 1, 4)  # pairs (1, 3) and (2, 4)
NEIGHBORS = array([2 - 20, 10 + 4, 6 - 40, 30 + 8], 1, 1, 1, 4)  # pairs (1, 2) and (3, 4)
FRONT = array([2 - 20, 10 + 4, 3, 4], 1, 1, 1, 4)

# Positions 0, 1, 2 rotate by 0, 90 and 180 degrees.
TURNS = array([1, 0, -1], 3, 1), array([0, 1, 0], 3, 1)
TOKENS = array([1, 2, 1, 2, 1, 2], 1, 1, 3, 2)
TURNED = array([1, 2, -2, 1, -1, -2], 1, 1, 3, 2)
TWO_HEADS = array([1, 2, 3, 4, 1, 2, 3, 4], 1, 2, 4)  # packed: two tokens
TWO_TURNED = array([-2, 1, -4, 3, -1, -2, -3, -4], 1, 2, 4)
HALF = ml_dtypes.bfloat16

CASES = [
    Case("RotaryEmbedding", 23, [X, COS, SIN], [SPLIT_PAIRS]),
    Case("RotaryEmbedding", 23, [X, COS, SIN], [NEIGHBORS], {"interleaved": 1}, "interleaved"),
    Case(
        "RotaryEmbedding", 23, [X, COS[..., :1], SIN[..., :1]], [FRONT], {"rotary_embedding_dim": 2}, "a part"
    ),
    Case("RotaryEmbedding", 23, [TOKENS, *TURNS, np.array([[0, 1, 2]])], [TURNED], label="positions"),
    Case("RotaryEmbedding", 23, [TOKENS, TURNS[0][None], TURNS[1][None]], [TURNED], label="angles by token"),
    Case(
        "RotaryEmbedding",
        23,
        [TWO_HEADS, *TURNS, np.array([[1, 2]])],
        [TWO_TURNED],
        {"num_heads": 2},
        "packed heads",
    ),
    Case(
        "RotaryEmbedding",
        23,
        [x.astype(HALF) for x in (X, COS, SIN)],
        [SPLIT_PAIRS.astype(HALF)],
        label="bfloat16",
    ),
    Case(
        "RotaryEmbedding", 23, [x.astype(np.float16) for x in (X, COS, SIN)], [SPLIT_PAIRS.astype(np.float16)]
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize(
    ("inputs", "attributes", "message"),
    [
        ([X[0, 0], COS, SIN], {}, r"X must .*; got rank 2 and num_heads None"),
        ([TWO_HEADS, *TURNS, np.array([[1, 2]])], {}, r"X must .*; got rank 3 and num_heads None"),
        (
            [TWO_HEADS, *TURNS, np.array([[1, 2]])],
            {"num_heads": 3},
            "rows of X must be a multiple of 3 heads; got 4 elements",
        ),
        ([X, COS, SIN], {"rotary_embedding_dim": 3}, r"rotary_embedding_dim must .*; got 3"),
        ([X, COS, SIN], {"rotary_embedding_dim": 6}, r"rotary_embedding_dim must .*; got 6"),
        (
            [X, COS, SIN],
            {"rotary_embedding_dim": 2},
            r"cos_cache must give angles of shape \[1, 1, 1\]; got \[1, 1, 2\]",
        ),
        ([X, COS, SIN[..., :1]], {}, r"sin_cache must give angles of shape \[1, 1, 2\]; got \[1, 1, 1\]"),
        (
            [TOKENS, *TURNS, np.array([[0, 1, 3]])],
            {},
            "position_ids must be rows of cos_cache of rank 2; its shape is",
        ),
        (
            [TOKENS, *TURNS, np.array([[0, 1, -1]])],
            {},
            "position_ids must be rows of cos_cache of rank 2; its shape is",
        ),
        (
            [TOKENS, *TURNS, np.array([[0, 1]])],
            {},
            r"cos_cache must give angles of shape \[1, 3, 1\]; got \[1, 2, 1\]",
        ),
    ],
)
def test_bad_calls_are_refused(
    inputs: list[RuntimeValue], attributes: dict[str, object], message: str
) -> None:
    with pytest.raises(EvaluationError, match=message):
        assert_case(Case("RotaryEmbedding", 23, inputs, [...], attributes))


def test_the_type_stays() -> None:
    heads = {"num_heads": 2}
    assert infer_node("RotaryEmbedding", 23, [floats("B", "S", 8), None, None], heads) == [
        floats("B", "S", 8)
    ]
    caches = [floats("B", "S", 2)] * 2
    assert infer_node("RotaryEmbedding", 23, [floats("B", "S", 8), *caches], heads) == [floats("B", "S", 8)]
    with pytest.raises(InferenceError, match="input 0 must have rank 3 or 4; got rank 2"):
        infer_node("RotaryEmbedding", 23, [floats("B", "S"), None, None])


X4 = floats(1, 2, 3, 4)
PLACES = TensorType(DataType.INT64, (1, 3))


@pytest.mark.parametrize(
    ("inputs", "attributes", "message"),
    [
        ([floats(1, 2, 4), None, None], {}, "num_heads must be >= 1 for input 0 of rank 3; got None"),
        (
            [floats(1, 2, 4), None, None],
            {"num_heads": 3},
            "rows of input 0 must be a multiple of 3 heads; got 4 elements",
        ),
        ([X4, None, None], {"rotary_embedding_dim": 3}, "rotary_embedding_dim must .*; got 3"),
        ([X4, None, None], {"rotary_embedding_dim": 6}, "rotary_embedding_dim must .*; got 6"),
        ([X4, floats(1, 3, 2), floats(1, 3, 1)], {}, "cos_cache and sin_cache contradict"),
        (
            [X4, floats(1, 3, 4), floats(1, 3, 4)],
            {},
            "the caches and half the rotated elements contradict each other:",
        ),
        (
            [X4, floats(9, 2), floats(9, 2)],
            {},
            "the caches and half the rotated elements differ in rank: 2, 3",
        ),
        (
            [X4, floats(9, 1), floats(9, 1), PLACES],
            {},
            "the caches and half the rotated elements contradict each other:",
        ),
        ([X4, None, None, TensorType(DataType.INT64, (1, 2))], {}, "position_ids and the tokens contradict"),
    ],
)
def test_inference_refuses_what_does_not_fit(
    inputs: list[Type | None], attributes: dict[str, object], message: str
) -> None:
    with pytest.raises(InferenceError, match=message):
        infer_node("RotaryEmbedding", 23, inputs, attributes)
