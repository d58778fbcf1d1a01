import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import Case, assert_case
from ops.nn.window_loops import Setting, convolve, settings
from ops.tensor.operator_facets import (
    FLOAT,
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

H = symbol("H")
X = f32([[[1, 2, 3]]])
W = f32([[[1, 10]]])
THREE = f32([[[1, 10, 100]]])
ROUND = (1, 11, 22)
SAME = {"auto_pad": "SAME_UPPER", "strides": [2]}
BF = ml_dtypes.bfloat16

CASES = [
    *(Case("ConvTranspose", v, [X, W], [f32([[[1, 12, 23, 30]]])]) for v in ROUND),
    *(Case("ConvTranspose", v, [X, W], [f32([[[1, 10, 2, 20, 3, 30]]])], {"strides": [2]}) for v in ROUND),
    Case("ConvTranspose", 22, [X, W, f32([0.5])], [f32([[[1.5, 12.5, 23.5, 30.5]]])], label="bias"),
    Case("ConvTranspose", 22, [X, W], [f32([[[1, 2, 13, 20, 30]]])], {"dilations": [2]}),
    Case("ConvTranspose", 22, [X, W], [f32([[[12, 23]]])], {"pads": [1, 1]}),
    Case("ConvTranspose", 22, [X, W], [f32([[[12, 23, 30]]])], {"pads": [1, 0]}, "begin alone"),
    Case("ConvTranspose", 22, [X, W], [f32([[[1, 10, 2, 20, 3, 30, 0]]])], {"strides": [2], "output_padding": [1]}),
    Case("ConvTranspose", 22, [X, THREE], [f32([[[1, 10, 102, 20, 203, 30, 300]]])], {"strides": [2]}),
    Case("ConvTranspose", 22, [X, THREE], [f32([[[10, 102, 20, 203, 30, 300]]])],
         {"strides": [2], "pads": [1, 1], "output_padding": [1]}, "output_padding shows what pads cut"),
    Case("ConvTranspose", 22, [X, THREE], [f32([[[1, 10, 102, 20, 203, 30]]])], SAME, "the larger half at the end"),
    Case("ConvTranspose", 11, [X, THREE], [f32([[[10, 102, 20, 203, 30, 300]]])], {**SAME, "auto_pad": "SAME_LOWER"}),
    Case("ConvTranspose", 1, [X, THREE], [f32([[[1, 10, 102, 20, 203, 30]]])], SAME, "the larger half at the end"),
    Case("ConvTranspose", 22, [X, f32([[[1]]])], [f32([[[1, 0, 2, 0, 3, 0]]])], SAME, "SAME of a kernel below the stride"),
    Case("ConvTranspose", 22, [X, W], [f32([[[1, 12, 23, 30]]])], {"auto_pad": "VALID", "pads": [1, 1]}, "pads void"),
    *(Case("ConvTranspose", v, [X, THREE], [f32([[[10, 102, 20, 203, 30, 300]]])], {"strides": [2], "output_shape": [6]},
           "output_shape cuts at the start") for v in (11, 22)),
    *(Case("ConvTranspose", v, [X, THREE], [f32([[[1, 10, 102, 20, 203, 30]]])], {**SAME, "output_shape": [6]},
           "output_shape cuts at the end") for v in (11, 22)),
    Case("ConvTranspose", 1, [X, THREE], [f32([[[1, 10, 102, 20, 203, 30]]])], {"strides": [2], "output_shape": [6]}, "output_shape cuts at the end"),
    Case("ConvTranspose", 1, [X, THREE], [f32([[[10, 102, 20, 203, 30, 300]]])], {**SAME, "output_shape": [6]}, "output_shape cuts at the start"),
    Case("ConvTranspose", 1, [X, THREE], [f32([[[10, 102, 20, 203]]])], {"strides": [2], "output_shape": [1, 1, 4]}, "with batch and channels"),
    Case("ConvTranspose", 22, [X, THREE], [f32([[[102, 20, 203, 30]]])], {**SAME, "output_shape": [4], "pads": [9, 9], "output_padding": [1]}, "output_padding counts"),
    Case("ConvTranspose", 22, [X, W, f32([1])], [f32([[[2, 13, 24, 31, 1, 1]]])], {"output_shape": [6]}, "output_shape beyond the kernels"),
    Case("ConvTranspose", 22, [X, W], [f32([[[1, 12, 23, 30]]])], {"kernel_shape": [2]}),
    Case("ConvTranspose", 22, [f32([[[1], [2]]]), f32([[[1, 10]], [[100, 1000]]])], [f32([[[201, 2010]]])], {}, "channels add up"),
    Case("ConvTranspose", 22, [f32([[[1]]]), f32([[[1], [2], [3]]])], [f32([[[1], [2], [3]]])], {}, "channels are made"),
    Case("ConvTranspose", 22, [f32([[[1], [2]]]), f32([[[3], [4]], [[5], [6]]])], [f32([[[3], [4], [10], [12]]])], {"group": 2}, "groups"),
    Case("ConvTranspose", 22, [f32([[[[1, 2], [3, 4]]]]), f32([[[[1, 1], [1, 1]]]])], [f32([[[[1, 3, 2], [4, 10, 6], [3, 7, 4]]]])], {}, "two axes"),
    Case("ConvTranspose", 11, [X.astype(np.float16), W.astype(np.float16)], [np.array([[[1, 12, 23, 30]]], np.float16)]),
    Case("ConvTranspose", 22, [X.astype(BF), W.astype(BF)], [np.array([[[1, 12, 23, 30]]], BF)]),
    Case("ConvTranspose", 1, [X.astype("f8"), W.astype("f8")], [np.array([[[1.0, 12, 23, 30]]])]),
    Case("ConvTranspose", 22, [np.zeros((0, 1, 3), np.float32), W], [np.zeros((0, 1, 4), np.float32)], {}, "no instances"),
    Case("ConvTranspose", 22, [np.zeros((1, 0, 3), np.float32), np.zeros((0, 2, 2), np.float32)], [np.zeros((1, 2, 4), np.float32)], {}, "no channels"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@given(
    setting=settings(2),
    groups=st.integers(1, 2),
    inputs=st.integers(1, 2),
    outputs=st.integers(1, 2),
    seed=st.integers(0, 9),
)
def test_it_is_the_transpose_of_conv(
    setting: Setting, groups: int, inputs: int, outputs: int, seed: int
) -> None:
    """<conv(x), y> is <x, transposed(y)> for every x: here for each unit vector x, whose images make up the result."""
    rng = np.random.default_rng(seed)
    w = rng.integers(-9, 10, (groups * outputs, inputs, *setting.kernel)).astype(np.float32)
    y = rng.integers(-9, 10, (1, groups * outputs, *setting.out)).astype(np.float32)
    size = (groups * inputs, *setting.size)
    units = np.eye(int(np.prod(size)), dtype=np.float32).reshape(-1, *size)
    expected = (convolve(units, w, setting, groups) * y).sum(tuple(range(1, y.ndim))).reshape(1, *size)
    attributes = {"group": groups, **setting.attributes, "output_padding": rest(setting)}
    assert_case(Case("ConvTranspose", 22, [y, w], [expected.astype(np.float32)], attributes))


def rest(setting: Setting) -> list[int]:
    """The remainder after the last window of each axis."""
    axes = zip(
        setting.size,
        setting.kernel,
        setting.strides,
        setting.dilations,
        setting.begins,
        setting.ends,
        strict=True,
    )
    return [(n + b + e - d * (k - 1) - 1) % s for n, k, s, d, b, e in axes]


@pytest.mark.parametrize(
    ("case", "match"),
    [
        (
            Case("ConvTranspose", 22, [X, f32([[[1]], [[1]]])], [...]),
            r"x must .*; got 1 channels, W of shape \[2, 1, 1\] and group 1",
        ),
        (
            Case("ConvTranspose", 22, [X, W], [...], {"group": 2}),
            r"x must .*; got 1 channels, W of shape \[1, 1, 2\] and group 2",
        ),
        (Case("ConvTranspose", 22, [X, W[0]], [...]), "x and W must have the same rank >= 2; got 3 and 2"),
        (Case("ConvTranspose", 22, [X, W], [...], {"kernel_shape": [3]}), "kernel_shape"),
        (
            Case("ConvTranspose", 22, [X, W], [...], {"output_shape": [1, 1, 4]}),
            r"output_shape must have 1 entries; got 3: \[1, 1, 4\]",
        ),
        (
            Case("ConvTranspose", 22, [X, W], [...], {"pads": [3, 3]}),
            "sizes of the result must be >= 0; got -2 for spatial axis 0",
        ),
        (Case("ConvTranspose", 22, [X, W, f32([1, 2])], [...]), r"the bias must have shape \[1\]; got \[2\]"),
    ],
)
def test_bad_values_are_refused(case: Case, match: str) -> None:
    assert_refused(case, match)


def test_the_result_has_a_limit() -> None:
    assert_too_large(Case("ConvTranspose", 22, [X, W], [...], {"strides": [1 << 40]}))


def test_symbols_stay_in_the_shape() -> None:
    inference = make_inference(
        "ConvTranspose", 22, [floats(N, 4, H), floats(4, 3, 4)], strides=(2,), pads=(1, 1), group=2
    )
    assert infer_shape(inference) == (N, 6, 2 * H)
    assert infer_shape(
        make_inference(
            "ConvTranspose", 11, [floats(N, 4, H), floats(4, 3, None)], strides=(3,), auto_pad="SAME_UPPER"
        )
    ) == (
        N,
        3,
        3 * H,
    )
    assert infer_shape(
        make_inference("ConvTranspose", 11, [floats(N, 4, H), floats(4, M, None)], output_shape=(9,))
    ) == (
        N,
        M,
        9,
    )
    assert (
        infer_shape(
            make_inference("ConvTranspose", 11, [TensorType(FLOAT), TensorType(FLOAT)], kernel_shape=(3,))
        )
        == (None,) * 3
    )
    assert infer_shape(make_inference("ConvTranspose", 11, [TensorType(FLOAT), TensorType(FLOAT)])) is None


@pytest.mark.parametrize(
    ("inference", "match"),
    [
        (
            make_inference("ConvTranspose", 22, [floats(1, 4, 8), floats(3, 4, 3)]),
            "the channels of x and W contradict",
        ),
        (
            make_inference("ConvTranspose", 22, [floats(1, 4, 8), floats(4, 4)]),
            "x and W must have the same rank >= 2; got 3 and 2",
        ),
        (
            make_inference("ConvTranspose", 22, [floats(1, 4, 8), floats(4, 3, 3)], kernel_shape=(2,)),
            "kernel_shape and W",
        ),
        (
            make_inference("ConvTranspose", 22, [floats(1, 4, 8), floats(4, 3, 3)], strides=(0,)),
            r"entries of strides must be >= 1; got \[0\]",
        ),
        (
            make_inference("ConvTranspose", 22, [floats(1, 4, 8), floats(4, 3, 3), floats(2)]),
            "the bias and W",
        ),
    ],
)
def test_contradictions_are_found(inference: Inference, match: str) -> None:
    assert_contradiction(inference, match)
