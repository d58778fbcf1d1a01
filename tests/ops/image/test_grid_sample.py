import itertools

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import Case, assert_case
from ops.tensor.operator_facets import (
    FLOAT,
    N,
    assert_contradiction,
    assert_refused,
    f32,
    floats,
    infer_shape,
    make_inference,
    strs,
)
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ir.dims import symbol
from sardonyx._src.ops.inference import Inference

H, W = symbol("H"), symbol("W")
INF = np.inf
LINE = f32([[[10, 20, 30, 40]]])
FLAT = LINE[:, :, None]


def grid_points(*places: float) -> Array:
    """A grid of points on a line of four pixels, given as positions, where pixel i lies at i."""
    return f32([[[(2 * p + 1) / 4 - 1] for p in places]])


def corners(*places: float) -> Array:
    """The same for align_corners."""
    return f32([[[p / 3 * 2 - 1] for p in places]])


def flat(grid: Array) -> Array:
    """The same on an image of one row."""
    return np.stack([grid[..., 0], np.zeros_like(grid[..., 0])], -1)[:, None]


def mode(name: str, padding: str = "zeros", corners_aligned: int = 0) -> dict[str, object]:
    return {"mode": name, "padding_mode": padding, "align_corners": corners_aligned}


def out(*values: float) -> Array:
    return f32([[values]])


ANY = [
    # attributes, grid, result: the same for a line (20, 22) and for an image of one row (16)
    (mode("linear"), grid_points(0, 1.5, 3), out(10, 25, 40)),
    (mode("linear"), grid_points(-0.5, -1, -9, 3.25, 4, -INF, INF), out(5, 0, 0, 30, 0, 0, 0)),
    (mode("linear", "border"), grid_points(-0.5, -9, 3.25, 9, INF), out(10, 10, 40, 40, 40)),
    (mode("linear", "reflection"), grid_points(-0.5, -1.5, 4.5, 8.75), out(10, 15, 35, 17.5)),
    (mode("linear", "reflection", 1), corners(-0.5, 3.75, 6, 7), out(15, 32.5, 10, 20)),
    (mode("linear", "zeros", 1), corners(0, 1.5, 3, 3.5), out(10, 25, 40, 20)),
    (mode("nearest"), grid_points(0.5, 1.5, 2.5, 0.75), out(10, 30, 30, 20)),
    (mode("nearest"), grid_points(-0.5, -0.75, 3.5, 3.25), out(10, 0, 0, 40)),
    (mode("nearest", "border"), grid_points(-2, 7), out(10, 40)),
    (mode("nearest", "reflection"), grid_points(-1.75, 4.75), out(20, 30)),
    # Halfway between two pixels the weights are -3/32, 19/32, 19/32, -3/32.
    (mode("cubic"), grid_points(1, 1.5, 0.5), out(20, 25, 15)),
    (mode("cubic", "border"), grid_points(0.5), out(450 / 32)),
    (mode("cubic", "reflection"), grid_points(0.5), out(450 / 32)),
    (mode("cubic", "reflection", 1), corners(0.5), out(420 / 32)),
    (mode("cubic"), grid_points(-0.5, -9, 12, INF), out(130 / 32, 0, 0, 0)),
    (mode("cubic", "border"), grid_points(-9, INF), out(10, 40)),
]  # fmt: skip

NAMES = {"linear": "bilinear", "nearest": "nearest", "cubic": "bicubic"}
PLANE = f32([[[[1, 2], [3, 4]]]])
BF = ml_dtypes.bfloat16
INTEGERS = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)

