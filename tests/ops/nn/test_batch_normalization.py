import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import Case, assert_case
from ops.tensor.operator_facets import (
    N,
    assert_contradiction,
    assert_refused,
    f32,
    floats,
    infer_types,
    make_inference,
)
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import TensorType

# Two channels; of the batch the means are 2 and 5, the variances 1 and 4.
X = f32([[[1, 3], [3, 7]], [[3, 1], [7, 3]]])
SCALE, BIAS = f32([2, 3]), f32([10, 20])
MEAN, VAR = f32([1, 3]), f32([4, 16])
P = [SCALE, BIAS, MEAN, VAR]
BY_GIVEN = f32([[[10, 12], [20, 23]], [[12, 10], [23, 20]]])  # (x - mean) / (2, 4) * scale + bias
BY_BATCH = f32([[[8, 12], [17, 23]], [[12, 8], [23, 17]]])  # (x - (2, 5)) / (1, 2) * scale + bias
E = {"epsilon": 0.0}
OLD = {"consumed_inputs": [0, 0, 0, 1, 1], **E}
TEST = {"is_test": 1}
RUNNING = [f32([1.25, 3.5]), f32([3.25, 13])]  # 3/4 of the given, 1/4 of the batch's
SAVED = [f32([2, 5]), f32([1, 4])]
KEEP = {"momentum": 0.75}
# Three features of one instance each: the batch's means are 2 and 6, the variances 1 and 4.
FEATURES = f32([[[1, 4]], [[3, 8]]])
EACH = [f32([[2, 3]]), f32([[10, 20]]), f32([[1, 4]]), f32([[4, 16]])]
FLAT = [p.reshape(-1) for p in EACH]
EACH_BY_GIVEN = f32([[[10, 20]], [[12, 23]]])
BF = ml_dtypes.bfloat16

