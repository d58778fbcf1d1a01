import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import Case, assert_case
from ops.nn.window_loops import Setting, convolve, settings
from ops.tensor.operator_facets import (
    M,
    N,
    assert_contradiction,
    assert_refused,
    assert_too_large,
    f32,
    floats,
    infer_shape,
    make_inference,
)
from sardonyx._src.ir import TensorType
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.nn import convolution

H, W = symbol("H"), symbol("W")
X = np.arange(1, 10, dtype=np.float32).reshape(1, 1, 3, 3)
ONES = np.ones((1, 1, 2, 2), np.float32)
SUMS = f32([[[[12, 16], [24, 28]]]])
LINE = f32([[[1, 2, 3, 4, 5]]])
PAIR = f32([[[1, 10]]])
VERSIONS = (1, 11, 22)

CASES = [
    *(Case("Conv", v, [X, ONES], [SUMS], label="sums of squares of four") for v in VERSIONS),
    *(Case("Conv", v, [LINE, PAIR], [f32([[[21, 32, 43, 54]]])], label="not flipped") for v in VERSIONS),
    Case("Conv", 22, [X, ONES, f32([0.5])], [SUMS + f32(0.5)], label="bias"),
    Case("Conv", 22, [LINE, PAIR], [f32([[[21, 43]]])], {"strides": [2]}),
    Case("Conv", 22, [LINE, PAIR], [f32([[[31, 42, 53]]])], {"dilations": [2]}),
    Case("Conv", 22, [LINE, PAIR], [f32([[[10, 21, 32, 43, 54, 5, 0]]])], {"pads": [1, 2]}, "begin and end"),
    Case("Conv", 22, [LINE, PAIR], [f32([[[21, 32, 43, 54, 5]]])], {"auto_pad": "SAME_UPPER"}),
    Case("Conv", 22, [LINE, PAIR], [f32([[[10, 21, 32, 43, 54]]])], {"auto_pad": "SAME_LOWER"}),
    Case("Conv", 1, [LINE, PAIR], [f32([[[10, 21, 32, 43, 54]]])], {"auto_pad": "SAME_LOWER"}),
    Case("Conv", 22, [LINE, PAIR], [f32([[[21, 43, 5]]])], {"auto_pad": "SAME_UPPER", "strides": [2]}),
    Case("Conv", 22, [LINE, f32([[[3]]])], [f32([[[3, 12]]])], {"auto_pad": "SAME_UPPER", "strides": [3]}, "no pads"),
    Case("Conv", 22, [LINE, PAIR], [f32([[[21, 32, 43, 54]]])], {"auto_pad": "VALID", "pads": [1, 1]}, "pads void"),
    Case("Conv", 11, [X, ONES], [SUMS], {"kernel_shape": [2, 2]}),
    Case("Conv", 22, [f32([[[1, 2], [3, 4]]]), f32([[[1], [10]]])], [f32([[[31, 42]]])], label="channels add up"),
    Case(
        "Conv",
        22,
        [f32([[[1, 2], [3, 4]]]), f32([[[2]], [[3]]])],
        [f32([[[2, 4], [9, 12]]])],
        {"group": 2},
        "depthwise",
    ),
    Case(
        "Conv",
        22,
        [f32([[[1, 2], [3, 4]]]), f32([[[2]], [[5]], [[3]], [[7]]])],
        [f32([[[2, 4], [5, 10], [9, 12], [21, 28]]])],
        {"group": 2},
        "depthwise with two kernels each",
    ),
    Case(
        "Conv",
        22,
        [f32([[[1], [2], [3], [4]]]), f32([[[1], [10]], [[100], [1000]]])],
        [f32([[[21], [4300]]])],
        {"group": 2},
        "groups of two",
    ),
    Case("Conv", 22, [X[0], f32([[[1], [1], [1]]])], [f32([[[12, 15, 18]]])], label="one axis"),
    Case("Conv", 22, [np.ones((1, 1, 2, 2, 2), np.float32)] * 2, [f32([[[[[8]]]]])], label="three axes"),
    Case("Conv", 22, [np.ones((1, 1, 1, 2, 1, 2), np.float32)] * 2, [f32([[[[[[4]]]]]])], label="four axes"),
    Case("Conv", 22, [np.ones((0, 1, 3), np.float32), PAIR], [np.ones((0, 1, 2), np.float32)], label="no instances"),
    Case("Conv", 22, [np.ones((1, 1, 0), np.float32), f32([[[1]]])], [np.ones((1, 1, 0), np.float32)], label="empty"),
    Case(
        "Conv", 22, [np.ones((1, 0, 3), np.float32), np.ones((2, 0, 2), np.float32)], [np.zeros((1, 2, 2), np.float32)],
        label="no channels",
    ),
    Case("Conv", 22, [LINE.astype(np.float64), PAIR.astype(np.float64)], [np.array([[[21.0, 32, 43, 54]]])]),
    Case("Conv", 22, [LINE, f32([[[np.inf, 1]]])], [f32([[[np.nan, np.inf, np.inf, np.inf, np.inf]]])], {"pads": [1, 0]},
         "padding is zeros"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_narrow_floats_are_rounded_once(dtype: type[np.generic]) -> None:
    """256 ones and a half: steps in float16 or bfloat16 would lose the half each time, the sum in float32 does not."""
    x = np.array([[[256, 1, 1, 1, 1]]]).astype(dtype)
    assert_case(Case("Conv", 22, [x, np.ones((1, 1, 5), dtype)], [np.array([[[260]]]).astype(dtype)]))


@given(
    setting=settings(),
    groups=st.integers(1, 3),
    inputs=st.integers(1, 2),
    outputs=st.integers(1, 2),
    seed=st.integers(0, 9),
)
def test_every_setting_is_the_sum_over_taps(
    setting: Setting, groups: int, inputs: int, outputs: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(-9, 10, (2, groups * inputs, *setting.size)).astype(np.float32)
    w = rng.integers(-9, 10, (groups * outputs, inputs, *setting.kernel)).astype(np.float32)
    expected = convolve(x, w, setting, groups).astype(np.float32)
    assert_case(Case("Conv", 22, [x, w], [expected], {"group": groups, **setting.attributes}))


@pytest.mark.parametrize("block", [1, 30, 70])
def test_blocks_of_any_size_give_the_same(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of one row, of some rows, and of some images."""
    monkeypatch.setattr(convolution, "IM2COL_BLOCK_ELEMENTS", block)
    setting = Setting((5, 4), (2, 2), (1, 1), (1, 1), (0, 1), (1, 0))
    rng = np.random.default_rng(0)
    x = rng.integers(-9, 10, (3, 1, 5, 4)).astype(np.float32)
    w = rng.integers(-9, 10, (2, 1, 2, 2)).astype(np.float32)
    assert_case(Case("Conv", 22, [x, w], [convolve(x, w, setting, 1).astype(np.float32)], setting.attributes))


def test_inputs_may_be_read_only_and_strided() -> None:
    x = np.broadcast_to(f32(2), (1, 1, 4))
    assert_case(Case("Conv", 22, [x, PAIR[..., ::-1]], [f32([[[22, 22, 22]]])]))


@pytest.mark.parametrize(
    ("case", "match"),
    [
        (
            Case("Conv", 22, [X, np.ones((1, 2, 2, 2), np.float32)], [...]),
            r"x must .*; got 1 channels, W of shape \[1, 2, 2, 2\] and group 1",
        ),
        (
            Case("Conv", 22, [X, np.ones((3, 1, 2, 2), np.float32)], [...], {"group": 2}),
            r"x must .*; got 1 channels, W of shape \[3, 1, 2, 2\] and group 2",
        ),
        (Case("Conv", 22, [X, LINE], [...]), "x and W must have the same rank >= 2; got 4 and 3"),
        (
            Case("Conv", 22, [X, ONES], [...], {"kernel_shape": [3, 3]}),
            r"kernel_shape must be that of W, \[2, 2\]; got \[3, 3\]",
        ),
        (Case("Conv", 22, [X, ONES], [...], {"strides": [1]}), r"strides must have 2 entries; got 1: \[1\]"),
        (
            Case("Conv", 22, [X, np.ones((1, 1, 5, 5), np.float32)], [...]),
            r"a window of 5 must .*; got 3 elements \+ 0 \+ 0 padding",
        ),
        (Case("Conv", 22, [X, ONES, f32([1, 2])], [...]), r"the bias must have shape \[1\]; got \[2\]"),
    ],
)
def test_bad_values_are_refused(case: Case, match: str) -> None:
    assert_refused(case, match)


def test_padding_has_a_limit() -> None:
    assert_too_large(Case("Conv", 22, [X, ONES], [...], {"pads": [1 << 30, 0, 0, 1 << 30]}))


def test_symbols_stay_in_the_shape() -> None:
    inference = make_inference(
        "Conv", 22, [floats(N, 3, H, W), floats(8, 3, 3, 3)], pads=(1, 1, 1, 1), strides=(1, 2)
    )
    assert infer_shape(inference) == (N, 8, H, (W - 1) // 2 + 1)


def test_same_rounds_up() -> None:
    inference = make_inference(
        "Conv", 22, [floats(N, 3, H), floats(8, 3, None)], auto_pad="SAME_LOWER", strides=(2,)
    )
    assert infer_shape(inference) == (N, 8, (H + 1) // 2)


def test_kernel_shape_and_bias_give_sizes_that_the_kernel_does_not() -> None:
    inference = make_inference(
        "Conv", 22, [floats(N, 3, 10), TensorType(floats().dtype), floats(M)], kernel_shape=(3,)
    )
    assert infer_shape(inference) == (N, M, 8)


def test_a_symbolic_kernel_stays_in_the_shape() -> None:
    assert infer_shape(make_inference("Conv", 22, [floats(N, 3, H), floats(8, 3, W)])) == (N, 8, H - W + 1)


def test_unknown_sizes_stay_unknown() -> None:
    assert infer_shape(make_inference("Conv", 22, [floats(N, 3, None), floats(8, 3, 3)])) == (N, 8, None)
    assert (
        infer_shape(make_inference("Conv", 22, [TensorType(floats().dtype), TensorType(floats().dtype)]))
        is None
    )


W3 = floats(8, 3, 3)


@pytest.mark.parametrize(
    ("inference", "match"),
    [
        (
            make_inference("Conv", 22, [floats(1, 4, 8), W3]),
            r"x must have W\[1\] \* group = 3 \* 1 channels; got 4",
        ),
        (
            make_inference("Conv", 22, [floats(1, 6, 8), floats(9, 3, 3)], group=2),
            r"W\[0\] must be a multiple of group 2; got 9",
        ),
        (
            make_inference("Conv", 22, [floats(1, 3, 8), W3], strides=(1, 1)),
            r"strides must have 1 entries; got 2: \[1, 1\]",
        ),
        (make_inference("Conv", 22, [floats(1, 3, 8), W3], kernel_shape=(5,)), "contradict"),
        (
            make_inference("Conv", 22, [floats(1, 3, 2), floats(8, 3, 5)]),
            r"a window of 5 must .*; got 2 elements \+ 0 \+ 0 padding",
        ),
        (
            make_inference("Conv", 22, [floats(1, 3, 2, 2), W3]),
            "x and W must have the same rank >= 2; got 4 and 3",
        ),
        (make_inference("Conv", 22, [floats(1, 3, 8), W3], auto_pad="NONE"), "auto_pad"),
        (make_inference("Conv", 22, [floats(1, 3, 8), W3, floats(7)]), "the bias and W contradict"),
    ],
)
def test_contradictions_are_found(inference: Inference, match: str) -> None:
    assert_contradiction(inference, match)


def test_a_symbol_is_no_contradiction() -> None:
    assert infer_shape(make_inference("Conv", 22, [floats(1, N, 8), W3])) == (1, 8, 6)
