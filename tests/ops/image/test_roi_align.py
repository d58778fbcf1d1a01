from collections.abc import Mapping

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sardonyx as sx
from cases import Case, assert_case
from models import parse_model
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
    ints,
    make_inference,
)
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.ops.image import roi_align
from sardonyx._src.ops.inference import Inference

R = symbol("R")
# The pixel at (x, y) is 10 x + 100 y, so every point between pixels is, too.
SLOPE = (10 * np.arange(4) + 100 * np.arange(4)[:, None]).astype(np.float32)[None, None]
ROW = f32([[[[0, 0, 8, 0]]]])
FIRST = i64([0])
TWO = {"output_height": 2, "output_width": 2}
OUTPUT = {"coordinate_transformation_mode": "output_half_pixel"}
BF = ml_dtypes.bfloat16


def roi(*corners: float) -> Array:
    return f32([corners])


AS_THEY_ARE: list[tuple[list[RuntimeValue], Array, Mapping[str, object], str]] = [
    # inputs, result, attributes: without the shift by half a pixel, as version 10 has it
    ([SLOPE, roi(1, 1, 3, 3), FIRST], f32([[[[165, 175], [265, 275]]]]), TWO, "the middles of four bins"),
    ([SLOPE, roi(1, 1, 3, 3), FIRST], f32([[[[220]]]]), {}, "one bin"),
    ([SLOPE, roi(2, 2, 6, 6), FIRST], f32([[[[165, 175], [265, 275]]]]), {**TWO, "spatial_scale": 0.5}, "spatial_scale"),
    ([SLOPE, roi(1, 1, 1, 1), FIRST], f32([[[[165]]]]), {}, "at least one pixel wide"),
    ([SLOPE, roi(2, 1, 1, 3), FIRST], f32([[[[225]]]]), {}, "reversed ends count as one pixel"),
    ([ROW, roi(0, 0, 4, 1), FIRST], f32([[[[2]]]]), {}, "four points: 0, 4, 4, 0"),
    ([ROW, roi(0, 0, 4, 1), FIRST], f32([[[[8]]]]), {"sampling_ratio": 1}, "one point"),
    ([ROW, roi(0, 0, 4, 1), FIRST], f32([[[[0]]]]), {"sampling_ratio": 2}, "two points"),
    ([ROW, roi(0, 0, 4, 1), FIRST], f32([[[[4]]]]), {"mode": "max"}, "the greatest of the weighted pixels"),
    ([SLOPE, roi(1, 0.5, 2, 1.5), FIRST], f32([[[[60]]]]), {"mode": "max", "sampling_ratio": 1}, "half of 120, not 115"),
    ([SLOPE, roi(3.5, 0, 4.5, 1), FIRST], f32([[[[80]]]]), {"sampling_ratio": 1}, "up to the size, the border"),
    ([SLOPE, roi(3.625, 0, 4.625, 1), FIRST], f32([[[[0]]]]), {"sampling_ratio": 1}, "beyond it, nothing"),
    ([SLOPE, roi(-1.5, 0, -0.5, 1), FIRST], f32([[[[50]]]]), {"sampling_ratio": 1}, "down to -1, the border"),
    ([SLOPE, roi(-1.625, 0, -0.625, 1), FIRST], f32([[[[0]]]]), {"sampling_ratio": 1}, "below it, nothing"),
    ([np.concatenate([SLOPE, SLOPE + 1]), f32([[1, 1, 3, 3], [0, 0, 2, 2]]), i64([1, 0])], f32([[[[221]]], [[[110]]]]), {}, "each its image"),
    ([np.concatenate([SLOPE, SLOPE + 1], 1), roi(1, 1, 3, 3), FIRST], f32([[[[220]], [[221]]]]), {}, "channels"),
    ([SLOPE, np.zeros((0, 4), np.float32), i64([])], np.zeros((0, 1, 2, 2), np.float32), TWO, "no regions"),
]  # fmt: skip

