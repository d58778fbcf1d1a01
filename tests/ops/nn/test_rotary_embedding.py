import ml_dtypes
import numpy as np
import pytest

from cases import Case, check
from ops.control.asking import ask, floats
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, InferenceError
from sardonyx._src.ir.types import TensorType, Type
from sardonyx._src.ops.api import RuntimeValue

F = np.float32


def array(values: object, *shape: int) -> np.ndarray:
    return np.array(values, F).reshape(shape)


# cos = 2 and sin = 10 are no angle's, but show where each goes: (a, b) becomes (2a - 10b, 10a + 2b).
COS, SIN = array([2, 2], 1, 1, 2), array([10, 10], 1, 1, 2)
X = array([1, 2, 3, 4], 1, 1, 1, 4)  # one head, one token
HALVES = array([2 - 30, 4 - 40, 10 + 6, 20 + 8], 1, 1, 1, 4)  # pairs (1, 3) and (2, 4)
NEIGHBOURS = array([2 - 20, 10 + 4, 6 - 40, 30 + 8], 1, 1, 1, 4)  # pairs (1, 2) and (3, 4)
FRONT = array([2 - 20, 10 + 4, 3, 4], 1, 1, 1, 4)

# Positions 0, 1, 2 turn by 0, 90 and 180 degrees.
TURNS = array([1, 0, -1], 3, 1), array([0, 1, 0], 3, 1)
TOKENS = array([1, 2, 1, 2, 1, 2], 1, 1, 3, 2)
TURNED = array([1, 2, -2, 1, -1, -2], 1, 1, 3, 2)
TWO_HEADS = array([1, 2, 3, 4, 1, 2, 3, 4], 1, 2, 4)  # packed: two tokens
TWO_TURNED = array([-2, 1, -4, 3, -1, -2, -3, -4], 1, 2, 4)
HALF = ml_dtypes.bfloat16

CASES = [
    Case("RotaryEmbedding", 23, [X, COS, SIN], [HALVES]),
    Case("RotaryEmbedding", 23, [X, COS, SIN], [NEIGHBOURS], {"interleaved": 1}, "interleaved"),
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
        [HALVES.astype(HALF)],
        label="bfloat16",
    ),
    Case("RotaryEmbedding", 23, [x.astype(np.float16) for x in (X, COS, SIN)], [HALVES.astype(np.float16)]),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    check(case)


@pytest.mark.parametrize(
    ("inputs", "attributes", "says"),
    [
        ([X[0, 0], COS, SIN], {}, "X has 2 axes"),
        ([TWO_HEADS, *TURNS, np.array([[1, 2]])], {}, "num_heads is None"),
        ([TWO_HEADS, *TURNS, np.array([[1, 2]])], {"num_heads": 3}, "which 3 heads cannot share"),
        ([X, COS, SIN], {"rotary_embedding_dim": 3}, "3 of 4 elements"),
        ([X, COS, SIN], {"rotary_embedding_dim": 6}, "6 of 4 elements"),
        (
            [X, COS, SIN],
            {"rotary_embedding_dim": 2},
            r"cos_cache gives angles of shape \[1, 1, 2\]; \[1, 1, 1\]",
        ),
        ([X, COS, SIN[..., :1]], {}, "sin_cache gives"),
        ([TOKENS, *TURNS, np.array([[0, 1, 3]])], {}, "position_ids do not all point into cos_cache"),
        ([TOKENS, *TURNS, np.array([[0, 1, -1]])], {}, "position_ids do not all point"),
        ([TOKENS, *TURNS, np.array([[0, 1]])], {}, "cos_cache gives angles"),
    ],
)
def test_bad_calls_are_refused(inputs: list[RuntimeValue], attributes: dict[str, object], says: str) -> None:
    with pytest.raises(EvaluationError, match=says):
        check(Case("RotaryEmbedding", 23, inputs, [...], attributes))


def test_the_type_stays() -> None:
    heads = {"num_heads": 2}
    assert ask("RotaryEmbedding", 23, [floats("B", "S", 8), None, None], heads) == [floats("B", "S", 8)]
    caches = [floats("B", "S", 2)] * 2
    assert ask("RotaryEmbedding", 23, [floats("B", "S", 8), *caches], heads) == [floats("B", "S", 8)]
    with pytest.raises(InferenceError, match="2 axes; 3 or 4"):
        ask("RotaryEmbedding", 23, [floats("B", "S"), None, None])


X4 = floats(1, 2, 3, 4)
PLACES = TensorType(DataType.INT64, (1, 3))


@pytest.mark.parametrize(
    ("inputs", "attributes", "says"),
    [
        ([floats(1, 2, 4), None, None], {}, "3 axes, and num_heads is None"),
        ([floats(1, 2, 4), None, None], {"num_heads": 3}, "which 3 heads cannot share"),
        ([X4, None, None], {"rotary_embedding_dim": 3}, "3 of 4 elements are to be turned"),
        ([X4, None, None], {"rotary_embedding_dim": 6}, "6 of 4 elements are to be turned"),
        ([X4, floats(1, 3, 2), floats(1, 3, 1)], {}, "cos_cache and sin_cache contradict"),
        ([X4, floats(1, 3, 4), floats(1, 3, 4)], {}, "the caches and half of what is turned contradict"),
        ([X4, floats(9, 2), floats(9, 2)], {}, "the caches and half of what is turned differ in rank"),
        ([X4, floats(9, 1), floats(9, 1), PLACES], {}, "the caches and half of what is turned contradict"),
        ([X4, None, None, TensorType(DataType.INT64, (1, 2))], {}, "position_ids and the tokens contradict"),
    ],
)
def test_inference_refuses_what_does_not_fit(
    inputs: list[Type | None], attributes: dict[str, object], says: str
) -> None:
    with pytest.raises(InferenceError, match=says):
        ask("RotaryEmbedding", 23, inputs, attributes)
