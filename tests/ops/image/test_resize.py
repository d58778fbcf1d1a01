import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import Case, assert_case
from ops.tensor.operator_facets import (
    FLOAT,
    M,
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
from sardonyx._src.ir import TensorType
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.ops.image.sampling import cubic_weight
from sardonyx._src.ops.inference import Inference

H, W = symbol("H"), symbol("W")
LINE = f32([0, 10, 20, 30])
PAIR = f32([0, 40])
TABLE = f32([[0, 10, 20, 30], [40, 50, 60, 70]])
NEW = (11, 13, 18, 19)


def scales_inputs(*scales: float, roi: tuple[float, ...] = ()) -> list[RuntimeValue]:
    """The inputs after X: scales."""
    return [f32(roi), f32(scales)]


def sizes_inputs(*sizes: int, version: int = 19, roi: tuple[float, ...] = ()) -> list[RuntimeValue]:
    """The inputs after X: sizes, with scales that are empty in version 11 and omitted later."""
    return [f32(roi), f32([]) if version == 11 else None, i64(sizes)]


def mode(name: str, coordinates: str = "half_pixel", **others: object) -> dict[str, object]:
    return {"mode": name, "coordinate_transformation_mode": coordinates, **others}


OLD = [
    # The cases of ONNX 1.5, which first had Resize.
    Case("Resize", 10, [f32([[[[1, 2, 3, 4], [5, 6, 7, 8]]]]), f32([1, 1, 0.6, 0.6])], [f32([[[[1, 3]]]])], label="nearest down"),
    Case("Resize", 10, [f32([[[[1, 2], [3, 4]]]]), f32([1, 1, 2, 3])],
         [f32([[[[1, 1, 1, 2, 2, 2]] * 2 + [[3, 3, 3, 4, 4, 4]] * 2]])], label="nearest up"),
    Case("Resize", 10, [f32([[[[1, 2], [3, 4]]]]), f32([1, 1, 2, 2])],
         [f32([[[[1, 1.5, 2, 2], [2, 2.5, 3, 3], [3, 3.5, 4, 4], [3, 3.5, 4, 4]]]])], {"mode": "linear"}, "linear up"),
    Case("Resize", 10, [LINE, f32([0.6])], [f32([0, 50 / 3])], {"mode": "linear"}, "positions 0, 5/3"),
    Case("Resize", 10, [LINE, f32([0.75])], [f32([0, 20, 30])], label="positions 0, 4/3, 8/3 go up"),
    Case("Resize", 10, [LINE, f32([1.5])], [f32([0, 0, 10, 20, 20, 30])], label="positions 0, 2/3, 4/3 … go down"),
    Case("Resize", 10, [LINE, f32([1])], [LINE]),
    Case("Resize", 10, [LINE, f32([0.1])], [f32([])], label="less than one"),
    Case("Resize", 10, [strs(["a", "b"]), f32([2])], [strs(["a", "a", "b", "b"])]),
    Case("Resize", 10, [np.array([0, 255], np.uint8), f32([2])], [np.array([0, 127, 255, 255], np.uint8)], {"mode": "linear"}, "fractions are cut off"),
    Case("Resize", 10, [f32(3), f32([])], [f32(3)], label="a scalar"),
    Case("Resize", 10, [f32(np.arange(10)), f32([0.7])], [f32([0, 2, 3, 5, 6, 8, 9])], label="10 * 0.7 is 7 in float32"),
]  # fmt: skip

# Linear interpolation gives 10 times the position in LINE and 40 times that in PAIR, cut at both ends.
COORDINATES = [
    *(Case("Resize", v, [PAIR, *scales_inputs(2)], [f32([0, 10, 30, 40])], mode("linear"), "positions -1/4, 1/4 …") for v in NEW),
    *(Case("Resize", v, [PAIR, *sizes_inputs(4, version=v)], [f32([0, 10, 30, 40])], mode("linear"), "positions -1/4, 1/4 …") for v in NEW),
    *(Case("Resize", v, [PAIR, *scales_inputs(2)], [f32([0, 20, 40, 40])], mode("linear", "asymmetric"), "asymmetric") for v in NEW),
    *(Case("Resize", v, [PAIR, *sizes_inputs(5, version=v)], [f32([0, 10, 20, 30, 40])], mode("linear", "align_corners"), "align_corners") for v in NEW),
    *(Case("Resize", v, [PAIR, *sizes_inputs(1, version=v)], [f32([0])], mode("linear", "align_corners"), "one corner") for v in NEW),
    *(Case("Resize", v, [PAIR, *sizes_inputs(1, version=v)], [f32([0])], mode("linear", "pytorch_half_pixel"), "a single one") for v in NEW),
    *(Case("Resize", v, [PAIR, *sizes_inputs(4, version=v)], [f32([0, 10, 30, 40])], mode("linear", "pytorch_half_pixel"), "more") for v in NEW),
    *(Case("Resize", v, [PAIR, *sizes_inputs(1, version=v)], [f32([20])], mode("linear"), "the middle") for v in NEW),
    *(Case("Resize", v, [LINE, *sizes_inputs(3, version=v, roi=(1 / 3, 1))], [f32([10, 20, 30])], mode("linear", "tf_crop_and_resize"), "a part") for v in NEW),
    *(Case("Resize", v, [LINE, *sizes_inputs(1, version=v, roi=(0, 1))], [f32([15])], mode("linear", "tf_crop_and_resize"), "its middle") for v in NEW),
    *(Case("Resize", v, [LINE, *sizes_inputs(3, version=v, roi=(0, 2))], [f32([0, 30, 7])],
           mode("linear", "tf_crop_and_resize", extrapolation_value=7.0), "outside, linear") for v in NEW),
    *(Case("Resize", v, [LINE, *sizes_inputs(3, version=v, roi=(-1, 1))], [f32([7, 0, 30])],
           mode("nearest", "tf_crop_and_resize", extrapolation_value=7.0), "outside, nearest") for v in NEW),
    Case("Resize", 13, [LINE, *scales_inputs(1, roi=(0.25, 0.75))], [f32([7.5, 22.5])], mode("linear", "tf_crop_and_resize"), "half of it"),
    Case("Resize", 19, [strs(["a", "b"]), *sizes_inputs(2, roi=(0, 2))], [strs(["a", ""])], mode("nearest", "tf_crop_and_resize"), "no string"),
    *(Case("Resize", v, [PAIR, *scales_inputs(2)], [f32([0, 40, 40, 40])], mode("nearest", "tf_half_pixel_for_nn"), "positions 1/4, 3/4, 5/4 …") for v in (11, 13)),
    Case("Resize", 19, [LINE, *scales_inputs(0.7)], [f32([15 - 50 / 7, 15 + 50 / 7])], mode("linear", "half_pixel_symmetric"), "symmetric"),
    Case("Resize", 19, [PAIR, *sizes_inputs(4)], [f32([0, 10, 30, 40])], mode("linear", "half_pixel_symmetric"), "whole sizes"),
    Case("Resize", 19, [f32([1, 2, 3]), *scales_inputs(1.3)], [f32([1, 2, 2])], mode("nearest", "half_pixel_symmetric", nearest_mode="floor"), "the middle stays"),
    Case("Resize", 19, [LINE, *scales_inputs(0.6)], [f32([10 / 3, 20])], mode("linear"), "the scale is 0.6, not 2/4"),
    Case("Resize", 19, [LINE, *scales_inputs(0.6)], [f32([0, 30 / 1.4])], mode("linear", "align_corners"), "the length is 2.4, not 2"),
    Case("Resize", 13, [f32(np.arange(9)), *scales_inputs(1 / 3)], [f32([0, 3, 6])], mode("nearest", "asymmetric", nearest_mode="floor"), "1 / float32(1/3) is 3"),
]  # fmt: skip

MODES = [
    # Positions are 1/2 and 5/2.
    *(Case("Resize", v, [LINE, *scales_inputs(0.5)], [f32(y)], mode("nearest", nearest_mode=m), m)
      for v in NEW for m, y in (("round_prefer_floor", [0, 20]), ("round_prefer_ceil", [10, 30]), ("floor", [0, 20]), ("ceil", [10, 30]))),
    Case("Resize", 19, [PAIR, *scales_inputs(2)], [f32([0, 0, 40, 40])], label="nearest half pixels are the default"),
    Case("Resize", 19, [PAIR, *scales_inputs(2)], [f32([0, 0, 0, 40])], mode("nearest", nearest_mode="floor"), "floor of -1/4 is cut"),
    Case("Resize", 19, [PAIR, *scales_inputs(2)], [f32([0, 40, 40, 40])], mode("nearest", nearest_mode="ceil"), "ceil of 5/4 is cut"),
    # At a half, cubic weights are -3/32, 19/32, 19/32, -3/32 for a = -3/4, and -1/16, 9/16, 9/16, -1/16 for a = -1/2.
    *(Case("Resize", v, [LINE, *scales_inputs(0.5)], [f32([130 / 32, 830 / 32])], mode("cubic"), "cubic, the border goes on") for v in NEW),
    *(Case("Resize", v, [LINE, *scales_inputs(0.5)], [f32([70 / 16, 410 / 16])], mode("cubic", cubic_coeff_a=-0.5), "cubic_coeff_a") for v in NEW),
    *(Case("Resize", v, [LINE, *scales_inputs(0.5)], [f32([130 / 35, 920 / 35])], mode("cubic", exclude_outside=1), "cubic, weights outside shared out") for v in NEW),
    Case("Resize", 19, [f32([4, 8]), *scales_inputs(2)], [f32([4, 5, 7, 8])], mode("linear", exclude_outside=1), "linear, the same"),
    # Upsampled by two, linear weights are 1/8, 3/8, 3/8, 1/8.
    *(Case("Resize", v, [LINE, *scales_inputs(0.5)], [f32([6.25, 23.75])], mode("linear", antialias=1), "antialias") for v in (18, 19)),
    *(Case("Resize", v, [LINE, *scales_inputs(0.5)], [f32([50 / 7, 30 - 50 / 7])], mode("linear", antialias=1, exclude_outside=1), "antialias inside") for v in (18, 19)),
    *(Case("Resize", v, [LINE, *scales_inputs(0.5)], [f32([4.90234375, 25.09765625])], mode("cubic", antialias=1), "antialias, cubic") for v in (18, 19)),
    Case("Resize", 19, [PAIR, *scales_inputs(2)], [f32([0, 10, 30, 40])], mode("linear", antialias=1), "antialias changes nothing that grows"),
    Case("Resize", 19, [LINE, *scales_inputs(0.5)], [f32([0, 20])], mode("nearest", antialias=1), "antialias is not for nearest"),
]  # fmt: skip

ASPECT = {"keep_aspect_ratio_policy": "not_larger"}
SHAPES = [
    Case("Resize", 18, [TABLE, *sizes_inputs(2, 3)], [f32([[0, 10, 30], [40, 50, 70]])], ASPECT, "by 3/4, and 1.5 rounds up to 2"),
    Case("Resize", 19, [TABLE, *sizes_inputs(3, 3)], [f32([[0, 10, 30], [40, 50, 70]])], ASPECT, "by 3/4, required by 3 columns"),
    Case("Resize", 19, [TABLE, *sizes_inputs(3, 3)], [f32([[0, 0, 10, 20, 20, 30]] * 2 + [[40, 40, 50, 60, 60, 70]])],
         {"keep_aspect_ratio_policy": "not_smaller"}, "by 3/2, required by 3 rows"),
    Case("Resize", 18, [TABLE, *scales_inputs(2)], [f32([[0, 10, 20, 30]] * 2 + [[40, 50, 60, 70]] * 2)], {"axes": [0]}, "one axis"),
    Case("Resize", 19, [TABLE, *scales_inputs(0.5)], [f32([[0, 20], [40, 60]])], {"axes": [-1]}, "an axis from the back"),
    Case("Resize", 19, [TABLE, *sizes_inputs(2, 1)], [f32([[0, 20]])], {"axes": [1, 0]}, "axes in any order"),
    Case("Resize", 19, [TABLE, *sizes_inputs(2, 2, roi=(1 / 3, 0, 1, 1))], [f32([[10, 30], [50, 70]])],
         {"axes": [1, 0], **mode("nearest", "tf_crop_and_resize")}, "roi follows axes"),
    Case("Resize", 13, [TABLE, *scales_inputs(2, 0.5)], [f32([[0, 20]] * 2 + [[40, 60]] * 2)], label="two axes"),
    Case("Resize", 19, [f32([[0, 4], [8, 12]]), *scales_inputs(2, 2)],
         [f32([[0, 1, 3, 4], [2, 3, 5, 6], [6, 7, 9, 10], [8, 9, 11, 12]])], mode("linear"), "bilinear"),
    Case("Resize", 19, [np.zeros((0, 2), np.float32), *scales_inputs(2, 2)], [np.zeros((0, 4), np.float32)], mode("linear"), "empty"),
    Case("Resize", 19, [TABLE, *sizes_inputs(0, 4)], [np.zeros((0, 4), np.float32)], label="made empty"),
    Case("Resize", 19, [TABLE, *scales_inputs(1, 1)], [TABLE], mode("cubic"), "nothing changes"),
]  # fmt: skip

BF = ml_dtypes.bfloat16
TYPES = [
    *(Case("Resize", 19, [PAIR.astype(d), *scales_inputs(2)], [np.array([0, 10, 30, 40], d)], mode("linear"))
      for d in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64, np.float16, np.float64, np.complex64, np.complex128)),
    *(Case("Resize", 19, [PAIR.astype(d), *scales_inputs(2)], [np.array([0, 0, 40, 40], d)])
      for d in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64, np.float16, np.float64, np.complex64, np.complex128)),
    Case("Resize", 13, [PAIR.astype(BF), *scales_inputs(2)], [np.array([0, 10, 30, 40], BF)], mode("linear")),
    Case("Resize", 13, [PAIR.astype(BF), *scales_inputs(2)], [np.array([0, 0, 40, 40], BF)]),
    Case("Resize", 19, [strs(["a", "b"]), *scales_inputs(2)], [strs(["a", "a", "b", "b"])]),
    Case("Resize", 19, [np.array([False, True]), *scales_inputs(2)], [np.array([False, False, True, True])]),
    Case("Resize", 19, [np.array([False, True]), *scales_inputs(2)], [np.array([False, True, True, True])], mode("linear"), "any of it"),
    Case("Resize", 19, [np.array([2**62 + 1, 5]), *scales_inputs(2)], [np.array([2**62 + 1, 2**62 + 1, 5, 5])], label="nearest is exact"),
    Case("Resize", 19, [np.array([-1, -2], np.int8), *scales_inputs(2)], [np.array([-1, -1, -1, -2], np.int8)], mode("linear"), "fractions are cut off"),
    Case("Resize", 19, [np.array([0, 255], np.uint8), *scales_inputs(2)], [np.array([0, 57, 197, 255], np.uint8)], mode("cubic"), "saturates"),
    Case("Resize", 19, [f32([np.nan, 0, 4]), *scales_inputs(2)], [f32([np.nan, np.nan, np.nan, 1, 3, 4])], mode("linear"), "NaN stays near"),
]  # fmt: skip