CASES = [
    *(Case("RoiAlign", 10, inputs, [y], a, label) for inputs, y, a, label in AS_THEY_ARE),
    *(Case("RoiAlign", v, inputs, [y], {**a, **OUTPUT}, label) for v in (16, 22) for inputs, y, a, label in AS_THEY_ARE),
    *(Case("RoiAlign", v, [SLOPE, roi(1, 1, 3, 3), FIRST], [f32([[[[110, 120], [210, 220]]]])], TWO, "moved by half a pixel") for v in (16, 22)),
    *(Case("RoiAlign", v, [SLOPE, roi(1, 1, 1, 1), FIRST], [f32([[[[55]]]])], {"sampling_ratio": 2}, "as small as it is") for v in (16, 22)),
    *(Case("RoiAlign", v, [SLOPE, roi(1, 1, 1, 1), FIRST], [f32([[[[0]]]])], {}, "no points") for v in (16, 22)),
    *(Case("RoiAlign", v, [SLOPE, roi(0, 0, 1, 1), FIRST], [f32([[[[13.75]]]])], {"sampling_ratio": 2}, "points at -1/4 and 1/4") for v in (16, 22)),
    *(Case("RoiAlign", v, [ROW, roi(2, 0, 3, 1), FIRST], [f32([[[[8]]]])], {"mode": "max"}, "a pixel itself") for v in (16, 22)),
    Case("RoiAlign", 22, [SLOPE, f32([[1, 1, 3, 3], [0, 0, 4, 2], [1, 1, 3, 3]]), i64([0, 0, 0])],
         [f32([[[[165]]], [[[65]]], [[[165]]]])], {}, "regions with other grids"),
    Case("RoiAlign", 10, [SLOPE.astype(np.float16), roi(1, 1, 3, 3).astype(np.float16), FIRST], [np.array([[[[220]]]], np.float16)]),
    Case("RoiAlign", 10, [SLOPE.astype(np.float64), roi(1, 1, 3, 3).astype(np.float64), FIRST], [np.array([[[[220.0]]]])]),
    Case("RoiAlign", 22, [SLOPE.astype(BF), roi(1, 1, 3, 3).astype(BF), FIRST], [np.array([[[[165]]]], BF)]),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@given(seed=st.integers(0, 30), ratio=st.integers(0, 3), block=st.sampled_from([1, 1 << 22]))
def test_a_slope_is_read_in_the_middle_of_each_bin(seed: int, ratio: int, block: int) -> None:
    """Regions inside of the image, however many points, and however many regions are read at a time."""
    rng = np.random.default_rng(seed)
    count, height, width = 6, 3, 2
    low = rng.uniform(0.5, 6, (count, 2))
    high = low + rng.uniform(0.5, 3, (count, 2))
    images = rng.integers(0, 2, count)
    slope = 10 * np.arange(10.0) + 100 * np.arange(10.0)[:, None]
    x = np.stack([slope, slope + 1])[:, None]
    step = (high - low) / (width, height)
    across = low[:, :1] - 0.5 + step[:, :1] * (np.arange(width) + 0.5)
    down = low[:, 1:] - 0.5 + step[:, 1:] * (np.arange(height) + 0.5)
    expected = (10 * across[:, None, :] + 100 * down[:, :, None] + images[:, None, None])[:, None]
    attributes = {"output_height": height, "output_width": width, "sampling_ratio": ratio}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(roi_align, "SAMPLE_BLOCK_ELEMENTS", block)
        assert_case(Case("RoiAlign", 16, [x, np.concatenate([low, high], 1), images], [expected], attributes))


@pytest.mark.parametrize(
    ("case", "match"),
    [
        (Case("RoiAlign", 22, [SLOPE, roi(1, 1, 3, 3), i64([1])], [...]), r"batch_indices must lie in \[0, 1\); got 1 to 1"),
        (Case("RoiAlign", 22, [SLOPE, roi(1, 1, 3, 3), i64([-1])], [...]), r"batch_indices must lie in \[0, 1\); got -1 to -1"),
        (Case("RoiAlign", 22, [SLOPE, roi(1, 1, 3, 3), i64([0, 0])], [...]), r"X, rois and batch_indices must .*; got \[1, 1, 4, 4\], \[1, 4\] and \[2\]"),
        (Case("RoiAlign", 22, [SLOPE, f32([[1, 2, 3]]), FIRST], [...]), r"X, rois and batch_indices must .*; got \[1, 1, 4, 4\], \[1, 3\] and \[1\]"),
        (Case("RoiAlign", 22, [SLOPE[0], roi(1, 1, 3, 3), FIRST], [...]), r"X, rois and batch_indices must .*; got \[1, 4, 4\], \[1, 4\] and \[1\]"),
        (Case("RoiAlign", 22, [SLOPE, roi(1, 1, 3, np.inf), FIRST], [...]), "rois must be finite"),
    ],
)  # fmt: skip
def test_bad_values_are_refused(case: Case, match: str) -> None:
    assert_refused(case, match)


def test_the_result_and_what_is_read_have_a_limit() -> None:
    assert_too_large(Case("RoiAlign", 22, [SLOPE, roi(1, 1, 3, 3), FIRST], [...], {"output_width": 1 << 40}))
    assert_too_large(Case("RoiAlign", 22, [SLOPE, roi(0, 0, 1e9, 1e9), FIRST], [...]))


def test_inference() -> None:
    known = [floats(N, 3, None, None), floats(R, 4), ints(R)]
    assert infer_shape(make_inference("RoiAlign", 22, known, output_height=7, output_width=5)) == (R, 3, 7, 5)
    assert infer_shape(make_inference("RoiAlign", 10, [TensorType(FLOAT), TensorType(FLOAT), ints(9)])) == (
        9,
        None,
        1,
        1,
    )


@pytest.mark.parametrize(
    ("inference", "match"),
    [
        (
            make_inference("RoiAlign", 22, [floats(1, 3, 4), floats(R, 4), ints(R)]),
            "input 0 must have rank 4; got rank 3",
        ),
        (
            make_inference("RoiAlign", 22, [floats(1, 3, 4, 4), floats(R, 5), ints(R)]),
            "rois must have 4 coordinates; got 5",
        ),
        (
            make_inference("RoiAlign", 22, [floats(1, 3, 4, 4), floats(2, 4), ints(3)]),
            "rois and batch_indices",
        ),
    ],
)
def test_contradictions_are_found(inference: Inference, match: str) -> None:
    assert_contradiction(inference, match)


@pytest.mark.parametrize("seed", range(4))
def test_means_of_many_points_agree_with_their_samples(seed: int) -> None:
    draw = np.random.default_rng(seed)
    x = draw.normal(size=(1, 2, 5, 6)).astype(np.float32)
    down, across = draw.uniform(-3, 8, (2, 3, 4 * 25))
    samples = roi_align.sample_grid(x, down, across, np.add).reshape(2, 3, 4, 25, 4, 25)
    actual = roi_align.average_pixels(x, down, across, (3, 2, 4, 4))
    np.testing.assert_allclose(actual, samples.mean((3, 5)).swapaxes(0, 1), rtol=1e-4, atol=1e-5)


def test_a_large_sampling_ratio_takes_no_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roi_align, "sample_grid", None)
    inputs = [SLOPE, roi(1, 1, 3, 3), FIRST]
    assert_case(
        Case("RoiAlign", 10, inputs, [f32([[[[165, 175], [265, 275]]]])], {**TWO, "sampling_ratio": 5000})
    )