CASES = [
    Case("BatchNormalization", 1, [X, *P], [BY_GIVEN], {**OLD, **TEST}),
    Case("BatchNormalization", 6, [X, *P], [BY_GIVEN], {**E, **TEST}),
    *(Case("BatchNormalization", v, [X, *P], [BY_GIVEN], E) for v in (7, 9, 14, 15)),
    Case("BatchNormalization", 1, [X, *P], [BY_BATCH, *RUNNING, *SAVED], {**OLD, **KEEP}, "training"),
    Case("BatchNormalization", 6, [X, *P], [BY_BATCH, *RUNNING, *SAVED], {**E, **KEEP}, "training"),
    Case("BatchNormalization", 6, [X, *P], [BY_BATCH], E, "training, Y alone"),
    *(Case("BatchNormalization", v, [X, *P], [BY_BATCH, *RUNNING, *SAVED], {**E, **KEEP}, "training") for v in (7, 9)),
    *(
        Case("BatchNormalization", v, [X, *P], [BY_BATCH, *RUNNING], {**E, **KEEP, "training_mode": 1}, "training")
        for v in (14, 15)
    ),
    Case("BatchNormalization", 14, [X, *P], [BY_BATCH], {**E, "training_mode": 1}, "training, Y alone"),
    *(Case("BatchNormalization", v, [FEATURES, *EACH], [EACH_BY_GIVEN], {**E, **a, "spatial": 0}, "by feature")
      for v, a in ((6, TEST), (7, {}))),
    Case("BatchNormalization", 1, [FEATURES, *FLAT], [EACH_BY_GIVEN], {**OLD, **TEST, "spatial": 0}, "by feature, in vectors"),
    Case(
        "BatchNormalization", 7, [FEATURES, *EACH],
        [f32([[[8, 17]], [[12, 23]]]), f32([[1.25, 4.5]]), f32([[3.25, 13]]), f32([[2, 6]]), f32([[1, 4]])],
        {**E, **KEEP, "spatial": 0}, "training by feature",
    ),
    Case("BatchNormalization", 9, [f32([1, 5]), *[p[:1] for p in P]], [f32([10, 14])], E, "one axis, one channel"),
    Case("BatchNormalization", 15, [X[:, :, 0], *P], [BY_GIVEN[:, :, 0]], E, "no spatial axes"),
    Case("BatchNormalization", 15, [X[..., None, None], *P], [BY_GIVEN[..., None, None]], E, "three spatial axes"),
    Case("BatchNormalization", 15, [f32([[3]]), f32([1]), f32([0]), f32([1]), f32([3])], [f32([[1]])], {"epsilon": 1.0}, "epsilon"),
    Case("BatchNormalization", 15, [f32([[1]]), f32([1]), f32([0]), f32([0]), f32([0])], [f32([[1e-5**-0.5]])], {}, "1e-5 is the default"),
    Case("BatchNormalization", 14, [X.astype(np.float16), *[p.astype(np.float16) for p in P]], [BY_GIVEN.astype(np.float16)], E),
    Case("BatchNormalization", 14, [X.astype(BF), *[p.astype(BF) for p in P]], [BY_GIVEN.astype(BF)], E),
    Case("BatchNormalization", 9, [X.astype(np.float64), *[p.astype(np.float64) for p in P]], [BY_GIVEN.astype(np.float64)], E),
    Case("BatchNormalization", 15, [X.astype(np.float16), SCALE, BIAS, MEAN.astype(BF), VAR.astype(BF)],
         [BY_BATCH.astype(np.float16), *[r.astype(BF) for r in RUNNING]], {**E, **KEEP, "training_mode": 1}, "three types"),
    Case("BatchNormalization", 15, [np.array([[300], [-300]], np.float16), *[np.ones(1, np.float16)] * 4],
         [np.array([[2], [0]], np.float16), np.ones(1, np.float16) * np.float16(0.9), np.array([9000], np.float16)],
         {"training_mode": 1}, "the variance is wider than float16"),
    Case("BatchNormalization", 15, [np.zeros((0, 2, 3), np.float32), *P], [np.zeros((0, 2, 3), np.float32)], {}, "no instances"),
    Case("BatchNormalization", 15, [f32([[np.nan, np.inf]]), *[np.ones(2, np.float32)] * 4], [f32([[np.nan, np.inf]])], {}, "NaN and infinity"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


def test_a_large_mean_does_not_drown_what_is_left() -> None:
    """Folded into x * a + b, float32 would lose the difference."""
    x, ones = f32([[1e6 + 0.25]]), f32([1])
    assert_case(
        Case("BatchNormalization", 15, [x, ones * 1000, f32([0]), f32([1e6]), ones], [f32([[250]])], E)
    )


@given(seed=st.integers(0, 20), spatial=st.integers(1, 6))
def test_training_brings_each_channel_to_mean_0_and_variance_1(seed: int, spatial: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(3, 2, (4, 3, spatial))
    ones, zero = np.ones(3), np.zeros(3)
    y = (x - x.mean((0, 2), keepdims=True)) / x.std((0, 2), keepdims=True)
    assert_case(Case("BatchNormalization", 15, [x, ones, zero, zero, ones], [y], {**E, "training_mode": 1}))


@pytest.mark.parametrize(
    ("case", "match"),
    [
        (
            Case("BatchNormalization", 15, [X, *P], [..., ..., ...]),
            "outputs besides Y must not be requested in inference: only",
        ),
        (
            Case("BatchNormalization", 6, [X, *P], [..., ...], TEST),
            "outputs besides Y must not be requested in inference: only",
        ),
        (
            Case("BatchNormalization", 15, [X, f32([1]), *P[1:]], [...]),
            r"scale must have shape \[2\]; got \[1\]",
        ),
        (
            Case("BatchNormalization", 15, [X, *P[:3], f32([[1, 2]])], [...]),
            r"var must have shape \[2\]; got \[1, 2\]",
        ),
        (
            Case("BatchNormalization", 7, [X, *P], [...], {"spatial": 0}),
            r"scale must have shape \[2, 2\], or a vector of that size; got \[2\]",
        ),
        (Case("BatchNormalization", 15, [f32(1), *P], [...]), "a scalar"),
    ],
)
def test_bad_values_are_refused(case: Case, match: str) -> None:
    assert_refused(case, match)


def test_statistics_have_the_type_of_the_mean() -> None:
    mean = TensorType(DataType.DOUBLE, (3,))
    inference = make_inference(
        "BatchNormalization", 15, [floats(N, 3, None), None, None, mean, None], outputs=3
    )
    assert infer_types(inference) == [floats(N, 3, None), mean, mean]


def test_channels_are_known_from_the_parameters() -> None:
    inference = make_inference(
        "BatchNormalization", 9, [None, floats(N), None, TensorType(DataType.FLOAT), None], outputs=2
    )
    assert infer_types(inference) == [None, floats(N)]


def test_contradictions_are_found() -> None:
    assert_contradiction(
        make_inference("BatchNormalization", 15, [floats(1, 3), floats(4)]),
        "input 1 must have 3 elements, one per channel; got 4",
    )
    assert_contradiction(make_inference("BatchNormalization", 15, [floats(1, 3), floats(3, 1)]), "rank 2")
    assert_contradiction(make_inference("BatchNormalization", 15, [floats()]), "a scalar")
