import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import Case, assert_case
from ops.nn.window_loops import Setting, pool, settings
from ops.tensor.operator_facets import N, assert_refused, f32, floats, infer_shape, make_inference
from sardonyx._src.ir.dims import symbol

H = symbol("H")
NAN = np.nan
LINE = f32([[[1, 3, 2, 6, 4]]])
IMAGE = np.arange(1, 10, dtype=np.float32).reshape(1, 1, 3, 3)
VERSIONS = (1, 7, 10, 11, 19, 22)
TWO = {"kernel_shape": [2], "strides": [2]}

CASES = [
    *(Case("AveragePool", v, [LINE], [f32([[[2, 2.5, 4, 5]]])], {"kernel_shape": [2]}) for v in VERSIONS),
    *(Case("AveragePool", v, [LINE], [f32([[[1, 2.5, 5]]])], {**TWO, "pads": [1, 0]}, "pads do not count") for v in VERSIONS),
    *(
        Case("AveragePool", v, [LINE], [f32([[[0.5, 2.5, 5]]])], {**TWO, "pads": [1, 0], "count_include_pad": 1}, "pads count")
        for v in VERSIONS[1:]
    ),
    *(Case("AveragePool", v, [LINE], [f32([[[2, 4, 4]]])], {**TWO, "auto_pad": "SAME_UPPER"}, "SAME_UPPER rounds up") for v in VERSIONS),
    *(Case("AveragePool", v, [LINE], [f32([[[1, 2.5, 5]]])], {**TWO, "auto_pad": "SAME_LOWER"}, "SAME_LOWER") for v in VERSIONS),
    Case("AveragePool", 7, [LINE], [f32([[[2, 4, 2]]])], {**TWO, "auto_pad": "SAME_UPPER", "count_include_pad": 1}, "SAME counts, too"),
    *(Case("AveragePool", v, [LINE], [f32([[[2, 4, 4]]])], {**TWO, "ceil_mode": 1}, "ceil_mode") for v in VERSIONS[2:]),
    *(
        Case("AveragePool", v, [LINE], [f32([[[2, 4, 4]]])], {**TWO, "ceil_mode": 1, "count_include_pad": 1}, "what ceil_mode reaches over never counts")
        for v in VERSIONS[2:]
    ),
    *(Case("AveragePool", v, [LINE], [f32([[[2, 5, NAN]]])], {"kernel_shape": [2], "strides": [3], "pads": [0, 2], "ceil_mode": 1}, "a window of padding alone") for v in (10, 11)),
    Case("AveragePool", 10, [LINE], [f32([[[2, 5, 0]]])], {"kernel_shape": [2], "strides": [3], "pads": [0, 2], "ceil_mode": 1, "count_include_pad": 1}, "padding alone, counted"),
    *(Case("AveragePool", v, [LINE], [f32([[[2, 5]]])], {"kernel_shape": [2], "strides": [3], "pads": [0, 2], "ceil_mode": 1}, "no window starts in the padding at the end") for v in (19, 22)),
    Case("AveragePool", 19, [LINE], [f32([[[1.5, 4.5, 3]]])], {"kernel_shape": [2], "dilations": [2]}, "dilations"),
    Case("AveragePool", 22, [IMAGE], [f32([[[[1, 2.5], [5.5, 7]]]])], {"kernel_shape": [2, 2], "strides": [2, 2], "pads": [1, 1, 0, 0]}, "corners"),
    Case("AveragePool", 22, [np.full((1, 1, 2, 2, 2), 3, np.float32)], [f32([[[[[3]]]]])], {"kernel_shape": [2, 2, 2]}),
    Case("AveragePool", 1, [LINE.astype(np.float16)], [np.array([[[2, 4]]], np.float16)], TWO),
    Case("AveragePool", 22, [LINE.astype(ml_dtypes.bfloat16)], [np.array([[[2, 4]]], ml_dtypes.bfloat16)], TWO),
    Case("AveragePool", 22, [np.array([[[60000, 60000]]], np.float16)], [np.array([[[60000]]], np.float16)], {"kernel_shape": [2]}, "the sum is wider"),
    Case("AveragePool", 22, [LINE.astype(np.float64)], [np.array([[[3.2]]])], {"kernel_shape": [5]}),
    Case("AveragePool", 22, [f32([[[NAN, 1, np.inf]]])], [f32([[[NAN, np.inf]]])], {"kernel_shape": [2]}, "NaN and infinity"),
    Case("AveragePool", 22, [np.zeros((0, 2, 3), np.float32)], [np.zeros((0, 2, 2), np.float32)], {"kernel_shape": [2]}, "no instances"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@given(setting=settings(), seed=st.integers(0, 9))
def test_every_setting_is_the_mean_of_what_lies_on_the_input(setting: Setting, seed: int) -> None:
    x = np.random.default_rng(seed).integers(-9, 10, (2, 2, *setting.size)).astype(np.float32)
    expected = pool(x, setting, lambda values: sum(values) / len(values) if values else NAN).astype(
        np.float32
    )
    attributes = {"kernel_shape": list(setting.kernel), **setting.attributes}
    assert_case(Case("AveragePool", 22, [x], [expected], attributes))


@given(setting=settings(), seed=st.integers(0, 9))
def test_with_pads_counted_every_window_has_as_many_elements(setting: Setting, seed: int) -> None:
    x = np.random.default_rng(seed).integers(-9, 10, (2, 2, *setting.size)).astype(np.float32)
    count = float(np.prod(setting.kernel))
    expected = pool(x, setting, lambda values: sum(values) / count).astype(np.float32)
    attributes = {"kernel_shape": list(setting.kernel), "count_include_pad": 1, **setting.attributes}
    assert_case(Case("AveragePool", 22, [x], [expected], attributes))


@pytest.mark.parametrize(
    ("case", "match"),
    [
        (Case("AveragePool", 22, [f32([1, 2])], [...], {"kernel_shape": [1]}), "rank 1"),
        (
            Case("AveragePool", 22, [LINE], [...], {"kernel_shape": [9]}),
            r"a window of 9 must .*; got 5 elements \+ 0 \+ 0 padding",
        ),
    ],
)
def test_bad_values_are_refused(case: Case, match: str) -> None:
    assert_refused(case, match)


def test_symbols_stay_in_the_shape() -> None:
    assert infer_shape(make_inference("AveragePool", 7, [floats(N, 3, H)], kernel_shape=(3,))) == (
        N,
        3,
        H - 2,
    )
    assert infer_shape(
        make_inference("AveragePool", 19, [floats(N, 3, H)], kernel_shape=(3,), dilations=(2,))
    ) == (
        N,
        3,
        H - 4,
    )
    assert infer_shape(
        make_inference(
            "AveragePool", 11, [floats(N, 3, H)], kernel_shape=(3,), strides=(2,), auto_pad="SAME_UPPER"
        )
    ) == (
        N,
        3,
        (H + 1) // 2,
    )