def test_points_beyond_any_memory_are_refused() -> None:
    assert_too_large(
        Case("RoiAlign", 22, [SLOPE, roi(1, 1, 3, 3), FIRST], [...], {"sampling_ratio": 1 << 40})
    )


@given(st.integers(0, 2**32 - 1))
def test_maxima_of_many_points_are_those_of_all_samples(seed: int) -> None:
    """Dense grids, regions partly outside of the image, and negative pixels."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((1, 2, 3, 4)).astype(np.float32)
    rois = (rng.uniform(-3, 6, (3, 4))).astype(np.float32)
    rois[:, 2:] = rois[:, :2] + rng.uniform(0, 5, (3, 2)).astype(np.float32)
    attributes = {
        "mode": "max",
        "output_height": 2,
        "output_width": 3,
        "sampling_ratio": int(rng.integers(3, 9)),
    }
    inputs: list[Array] = [x, rois, np.zeros(3, np.int64)]
    dense = evaluate_roi_align(inputs, attributes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(roi_align, "greatest_pixels", greatest_of_samples)
        sampled = evaluate_roi_align(inputs, attributes)
    np.testing.assert_allclose(dense, sampled, 1e-5, 1e-6)


def evaluate_roi_align(inputs: list[Array], attributes: Mapping[str, object]) -> Array:
    given = ", ".join(
        f'{name} = "{v}"' if isinstance(v, str) else f"{name} = {v}" for name, v in attributes.items()
    )
    text = f"g (float[A,B,C,D] x, float[N,E] r, int64[N] b) => (y) {{ y = RoiAlign <{given}> (x, r, b) }}"
    session = sx.Session(parse_model(text, opset=22), engine="reference")
    return np.asarray(session.run(dict(zip("xrb", inputs, strict=True)))["y"])


def greatest_of_samples(x: Array, down: Array, across: Array, shape: tuple[int, ...]) -> Array:
    """The maximum over all points, computed one by one."""
    _, channels, height, width = shape
    values = roi_align.sample_grid(x, down, across, np.maximum)
    values = values.reshape(
        channels, len(down), height, down.shape[1] // height, width, across.shape[1] // width
    )
    return np.asarray(values.max((3, 5)).swapaxes(0, 1))
