from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import Case, assert_case
from ops.control.node_inference import floats, infer_node
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, InferenceError, LimitError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ir.dims import symbol

F = np.float32
# 1-grams 5 and 6, the 2-gram 5 6; their places are 2, 0 and 1.
POOL = {
    "mode": "TF",
    "min_gram_length": 1,
    "max_gram_length": 2,
    "max_skip_count": 0,
    "ngram_counts": [0, 2],
    "ngram_indexes": [2, 0, 1],
    "pool_int64s": [5, 6, 5, 6],
}
TEXTS = {k: v for k, v in POOL.items() if k != "pool_int64s"} | {"pool_strings": ["a", "b", "a", "b"]}
WEIGHTS = {"weights": [10.0, 20.0, 30.0]}
X = np.array([5, 6, 5, 6, 5])


def case(x: Array, y: object, label: object = "", **attributes: object) -> Case:
    return Case("TfIdfVectorizer", 9, [x], [np.array(y, F)], attributes, str(label))


CASES = [
    case(X, [2, 2, 3], **POOL),
    case(X, [2, 2, 3], "TF has no weights", **POOL | WEIGHTS),
    case(X, [20, 30, 10], "IDF", **POOL | WEIGHTS | {"mode": "IDF"}),
    case(X, [40, 60, 30], "TFIDF", **POOL | WEIGHTS | {"mode": "TFIDF"}),
    case(X, [1, 1, 1], "IDF, weights 1", **POOL | {"mode": "IDF"}),
    case(np.array([[5, 6], [6, 6]]), [[1, 1, 1], [2, 0, 0]], "rows", **POOL),
    case(X, [0, 2, 0], "2-grams alone", **POOL | {"min_gram_length": 2}),
    case(X, [2, 0, 3], "1-grams alone", **POOL | {"max_gram_length": 1}),
    case(X, [2, 3, 3], "1-grams count once whatever is skipped", **POOL | {"max_skip_count": 3}),
    case(np.array([5, 0, 6]), [1, 0, 1], "no skip", **POOL),
    case(np.array([5, 0, 6]), [1, 1, 1], "one skip", **POOL | {"max_skip_count": 1}),
    case(X, [2, 2, 0, 0, 3], "places without n-gram", **POOL | {"ngram_indexes": [4, 0, 1]}),
    case(X, [5, 2], "one place for two", **POOL | {"ngram_indexes": [0, 0, 1]}),
    case(X, [30, 30], "one place for two", **POOL | WEIGHTS | {"ngram_indexes": [0, 0, 1], "mode": "IDF"}),
    case(X, [70, 60], "one place for two", **POOL | WEIGHTS | {"ngram_indexes": [0, 0, 1], "mode": "TFIDF"}),
    case(X, [3, 2, 3], "one n-gram twice", **POOL | {"pool_int64s": [5, 5, 5, 6]}),
    case(np.array(["b", "a", "b", "z"], object), [2, 1, 1], "strings", **TEXTS),
    case(np.array([5, 6], np.int32), [1, 1, 1], "int32", **POOL),
    case(np.zeros((2, 0), np.int64), [[0, 0, 0], [0, 0, 0]], "no tokens", **POOL),
    case(np.zeros((0, 2), np.int64), np.zeros((0, 3)), "no rows", **POOL),
    case(np.array([1, 2, 3, 1, 2, 4]), [1, 1, 2], "3-grams", **POOL | {"max_gram_length": 3, "ngram_counts": [0, 0, 2],
         "ngram_indexes": [2, 0, 1], "pool_int64s": [1, 2, 1, 2, 3, 1, 2, 4]}),
    # The text's own example: with two skips [94, 12] and [17, 28] are 2-grams.
    case(np.array([94, 17, 36, 12, 28]), [1, 1], "two skips", **POOL | {"min_gram_length": 2, "max_skip_count": 2, "ngram_counts": [0, 0],
         "ngram_indexes": [0, 1], "pool_int64s": [94, 12, 17, 28]}),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@given(st.lists(st.integers(0, 2), max_size=12), st.integers(0, 3))
def test_n_grams_are_counted_at_every_distance(tokens: list[int], skips: int) -> None:
    pool = [(a,) for a in range(3)] + [(a, b) for a in range(2) for b in range(3)] + [(0, 1, 0), (2, 2, 1)]
    counts: Counter[tuple[int, ...]] = Counter((t,) for t in tokens)
    for n in (2, 3):
        for distance in range(1, skips + 2):
            for start in range(len(tokens) - (n - 1) * distance):
                counts[tuple(tokens[start : start + n * distance : distance])] += 1
    attributes = {
        "max_gram_length": 3,
        "max_skip_count": skips,
        "ngram_counts": [0, 3, 15],
        "ngram_indexes": list(range(len(pool))),
        "pool_int64s": [t for gram in pool for t in gram],
    }
    x = np.array(tokens, np.int64)
    assert_case(case(x, [counts[gram] for gram in pool], **POOL | attributes))


@pytest.mark.parametrize(
    ("x", "changed", "message"),
    [
        (X, {"max_gram_length": 3}, "max <= 2, the entries of ngram_counts"),
        (X, {"min_gram_length": 2, "max_gram_length": 1}, "gram lengths must .*; got 2 and 1"),
        (X, {"ngram_counts": [0, 3]}, r"ngram_counts must .*; got \[0, 3\]"),
        (X, {"ngram_counts": [0, 9]}, r"ngram_counts must .*; got \[0, 9\]"),
        (X, {"ngram_counts": [-2, 2]}, r"ngram_counts must .*; got \[-2, 2\]"),
        (X, {"ngram_indexes": [0, 1]}, "ngram_indexes must have 3 elements"),
        (X, {"ngram_indexes": [0, 1, -1]}, "ngram_indexes must be >= 0; got -1"),
        (X, {"mode": "IDF", "weights": [1.0]}, "weights must have 3 elements, one per n-gram; got 1"),
        (X, {"pool_strings": ["a"]}, "exactly one of pool_int64s and pool_strings"),
        (np.array(["a"], object), {}, "X must have the element type of the pool; got STRING"),
        (np.zeros((1, 1, 1), np.int64), {}, r"X must be \[C\] or \[N, C\]; got shape \[1, 1, 1\]"),
        (np.array(5), {}, r"X must be \[C\] or \[N, C\]; got shape \[\]"),
    ],
)
def test_bad_values_are_refused(x: Array, changed: dict[str, object], message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        assert_case(case(x, [], **POOL | changed))


def test_a_result_that_is_too_large_is_refused() -> None:
    with pytest.raises(LimitError, match="TfIdfVectorizer result"):
        assert_case(case(X, [], **POOL | {"ngram_indexes": [0, 1, 2**40]}))


def test_types_of_results() -> None:
    n = symbol("N")
    x = TensorType(DataType.INT64, (n, 7))
    pool = {
        "max_skip_count": 0,
        "min_gram_length": 1,
        "max_gram_length": 1,
        "ngram_counts": (0,),
        "mode": "TF",
    }
    numbers = {**pool, "ngram_indexes": (0, 4), "pool_int64s": (7, 8)}
    words = {**pool, "ngram_indexes": (0, 4), "pool_strings": ("a", "b")}
    assert infer_node("TfIdfVectorizer", 9, [x], numbers) == [floats("N", 5)]
    assert infer_node("TfIdfVectorizer", 9, [TensorType(DataType.STRING, (n,))], words) == [floats(5)]
    with pytest.raises(InferenceError, match="rank 3"):
        infer_node("TfIdfVectorizer", 9, [TensorType(DataType.INT64, (n, n, n))], numbers)
    for wrong, message in (
        ({"max_gram_length": 2}, "gram lengths must .*; got 1 and 2"),
        ({"ngram_indexes": (0,)}, "ngram_indexes must have 2 elements, one per n-gram; got 1"),
        ({"max_skip_count": -1}, "max_skip_count must be >= 0; got -1"),
        ({"pool_int64s": ()}, "exactly one of pool_int64s and pool_strings"),
    ):
        with pytest.raises(InferenceError, match=message):
            infer_node("TfIdfVectorizer", 9, [x], numbers | wrong)