CASES = [
    *(Case("GridSample", v, [LINE, grid], [y], a, f"{i}") for v in (20, 22) for i, (a, grid, y) in enumerate(ANY)),
    *(Case("GridSample", 16, [FLAT, flat(grid)], [y[:, :, None]], {**a, "mode": NAMES[str(a["mode"])]}, f"{i}")
      for i, (a, grid, y) in enumerate(ANY)),
    *(Case("GridSample", v, [PLANE, f32([[[[1, -1], [-1, 1]]]])], [f32([[[[2, 3]]]])], {"align_corners": 1}, "the last axis first") for v in (16, 20, 22)),
    *(Case("GridSample", v, [PLANE, f32([[[[0, 0]]]])], [f32([[[[2.5]]]])], label="four neighbors") for v in (16, 20, 22)),
    Case("GridSample", 20, [PLANE[:, :, None], f32([[[[[1, -1, 0]]]]])], [f32([[[[[2]]]]])], {"align_corners": 1}, "three axes"),
    Case("GridSample", 22, [f32([[[1, 2], [10, 20]], [[3, 4], [30, 40]]]), f32([[[-1]], [[1]]])], [f32([[[1], [10]], [[4], [40]]])], {"align_corners": 1}, "each instance has a grid"),
    *(Case("GridSample", 16, [FLAT.astype(d), flat(grid_points(0.5, 1.25))], [np.array([[[[15, 22]]]], d)], label="fractions are cut off") for d in INTEGERS),
    *(Case("GridSample", 16, [FLAT.astype(d), flat(grid_points(0, 9))], [np.array([[[[10, 0]]]], d)], {"mode": "nearest"}) for d in INTEGERS),
    Case("GridSample", 22, [np.array([[[0, 255, 255, 0]]], np.uint8), grid_points(1.5)], [np.array([[[255]]], np.uint8)], {"mode": "cubic"}, "saturates"),
    Case("GridSample", 16, [np.array([[[[2**62 + 1, 0]]]]), f32([[[[-0.5, 0]]]])], [np.array([[[[2**62 + 1]]]])], {"mode": "nearest"}, "nearest is exact"),
    Case("GridSample", 22, [strs([[["a", "b"]]]), f32([[[0.5], [3]]])], [strs([[["b", ""]]])], {"mode": "nearest"}, "no string outside"),
    Case("GridSample", 22, [np.array([[[True, False]]]), f32([[[-0.5], [0], [0.5]]])], [np.array([[[True, True, False]]])], {"mode": "linear"}, "any of it"),
    *(Case("GridSample", 22, [LINE.astype(d), grid_points(1.5)], [np.array([[[25]]], d)]) for d in (np.float16, np.float64, BF, np.complex64, np.complex128)),
    *(Case("GridSample", 22, [LINE, grid_points(1.5).astype(d)], [out(25)], label="grid") for d in (np.float16, np.float64, BF)),
    Case("GridSample", 22, [f32([[[INF, 1, 2, 3]]]), grid_points(2.5, 9)], [out(2.5, 0)], label="infinity stays where it is"),
    Case("GridSample", 22, [LINE, f32([[[np.nan]]])], [out(np.nan)], label="a point that is no number"),
    Case("GridSample", 22, [np.zeros((0, 2, 4), np.float32), np.zeros((0, 3, 1), np.float32)], [np.zeros((0, 2, 3), np.float32)], label="no instances"),
    Case("GridSample", 22, [LINE, np.zeros((1, 0, 1), np.float32)], [np.zeros((1, 1, 0), np.float32)], label="no points"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@given(rank=st.integers(1, 3), aligned=st.integers(0, 1), seed=st.integers(0, 20))
def test_linear_interpolation_is_exact_for_linear_images(rank: int, aligned: int, seed: int) -> None:
    """Inside of an image whose pixels are a + b·place, every point is, too."""
    rng = np.random.default_rng(seed)
    size = rng.integers(2, 5, rank)
    slope = rng.normal(size=rank)
    x = 3 + sum(s * p for s, p in zip(slope, np.meshgrid(*map(np.arange, size), indexing="ij"), strict=True))
    places = rng.uniform(0, 1, (7, rank)) * (size - 1)
    grid = (places / (size - 1) * 2 if aligned else (2 * places + 1) / size) - 1
    shape = (1, 7, *[1] * (rank - 1))
    case = Case(
        "GridSample", 22, [x[None, None], grid[:, ::-1].reshape(*shape, rank)],
        [(3 + places @ slope).reshape(1, *shape)], {"align_corners": aligned},
    )  # fmt: skip
    assert_case(case)


@given(
    padding=st.sampled_from(["border", "reflection"]),
    name=st.sampled_from(["linear", "nearest", "cubic"]),
    seed=st.integers(0, 9),
)
def test_a_constant_image_is_constant_everywhere(padding: str, name: str, seed: int) -> None:
    grid = np.random.default_rng(seed).uniform(-5, 5, (1, 9, 2))[:, None]
    x = np.full((1, 1, 3, 4), 2.5)
    for aligned in (0, 1):
        assert_case(
            Case("GridSample", 22, [x, grid], [np.full((1, 1, 1, 9), 2.5)], mode(name, padding, aligned))
        )


@pytest.mark.parametrize(
    ("case", "match"),
    [
        (
            Case("GridSample", 16, [LINE, grid_points(0)], [...]),
            "X must have 2 spatial axes for GridSample-16; got 1",
        ),
        (
            Case("GridSample", 20, [LINE, grid_points(0)[0]], [...]),
            r"X and grid must .*; got \[1, 1, 4\] and \[1, 1\]",
        ),
        (
            Case("GridSample", 20, [LINE, f32([[[0, 0]]])], [...]),
            r"X and grid must .*; got \[1, 1, 4\] and \[1, 1, 2\]",
        ),
        (
            Case("GridSample", 20, [LINE, np.zeros((2, 1, 1), np.float32)], [...]),
            r"X and grid must .*; got \[1, 1, 4\] and \[2, 1, 1\]",
        ),
        (
            Case("GridSample", 20, [LINE[..., :0], grid_points(0)], [...]),
            r"X must have pixels to sample; got shape \[1, 1, 0\]",
        ),
        (
            Case("GridSample", 20, [strs([[["a"]]]), grid_points(0)], [...]),
            "mode must be nearest for strings; got linear",
        ),
    ],
)
def test_bad_values_are_refused(case: Case, match: str) -> None:
    assert_refused(case, match)


def test_the_shape_is_that_of_the_grid() -> None:
    assert infer_shape(make_inference("GridSample", 22, [floats(N, 3, 8, 8), floats(None, H, W, 2)])) == (
        N,
        3,
        H,
        W,
    )
    assert infer_shape(make_inference("GridSample", 22, [floats(None, 3, 8, 8), TensorType(FLOAT)])) == (
        None,
        3,
        None,
        None,
    )
    assert infer_shape(make_inference("GridSample", 22, [TensorType(FLOAT), floats(2, H, W, 2)])) == (
        2,
        None,
        H,
        W,
    )
    assert infer_shape(make_inference("GridSample", 22, [TensorType(FLOAT), None])) is None


@pytest.mark.parametrize(
    ("inference", "match"),
    [
        (
            make_inference("GridSample", 22, [floats(1, 3, 8), floats(1, 4, 4, 2)]),
            "X and grid must have the same rank >= 3; got 3 and 4",
        ),
        (
            make_inference("GridSample", 22, [floats(1, 3, 8, 8), floats(1, 4, 4, 3)]),
            "the points of grid must have 2 coordinates; got 3",
        ),
        (make_inference("GridSample", 22, [floats(1, 3, 8, 8), floats(2, 4, 4, 2)]), "the batches"),
    ],
)
def test_contradictions_are_found(inference: Inference, match: str) -> None:
    assert_contradiction(inference, match)


def test_every_row_of_the_table_is_another_manner() -> None:
    manners = [tuple(a.values()) for a, _, _ in ANY]
    assert {m[:2] for m in manners} == set(itertools.product(NAMES, ("zeros", "border", "reflection")))
