import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import Case, assert_case
from ops.nn.window_loops import Setting, settings
from ops.tensor.operator_facets import (
    FLOAT,
    N,
    assert_contradiction,
    assert_refused,
    assert_too_large,
    f32,
    floats,
    i64,
    infer_shape,
    make_inference,
    strs,
    vec,
)
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import TensorType
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ops.inference import Inference
from sardonyx._src.schema import exact

H, W = symbol("H"), symbol("W")
ROWS = f32([[[1, 2, 3, 4], [10, 20, 30, 40]]])  # the left and the right elements of four blocks of 1 x 2
IMAGE, BLOCK = i64([2, 3]), i64([1, 2])

CASES = [
    Case("Col2Im", 18, [ROWS, IMAGE, BLOCK], [f32([[[[1, 12, 20], [3, 34, 40]]]])]),
    Case("Col2Im", 18, [ROWS, i64([2, 4]), BLOCK], [f32([[[[1, 10, 2, 20], [3, 30, 4, 40]]]])], {"strides": [1, 2]}),
    Case("Col2Im", 18, [ROWS, i64([2, 5]), BLOCK], [f32([[[[1, 10, 2, 20, 0], [3, 30, 4, 40, 0]]]])], {"strides": [1, 2]}, "a rest"),
    Case("Col2Im", 18, [ROWS, i64([2, 4]), BLOCK], [f32([[[[1, 2, 10, 20], [3, 4, 30, 40]]]])], {"dilations": [1, 2]}),
    Case("Col2Im", 18, [ROWS, i64([1, 4]), i64([1, 2])], [f32([[[[12, 23, 34, 40]]]])], {"pads": [0, 1, 0, 0]}, "pads are cut"),
    Case("Col2Im", 18, [f32([[[1], [2], [3], [4]]]), i64([1, 2]), BLOCK], [f32([[[[1, 2]], [[3, 4]]]])], label="channels"),
    Case("Col2Im", 18, [f32([[[1], [2]]]), i64([2]), i64([2])], [f32([[[1, 2]]])], label="one axis"),
    Case("Col2Im", 18, [np.ones((1, 8, 1), np.float32), i64([2, 2, 2]), i64([2, 2, 2])], [np.ones((1, 1, 2, 2, 2), np.float32)], label="three axes"),
    Case("Col2Im", 18, [strs([[["a", "c"], ["b", "d"]]]), i64([2, 3]), BLOCK], [strs([[[["a", "b", ""], ["c", "d", ""]]]])], {"strides": [1, 2]}),
    Case("Col2Im", 18, [np.array([[[True, False], [False, False]]]), i64([1, 3]), BLOCK], [np.array([[[[True, False, False]]]])], label="bool by or"),
    Case("Col2Im", 18, [np.array([[[100, 100], [100, 100]]], np.int8), i64([1, 3]), BLOCK], [np.array([[[[100, -56, 100]]]], np.int8)], label="wraps around"),
    Case("Col2Im", 18, [np.zeros((0, 2, 4), np.float32), IMAGE, BLOCK], [np.zeros((0, 1, 2, 3), np.float32)], label="no instances"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


def test_every_element_type_moves() -> None:
    schema = exact("", "Col2Im", 18)
    assert schema is not None
    for text in schema.type_constraints["T"]:
        dtype = DataType.parse(text.removeprefix("tensor(").removesuffix(")"))
        if dtype is DataType.STRING:
            continue
        x = np.array([[[1], [0]]]).astype(dtype.numpy)
        assert_case(Case("Col2Im", 18, [x, i64([1, 2]), BLOCK], [x.reshape(1, 1, 1, 2)]))


def test_narrow_sums_are_rounded_once() -> None:
    """2048 + 1 + 1 is 2050 in float16, but 2048 if each step is rounded."""
    x = np.array([[[0, 0, 1], [0, 2048, 0], [1, 0, 0]]], np.float16)
    expected = np.array([[[[0, 0, 2050, 0, 0]]]], np.float16)
    assert_case(Case("Col2Im", 18, [x, i64([1, 5]), i64([1, 3])], [expected]))
    bf = ml_dtypes.bfloat16
    x = np.array([[[0, 0, 1], [0, 256, 0], [1, 0, 0]]], bf)
    assert_case(Case("Col2Im", 18, [x, i64([1, 5]), i64([1, 3])], [np.array([[[[0, 0, 258, 0, 0]]]], bf)]))


@given(setting=settings(), seed=st.integers(0, 9))
def test_each_element_returns_to_its_source_position(setting: Setting, seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = rng.integers(-9, 10, (2, *setting.kernel, *setting.out)).astype(np.float32)
    expected = np.zeros((1, 2, *setting.size), np.float32)
    for window in np.ndindex(*setting.out):
        for tap, place in setting.taps(window):
            for channel in range(2):
                expected[(0, channel, *place)] += columns[(channel, *tap, *window)]
    x = columns.reshape(1, 2 * int(np.prod(setting.kernel)), int(np.prod(setting.out)))
    assert_case(
        Case("Col2Im", 18, [x, i64(setting.size), i64(setting.kernel)], [expected], setting.attributes)
    )


@pytest.mark.parametrize(
    ("case", "match"),
    [
        (
            Case("Col2Im", 18, [ROWS[:, :, :3], IMAGE, BLOCK], [...]),
            r"the input must be \[N, C \* 2, 4\]; got \[1, 2, 3\]",
        ),
        (
            Case("Col2Im", 18, [ROWS[:, :1], IMAGE, BLOCK], [...]),
            r"the input must be \[N, C \* 2, 4\]; got \[1, 1, 4\]",
        ),
        (
            Case("Col2Im", 18, [ROWS[0], IMAGE, BLOCK], [...]),
            r"the input must be \[N, C \* 2, 4\]; got \[2, 4\]",
        ),
        (Case("Col2Im", 18, [ROWS, i64([2, 3, 4]), BLOCK], [...]), "kernel_shape|entries"),
        (
            Case("Col2Im", 18, [ROWS, i64([-2, 3]), BLOCK], [...]),
            r"entries of image_shape must be >= 0; got \[-2, 3\]",
        ),
        (
            Case("Col2Im", 18, [ROWS, IMAGE, i64([0, 2])], [...]),
            r"entries of kernel_shape must be >= 1; got \[0, 2\]",
        ),
        (
            Case("Col2Im", 18, [strs([[["a", "b"], ["c", "d"]]]), i64([1, 3]), BLOCK], [...]),
            "blocks of strings must not overlap: strings cannot be added",
        ),
    ],
)
def test_bad_values_are_refused(case: Case, match: str) -> None:
    assert_refused(case, match)


def test_the_result_has_a_limit() -> None:
    many = np.zeros((1, 1, 1), np.float32)
    assert_too_large(
        Case(
            "Col2Im", 18, [many, i64([1 << 20, 1 << 20]), i64([1, 1])], [...], {"strides": [1 << 20, 1 << 20]}
        )
    )


def test_inference() -> None:
    inference = make_inference("Col2Im", 18, [floats(N, 12, None), None, None], {1: vec(H, W), 2: vec(2, 3)})
    assert infer_shape(inference) == (N, 2, H, W)
    assert infer_shape(
        make_inference("Col2Im", 18, [floats(N, 6 * H, None), None, None], {1: vec(8, None), 2: vec(2, 3)})
    ) == (
        N,
        H,
        8,
        symbol("new0"),
    )
    assert (
        infer_shape(make_inference("Col2Im", 18, [TensorType(FLOAT), None, None], {2: vec(2, 3)}))
        == (None,) * 4
    )
    assert infer_shape(make_inference("Col2Im", 18, [floats(N, 12, None), None, None])) is None


@pytest.mark.parametrize(
    ("inference", "match"),
    [
        (
            make_inference("Col2Im", 18, [floats(1, 7, 4), None, None], {1: vec(2, 3), 2: vec(1, 2)}),
            "rows of the input must .*; got 7",
        ),
        (make_inference("Col2Im", 18, [floats(1, 7), None, None], {1: vec(2, 3)}), "rank 2"),
    ],
)
def test_contradictions_are_found(inference: Inference, match: str) -> None:
    assert_contradiction(inference, match)