@pytest.mark.parametrize("case", [*OLD, *COORDINATES, *MODES, *SHAPES, *TYPES], ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@given(size=st.integers(1, 9), out=st.integers(1, 20), seed=st.integers(0, 9))
def test_linear_is_what_lies_on_the_lines_between(size: int, out: int, seed: int) -> None:
    x = np.random.default_rng(seed).normal(size=size)
    places = (np.arange(out) + 0.5) * size / out - 0.5
    assert_case(
        Case("Resize", 19, [x, *sizes_inputs(out)], [np.interp(places, np.arange(size), x)], mode("linear"))
    )


@given(
    size=st.integers(1, 6),
    factor=st.integers(1, 5),
    coordinates=st.sampled_from(["half_pixel", "pytorch_half_pixel"]),
)
def test_nearest_repeats_for_whole_scales(size: int, factor: int, coordinates: str) -> None:
    x = np.arange(size)
    out = np.repeat(x, factor) if size * factor > 1 else x
    assert_case(Case("Resize", 19, [x, *scales_inputs(float(factor))], [out], mode("nearest", coordinates)))


@given(
    out=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    name=st.sampled_from(["linear", "cubic"]),
    seed=st.integers(0, 9),
)
def test_axes_are_resized_apart_from_each_other(out: tuple[int, int], name: str, seed: int) -> None:
    """A product of two vectors becomes the product of the vectors resized."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=4), rng.normal(size=5)
    first, second = (weights(n, len(v), name) @ v for n, v in zip(out, (a, b), strict=True))
    assert_case(
        Case("Resize", 19, [np.outer(a, b), *sizes_inputs(*out)], [np.outer(first, second)], mode(name))
    )


def weights(out: int, size: int, name: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """The matrix that resizes a vector, one weight at a time."""
    result = np.zeros((out, size))
    for i in range(out):
        center = (i + 0.5) * size / out - 0.5
        for j in range(int(np.floor(center)) - 2, int(np.floor(center)) + 4):
            distance = abs(center - j)
            weight = max(1 - distance, 0.0) if name == "linear" else keys(distance)
            result[i, min(max(j, 0), size - 1)] += weight
    return result


def keys(d: float, a: float = -0.75) -> float:
    """Equation 4 of Keys 1981 with coefficient a."""
    if d <= 1:
        return (a + 2) * d**3 - (a + 3) * d**2 + 1
    return a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a if d < 2 else 0.0


@given(d=st.floats(0, 3), a=st.floats(-1, 0))
def test_the_cubic_kernel_is_that_of_keys(d: float, a: float) -> None:
    assert cubic_weight(np.array(d), a) == pytest.approx(keys(d, a), abs=1e-12)


@given(
    size=st.integers(1, 12),
    out=st.integers(1, 12),
    name=st.sampled_from(["linear", "cubic"]),
    inside=st.integers(0, 1),
)
def test_a_constant_stays_constant(size: int, out: int, name: str, inside: int) -> None:
    x, y = np.full(size, 3.5), np.full(out, 3.5)
    assert_case(
        Case("Resize", 19, [x, *sizes_inputs(out)], [y], mode(name, antialias=1, exclude_outside=inside))
    )


@pytest.mark.parametrize(
    ("case", "match"),
    [
        (Case("Resize", 13, [LINE], [...]), "exactly one of scales and sizes must be given; got neither"),
        (
            Case("Resize", 13, [LINE, None, f32([2]), i64([8])], [...]),
            "exactly one of scales and sizes must be given; got both",
        ),
        (
            Case("Resize", 11, [LINE, f32([]), f32([])], [...]),
            "exactly one of scales and sizes must be given; got neither",
        ),
        (
            Case("Resize", 13, [LINE, *scales_inputs(2, 2)], [...]),
            "scales or sizes must have 1 entries, one per axis; got 2",
        ),
        (Case("Resize", 13, [LINE, *scales_inputs(0)], [...]), r"scales must be finite and > 0; got 0\.0"),
        (Case("Resize", 13, [LINE, *scales_inputs(-1)], [...]), r"scales must be finite and > 0; got -1\.0"),
        (Case("Resize", 10, [LINE, f32([np.nan])], [...]), "scales must be finite and > 0; got nan"),
        (Case("Resize", 10, [LINE, f32([1, 2])], [...]), "scales must have 1 entries, one per axis; got 2"),
        (Case("Resize", 13, [LINE, *sizes_inputs(-1)], [...]), r"sizes must be >= 0; got \[-1\]"),
        (
            Case("Resize", 18, [np.zeros((0, 2)), *sizes_inputs(1, 1)], [...], ASPECT),
            r"resized axes must be > 0 to preserve an aspect ratio; got \[0, 2\]",
        ),
        (
            Case("Resize", 13, [LINE, *sizes_inputs(2)], [...], mode("linear", "tf_crop_and_resize")),
            "roi must have 2 elements for tf_crop_and_resize; got 0",
        ),
        (
            Case(
                "Resize",
                13,
                [LINE, *sizes_inputs(2, roi=(0, np.inf))],
                [...],
                mode("linear", "tf_crop_and_resize"),
            ),
            "roi must be finite",
        ),
        (
            Case("Resize", 19, [LINE, *scales_inputs(2)], [...], {"axes": [1]}),
            "axes 1 lies outside of rank 1",
        ),
        (Case("Resize", 19, [TABLE, *scales_inputs(2, 2)], [...], {"axes": [1, -1]}), "twice"),
        (
            Case("Resize", 13, [strs(["a"]), *scales_inputs(2)], [...], mode("linear")),
            "mode must be nearest for strings",
        ),
        (
            Case("Resize", 13, [np.zeros(0, np.float32), *sizes_inputs(2)], [...]),
            "axis 0 must have elements to be resized to 2; got none",
        ),
    ],
)
def test_bad_values_are_refused(case: Case, match: str) -> None:
    assert_refused(case, match)


def test_the_result_has_a_limit() -> None:
    assert_too_large(Case("Resize", 13, [LINE, *sizes_inputs(1 << 40)], [...]))
    assert_too_large(Case("Resize", 10, [LINE, f32([1e12])], [...]))


IMAGES = floats(N, 3, H, W)


@pytest.mark.parametrize("version", NEW)
def test_symbols_stay_in_the_shape(version: int) -> None:
    scales = {2: f32([1, 1, 2, 0.5])}
    assert infer_shape(make_inference("Resize", version, [IMAGES, None, None], scales)) == (
        N,
        3,
        2 * H,
        W // 2,
    )
    sizes = {3: vec(N, 3, M, 7)}
    inference = make_inference("Resize", version, [IMAGES, None, TensorType(FLOAT, (0,)), None], sizes)
    assert infer_shape(inference) == (N, 3, M, 7)


def test_scales_that_are_no_binary_fractions_resize_numbers_only() -> None:
    assert infer_shape(make_inference("Resize", 10, [floats(N, 10), None], {1: f32([1.25, 0.7])})) == (
        5 * N // 4,
        7,
    )
    assert infer_shape(make_inference("Resize", 10, [floats(N, None), None], {1: f32([0.7, 2])})) == (
        None,
        None,
    )


def test_sizes_that_data_decide_are_new_symbols() -> None:
    new = tuple(symbol(f"new{i}") for i in range(4))
    assert infer_shape(make_inference("Resize", 13, [IMAGES, None, None])) == new
    assert infer_shape(make_inference("Resize", 10, [IMAGES, None])) == new
    inference = make_inference("Resize", 18, [IMAGES, None, None, None], {3: vec(M, None)}, axes=(-1, -2))
    assert infer_shape(inference) == (N, 3, symbol("new0"), M)
    crop = make_inference(
        "Resize",
        13,
        [floats(4), None, None],
        {2: f32([2])},
        coordinate_transformation_mode="tf_crop_and_resize",
    )
    assert infer_shape(crop) == (symbol("new0"),)


def test_empty_sizes_leave_it_to_the_scales() -> None:
    known = {2: f32([2]), 3: i64([])}
    assert infer_shape(make_inference("Resize", 11, [floats(N), None, None, None], known)) == (2 * N,)


def test_aspect_ratios_need_numbers() -> None:
    attributes = {"keep_aspect_ratio_policy": "not_larger", "axes": (2, 3)}
    numbers = make_inference(
        "Resize", 18, [floats(N, 3, 2, 4), None, None, None], {3: vec(3, 3)}, 1, **attributes
    )
    assert infer_shape(numbers) == (N, 3, 2, 3)
    symbols = make_inference("Resize", 18, [IMAGES, None, None, None], {3: vec(3, 3)}, 1, **attributes)
    assert infer_shape(symbols) == (N, 3, None, None)


def test_an_unknown_rank_is_that_of_the_sizes() -> None:
    unknown = TensorType(FLOAT)
    assert infer_shape(make_inference("Resize", 13, [unknown, None, None, None], {3: vec(M, 7)})) == (M, 7)
    assert infer_shape(make_inference("Resize", 13, [unknown, None, None], {2: f32([1, 2])})) == (None, None)
    assert infer_shape(make_inference("Resize", 10, [unknown, None], {1: f32([1, 2])})) == (None, None)
    assert (
        infer_shape(make_inference("Resize", 18, [unknown, None, None, None], {3: vec(M)}, axes=(0,))) is None
    )


@pytest.mark.parametrize(
    ("inference", "match"),
    [
        (
            make_inference("Resize", 13, [floats(4), None, None, None], {3: vec(1, 2)}),
            "sizes must have 1 entries, one per axis; got 2",
        ),
        (
            make_inference("Resize", 13, [floats(4), None, None], {2: f32([1, 2])}),
            "scales must have 1 entries, one per axis; got 2",
        ),
        (
            make_inference("Resize", 10, [floats(4), None], {1: f32([-2])}),
            r"scales must be finite and >= 0; got -2\.0",
        ),
        (make_inference("Resize", 18, [floats(4), None, None], axes=(1,)), "axis 1"),
    ],
)
def test_contradictions_are_found(inference: Inference, match: str) -> None:
    assert_contradiction(inference, match)
