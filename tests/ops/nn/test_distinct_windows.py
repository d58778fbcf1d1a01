"""Pooling with windows longer than the input: equal windows are computed once, and equal those of padded input."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sardonyx._src.ir import Array
from sardonyx._src.ops.api import RunLimits
from sardonyx._src.ops.nn.pooling import pooling_windows, reduce_windows
from sardonyx._src.ops.nn.windows import WindowGeometry, count_taps, iterate_taps, pad_input

CONTEXT: Any = SimpleNamespace(limits=RunLimits(), available_bytes=1 << 40)  # all that pooling reads of one
X = np.random.default_rng(0).standard_normal((2, 3, 4, 5)).astype(np.float32)
GEOMETRIES = [
    {"kernel_shape": kernel, "strides": strides, "dilations": dilations, "pads": pads}
    for kernel, strides, dilations, pads in itertools.product(
        ([7, 2], [5, 9]), ([1, 1], [2, 3]), ([1, 1], [2, 1]), ([9, 4, 6, 11], [12, 12, 12, 12])
    )
]


def geometry_of(attributes: dict[str, list[int]]) -> WindowGeometry:
    return pooling_windows(
        X,
        attributes["kernel_shape"],
        strides=attributes["strides"],
        pads=attributes["pads"],
        dilations=attributes["dilations"],
        auto_pad="NOTSET",
    )


@pytest.mark.parametrize("attributes", GEOMETRIES, ids=str)
@pytest.mark.parametrize(("combine", "identity"), [(np.add, 0.0), (np.maximum, -np.inf)], ids=["sum", "max"])
def test_results_are_those_of_all_taps(
    attributes: dict[str, list[int]], combine: np.ufunc, identity: float
) -> None:
    windows = geometry_of(attributes)
    padded = pad_input(X, windows, identity, CONTEXT)
    expected: Array = combine.reduce([taps for _, taps in iterate_taps(padded, windows)])
    actual = reduce_windows(X, windows, combine, identity, CONTEXT)
    np.testing.assert_allclose(actual, expected, 1e-5, 1e-6)


@pytest.mark.parametrize("attributes", GEOMETRIES, ids=str)
@pytest.mark.parametrize("with_pads", [False, True])
def test_taps_are_counted(attributes: dict[str, list[int]], with_pads: bool) -> None:
    windows = geometry_of(attributes)
    for i, n in enumerate(windows.size):
        low, high = (-windows.before[i], n + windows.after[i]) if with_pads else (0, n)
        positions = [
            [
                w * windows.strides[i] - windows.before[i] + k * windows.dilations[i]
                for k in range(windows.kernel[i])
            ]
            for w in range(windows.out[i])
        ]
        expected = [sum(low <= position < high for position in row) for row in positions]
        assert count_taps(windows, i, with_pads=with_pads).tolist() == expected


def test_work_does_not_grow_with_the_window() -> None:
    """Sums of at most as many slices as the input is long, of at most as many windows as differ."""
    calls: list[int] = []

    class Add:
        def __call__(self, a: Array, b: Array) -> Array:
            calls.append(a.size)
            return a + b

    windows = pooling_windows(X, [10**6, 10**6], auto_pad="NOTSET", pads=[10**6] * 4, strides=[1000, 1000])
    reduce_windows(X, windows, Add(), 0.0, CONTEXT)  # type: ignore[arg-type]  # called as a ufunc is
    assert len(calls) == sum(X.shape[2:])
    assert max(calls) <= X.size * 2 * max(X.shape)
