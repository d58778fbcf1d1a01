import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import Case, assert_case
from ops.nn.window_loops import Setting, convolve, settings
from ops.tensor.operator_facets import (
    FLOAT,
    N,
    assert_contradiction,
    assert_refused,
    f32,
    floats,
    infer_shape,
    make_inference,
)
from sardonyx._src.ir import TensorType
from sardonyx._src.ir.dims import symbol

H = symbol("H")
LINE = f32([[[10, 20, 40, 80]]])
PAIR = f32([[[1, 100]]])
ONE = f32([[[1]]])
BF = ml_dtypes.bfloat16


def still(*dims: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.zeros(dims, np.float32)


CASES = [
    *(Case("DeformConv", v, [LINE, PAIR, still(1, 2, 3)], [f32([[[2010, 4020, 8040]]])], label="Conv") for v in (19, 22)),
    *(Case("DeformConv", v, [LINE, ONE, f32([[[0.5, 0.25, 1, -2]]])], [f32([[[15, 25, 80, 20]]])], label="moved") for v in (19, 22)),
    Case("DeformConv", 22, [LINE, ONE, f32([[[-0.5, -3, 0.5, 1]]])], [f32([[[5, 0, 60, 0]]])], label="zeros outside"),
    Case("DeformConv", 22, [LINE, ONE, still(1, 1, 4), f32([7])], [LINE + f32(7)], label="bias"),
    Case("DeformConv", 22, [LINE, ONE, still(1, 1, 4), None, f32([[[1, 0, 0.5, 2]]])], [f32([[[10, 0, 20, 160]]])], label="mask"),
    Case("DeformConv", 22, [LINE, PAIR, f32([[[0, 0, 0], [0, 1, -1]]])], [f32([[[2010, 8020, 4040]]])], label="each tap moves"),
    Case("DeformConv", 22, [LINE, PAIR, still(1, 2, 2)], [f32([[[2010, 8040]]])], {"strides": [2]}),
    Case("DeformConv", 22, [LINE, PAIR, still(1, 2, 2)], [f32([[[4010, 8020]]])], {"dilations": [2]}),
    Case("DeformConv", 22, [LINE, PAIR, still(1, 2, 5)], [f32([[[1000, 2010, 4020, 8040, 80]]])], {"pads": [1, 1]}),
    Case(
        "DeformConv", 22, [f32([[[10, 20], [30, 40]]]), f32([[[1], [100]]]), f32([[[0, 0], [1, -1]]])],
        [f32([[[4010, 3020]]])], {"offset_group": 2}, "channels move by group",
    ),
    Case("DeformConv", 22, [f32([[[10, 20], [30, 40]]]), f32([[[1]], [[2]]]), still(1, 1, 2)], [f32([[[10, 20], [60, 80]]])], {"group": 2}),
    Case(
        "DeformConv", 22, [f32([[[[1, 2], [4, 8]]]]), f32([[[[1]]]]), f32([[[[0.5]], [[0.5]]]])],
        [f32([[[[3.75]]]])], {"strides": [2, 2]}, "four neighbors",
    ),
    Case(
        "DeformConv", 22, [f32([[[[1, 2], [4, 8]]]]), f32([[[[1]]]]), f32([[[[1]], [[0]]]])],
        [f32([[[[4]]]])], {"strides": [2, 2]}, "offsets name the first axis first",
    ),
    Case("DeformConv", 22, [LINE.astype(BF), ONE.astype(BF), still(1, 1, 4).astype(BF)], [LINE.astype(BF)]),
    Case("DeformConv", 19, [LINE.astype("f2"), ONE.astype("f2"), still(1, 1, 4).astype("f2")], [LINE.astype("f2")]),
    Case("DeformConv", 19, [LINE.astype("f8"), ONE.astype("f8"), still(1, 1, 4).astype("f8")], [LINE.astype("f8")]),
    Case("DeformConv", 22, [np.zeros((0, 1, 4), np.float32), ONE, still(0, 1, 4)], [np.zeros((0, 1, 4), np.float32)], label="no instances"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@given(setting=settings(), groups=st.integers(1, 2), offset_group=st.integers(1, 2), seed=st.integers(0, 9))
def test_without_offsets_it_is_a_convolution(
    setting: Setting, groups: int, offset_group: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(-9, 10, (2, 2, *setting.size)).astype(np.float32)
    w = rng.integers(-9, 10, (2, 2 // groups, *setting.kernel)).astype(np.float32)
    taps = int(np.prod(setting.kernel)) * offset_group
    offset = np.zeros((2, taps * len(setting.size), *setting.out), np.float32)
    attributes = {"group": groups, "offset_group": offset_group, **setting.attributes}
    assert_case(
        Case(
            "DeformConv",
            22,
            [x, w, offset],
            [convolve(x, w, setting, groups).astype(np.float32)],
            attributes,
        )
    )


@pytest.mark.parametrize(
    ("case", "match"),
    [
        (
            Case("DeformConv", 22, [LINE, ONE, still(1, 2, 4)], [...]),
            r"offset must have shape \[1, 1, 4\]; got \[1, 2, 4\]",
        ),
        (
            Case("DeformConv", 22, [LINE, ONE, still(1, 1, 4), None, still(1, 1, 3)], [...]),
            r"mask must have shape \[1, 1, 4\]; got \[1, 1, 3\]",
        ),
        (
            Case("DeformConv", 22, [LINE, ONE, still(1, 1, 4)], [...], {"offset_group": 2}),
            "offset_group must divide the 1 channels; got 2",
        ),
        (
            Case("DeformConv", 22, [LINE, ONE, still(1, 1, 4)], [...], {"group": 2}),
            r"x must .*; got 1 channels, W of shape \[1, 1, 1\] and group 2",
        ),
    ],
)
def test_bad_values_are_refused(case: Case, match: str) -> None:
    assert_refused(case, match)


def test_inference() -> None:
    inference = make_inference(
        "DeformConv", 22, [floats(N, 4, H), floats(8, 4, 3), None], pads=(1, 1), strides=(2,)
    )
    assert infer_shape(inference) == (N, 8, (H - 1) // 2 + 1)
    assert infer_shape(
        make_inference("DeformConv", 22, [floats(N, 4, None), floats(8, 4, 3), floats(N, 3, 7)])
    ) == (N, 8, 7)
    assert infer_shape(make_inference("DeformConv", 22, [TensorType(FLOAT), floats(8, 4, 3), None])) == (
        None,
        8,
        None,
    )
    assert_contradiction(
        make_inference("DeformConv", 22, [floats(N, 4, 9), floats(8, 4, 3), floats(N, 3, 8)]),
        "offset and the windows",
    )
    assert_contradiction(
        make_inference("DeformConv", 22, [floats(N, 4, 9), floats(8, 4, 3), floats(N, 3)]),
        "offset must have rank 3; got 2",
    )
    assert_contradiction(
        make_inference("DeformConv", 22, [floats(N, 4, 9), floats(8, 4, 3), floats(N, 6, 7)]),
        "offset and the windows",
    )
    assert_contradiction(
        make_inference("DeformConv", 22, [floats(N, 4, 9), floats(8, 4, 3), None], offset_group=3),
        "divide the 4 channels",
    )
    masked = make_inference("DeformConv", 22, [floats(N, 4, 9), floats(8, 4, 3), None, None, floats(N, 2, 7)])
    assert_contradiction(masked, "mask and the windows")
