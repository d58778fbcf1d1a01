import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import Case, assert_case
from ops.nn.window_loops import Setting, pool, settings
from ops.tensor.operator_facets import (
    N,
    assert_contradiction,
    assert_refused,
    f32,
    floats,
    infer_shape,
    make_inference,
)
from sardonyx._src.ir.dims import symbol

H = symbol("H")
LINE = f32([[[3, 4, 0, -5, 12]]])
VERSIONS = (2, 11, 18, 22)

CASES = [
    Case("LpPool", 1, [LINE], [f32([[[5, 4, 5, 13]]])], {"kernel_shape": [2]}, "p is 2"),
    Case("LpPool", 1, [LINE], [f32([[[7, 4, 5, 17]]])], {"kernel_shape": [2], "p": 1.0}, "p is 1"),
    Case("LpPool", 1, [f32([[[1, 4, 9]]])], [f32([[[9, 25]]])], {"kernel_shape": [2], "p": 0.5}, "p is a half"),
    *(Case("LpPool", v, [LINE], [f32([[[5, 4, 5, 13]]])], {"kernel_shape": [2]}, "p is 2") for v in VERSIONS),
    *(Case("LpPool", v, [LINE], [f32([[[7, 17]]])], {"kernel_shape": [2], "p": 1, "strides": [3]}, "p is 1") for v in VERSIONS),
    *(Case("LpPool", v, [f32([[[3, -4, 5]]])], [f32([[[6]]])], {"kernel_shape": [3], "p": 3}, "p is 3") for v in VERSIONS),
    *(Case("LpPool", v, [LINE], [f32([[[3, 4, 13]]])], {"kernel_shape": [2], "strides": [2], "pads": [1, 0]}, "pads") for v in VERSIONS),
    *(Case("LpPool", v, [LINE], [f32([[[5, 5, 12]]])], {"kernel_shape": [2], "strides": [2], "auto_pad": "SAME_UPPER"}) for v in (1, *VERSIONS)),
    *(Case("LpPool", v, [LINE], [f32([[[5, 5, 12]]])], {"kernel_shape": [2], "strides": [2], "ceil_mode": 1}, "ceil_mode") for v in (18, 22)),
    Case("LpPool", 18, [LINE], [f32([[[5, 13, 0]]])], {"kernel_shape": [2], "strides": [3], "pads": [0, 2], "ceil_mode": 1}, "a window of padding alone"),
    Case("LpPool", 22, [LINE], [f32([[[5, 13]]])], {"kernel_shape": [2], "strides": [3], "pads": [0, 2], "ceil_mode": 1}, "none starts there"),
    Case("LpPool", 18, [f32([[[3, 9, 4]]])], [f32([[[5]]])], {"kernel_shape": [2], "dilations": [2]}, "dilations"),
    Case("LpPool", 22, [f32([[[[1, 2], [3, 4]]]])], [f32([[[[10]]]])], {"kernel_shape": [2, 2], "p": 1}),
    Case("LpPool", 22, [LINE.astype(ml_dtypes.bfloat16)], [np.array([[[5, 4, 5, 13]]], ml_dtypes.bfloat16)], {"kernel_shape": [2]}),
    Case("LpPool", 11, [np.array([[[300, 400]]], np.float16)], [np.array([[[500]]], np.float16)], {"kernel_shape": [2]}, "the squares are wider"),
    Case("LpPool", 11, [f32([[[np.nan, 1, -np.inf]]])], [f32([[[np.nan, np.inf]]])], {"kernel_shape": [2]}, "NaN and infinity"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@given(setting=settings(2), p=st.integers(1, 3), seed=st.integers(0, 9))
def test_every_setting_is_the_root_of_the_sum_of_powers(setting: Setting, p: int, seed: int) -> None:
    x = np.random.default_rng(seed).integers(-9, 10, (2, 2, *setting.size)).astype(np.float64)
    expected = pool(x, setting, lambda values: sum(abs(v) ** p for v in values) ** (1 / p))
    assert_case(
        Case(
            "LpPool",
            22,
            [x],
            [expected],
            {"kernel_shape": list(setting.kernel), "p": p, **setting.attributes},
        )
    )


@pytest.mark.parametrize(
    ("case", "match"),
    [
        (Case("LpPool", 1, [LINE], [...]), "kernel_shape must be given: it alone defines the window size"),
        (Case("LpPool", 1, [LINE], [...], {"kernel_shape": [2], "p": -1.0}), r"p must be > 0; got -1\.0"),
    ],
)
def test_bad_values_are_refused(case: Case, match: str) -> None:
    assert_refused(case, match)


def test_symbols_stay_in_the_shape() -> None:
    assert infer_shape(make_inference("LpPool", 2, [floats(N, 3, H)], kernel_shape=(2,), strides=(2,))) == (
        N,
        3,
        H // 2,
    )
    assert_contradiction(
        make_inference("LpPool", 1, [floats(N, 3, H)]),
        "kernel_shape must be given: it alone defines the window size",
    )
    assert_contradiction(
        make_inference("LpPool", 22, [floats(N, 3, H)], kernel_shape=(2,), p=0), "p must be > 0; got 0"
    )
