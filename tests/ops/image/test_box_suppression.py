"""Suppression in blocks and by sweeps selects what visiting one box at a time selects."""

from __future__ import annotations

import numpy as np
import pytest

from sardonyx._src.ir import Array
from sardonyx._src.ops.image import box_suppression
from sardonyx._src.ops.image.box_suppression import Boxes, find_excluding_pairs, suppress_overlaps

F = np.float32


def suppress_one_by_one(corners: Array, order: Array, max_boxes: int, limit: np.float32) -> list[int]:
    selected: list[int] = []
    while len(order) and len(selected) < max_boxes:
        box, others = corners[order[0]], corners[order[1:]]
        selected.append(int(order[0]))
        low, high = np.maximum(box[0], others[:, 0]), np.minimum(box[1], others[:, 1])
        shared = (high - low).clip(0).prod(1)
        areas = (others[:, 1] - others[:, 0]).prod(1) + (box[1] - box[0]).prod()
        order = order[1:][~(shared / (areas - shared) > limit)]
    return selected


def random_corners(count: int, size: float, seed: int) -> Array:
    draw = np.random.default_rng(seed)
    corners = np.sort(draw.random((count, 1, 2), F) + size * draw.standard_normal((count, 2, 2), F), 1)
    odd = draw.integers(0, count, 12)
    corners[odd[:3]] = corners[odd[3:6]]  # equal boxes
    corners[odd[6], 1] = corners[odd[6], 0]  # without area
    corners[odd[7]] = np.nan
    corners[odd[8], 1] = np.inf
    return corners


@pytest.mark.parametrize("limit", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(
    ("count", "max_boxes"), [(1, 1), (70, 0), (70, 3), (700, 700), (2500, 40), (2500, 2500)]
)
@pytest.mark.parametrize("size", [0.002, 0.05, 0.5])
@pytest.mark.filterwarnings("ignore:invalid value", "ignore:overflow")
def test_the_selection_is_that_of_one_box_at_a_time(
    count: int, max_boxes: int, size: float, limit: float
) -> None:
    corners = random_corners(count, size, count)
    order = np.random.default_rng(1).permutation(count)[: count - count // 10]
    expected = suppress_one_by_one(corners, order, max_boxes, F(limit))
    assert suppress_overlaps(Boxes.of(corners), order, max_boxes, F(limit)).tolist() == expected


def test_sweeps_compare_few_pairs() -> None:
    small, large = (Boxes.of(random_corners(2000, size, 5)) for size in (0.002, 0.5))
    with np.errstate(invalid="ignore"):
        assert find_excluding_pairs(small, F(0.3)) is not None
        assert find_excluding_pairs(large, F(0.3)) is None


@pytest.mark.parametrize("pairs", [1, 50])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_sweeps_compare_pairs_in_parts(monkeypatch: pytest.MonkeyPatch, pairs: int) -> None:
    corners = random_corners(1200, 0.005, 7)
    expected = suppress_one_by_one(corners, np.arange(1200), 1200, F(0.2))
    monkeypatch.setattr(box_suppression, "PAIRS", pairs)
    assert suppress_overlaps(Boxes.of(corners), np.arange(1200), 1200, F(0.2)).tolist() == expected
