"""Convolution and pooling by the formulas, one element at a time: references for the fast kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from hypothesis import strategies as st

from sardonyx._src.ir import Array


@dataclass(frozen=True)
class Setting:
    """The attributes of a node, with an entry for each spatial axis."""

    size: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    begins: tuple[int, ...]
    ends: tuple[int, ...]

    @property
    def attributes(self) -> dict[str, object]:
        lists = {"strides": self.strides, "dilations": self.dilations, "pads": self.begins + self.ends}
        return {name: list(values) for name, values in lists.items()}

    @property
    def out(self) -> tuple[int, ...]:
        axes = zip(self.size, self.kernel, self.strides, self.dilations, self.begins, self.ends, strict=True)
        return tuple((n + b + e - d * (k - 1) - 1) // s + 1 for n, k, s, d, b, e in axes)

    def taps(self, window: Sequence[int]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Each kernel position with the input index below it, for those inside of the input."""
        for tap in product(*map(range, self.kernel)):
            axes = zip(window, self.strides, tap, self.dilations, self.begins, strict=True)
            place = tuple(o * s + k * d - b for o, s, k, d, b in axes)
            if all(0 <= p < n for p, n in zip(place, self.size, strict=True)):
                yield tap, place


def settings(most: int = 3) -> st.SearchStrategy[Setting]:
    """Settings of 1 to `most` axes in which at least one window fits."""

    def of(rank: int) -> st.SearchStrategy[Setting]:
        def axes(low: int, high: int) -> st.SearchStrategy[tuple[int, ...]]:
            return st.tuples(*[st.integers(low, high)] * rank)

        parts = st.tuples(axes(1, 5), axes(1, 3), axes(1, 3), axes(1, 2), axes(0, 2), axes(0, 2))
        return parts.map(lambda p: Setting(*p)).filter(lambda s: min(s.out) > 0)

    return st.integers(1, most).flatmap(of)


def convolve(x: Array, w: Array, setting: Setting, group: int) -> Array:
    """x [N, C, *size] with w [M, C/group, *kernel] -> [N, M, *out] float64."""
    result = np.zeros((x.shape[0], w.shape[0], *setting.out))
    each = w.shape[0] // group
    for n, m, *window in np.ndindex(*result.shape):
        for c in range(w.shape[1]):
            channel = m // each * w.shape[1] + c
            for tap, place in setting.taps(window):
                result[(n, m, *window)] += float(x[(n, channel, *place)]) * float(w[(m, c, *tap)])
    return result


def pool(x: Array, setting: Setting, reduce: Callable[[list[float]], float]) -> Array:
    """x [N, C, *size] -> [N, C, *out] float64; `reduce` receives the elements of a window inside of x."""
    result = np.zeros((*x.shape[:2], *setting.out))
    for n, c, *window in np.ndindex(*result.shape):
        result[(n, c, *window)] = reduce([float(x[(n, c, *place)]) for _, place in setting.taps(window)])
    return result
