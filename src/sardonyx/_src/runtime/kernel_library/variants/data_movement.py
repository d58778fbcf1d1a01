"""Copies: transposes, concatenation, slices, padding, gathering and scattering."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sardonyx._src.ir import Model
from sardonyx._src.runtime.kernel_library.variants.variant_builder import VariantBuilder, float32s, int64s

TYPES = ("float32", "int64", "bool", "float16")  # of 4, 8, 1 and 2 bytes
PERMUTATIONS = (
    [0, 2, 1, 3],
    [0, 2, 3, 1],
    [0, 3, 1, 2],
    [0, 1, 3, 2],
    [2, 0, 1, 3],
    [3, 2, 1, 0],
    [1, 0, 2, 3],
)


def models() -> Iterator[Model]:
    for dtype in TYPES:
        yield copies(dtype)
        yield selections(dtype)


def copies(dtype: str) -> Model:
    b = VariantBuilder()

    def new(*dims: int | str) -> Any:
        return b.operand(*(dims or (2, 4, "S", 8)), dtype=dtype)

    for permutation in PERMUTATIONS:
        b.result(b.Transpose(new(), perm=permutation))
    for axis in (0, 1, 3):
        b.result(b.Concat(new(2, 4, 6, 8), new(2, 4, 6, 8), axis=axis))
        b.result(b.Split(new(2, 4, 6, 8), axis=axis, num_outputs=2, outputs=2)[1])
    b.result(b.Slice(new(), int64s(1), int64s(3), int64s(1)))
    b.result(b.Slice(new(), int64s(0), int64s(8), int64s(3), int64s(2)))
    b.result(b.Slice(new(), int64s(-1), int64s(-9), int64s(3), int64s(-1)))
    b.result(b.Expand(new(1, 4, 1, 8), int64s(2, 4, 3, 8)))
    b.result(b.Tile(new(), int64s(1, 2, 1, 1)))
    if dtype != "bool":
        for mode in ("constant", "edge", "reflect"):
            b.result(b.Pad(new(), int64s(0, 0, 1, 1, 0, 0, 1, 1), mode=mode))
    b.result(b.DepthToSpace(new(1, 8, 4, 4), blocksize=2) if dtype != "bool" else b.Identity(new()))
    return b.finish()


def selections(dtype: str) -> Model:
    b = VariantBuilder()

    def new(*dims: int | str) -> Any:
        return b.operand(*dims, dtype=dtype)

    for indices in ("int64", "int32"):
        for axis in (0, 1, 2):
            b.result(b.Gather(new("N", 4, 8), b.operand("K", dtype=indices), axis=axis))
            b.result(b.Gather(new("N", 4, 8), b.operand(dtype=indices), axis=axis))
            b.result(b.Gather(new("N", 4, 8), np.int64(1), axis=axis))
            b.result(b.GatherElements(new(6, 4, 8), b.operand(6, 4, 8, dtype=indices), axis=axis))
    for width in (1, 2):
        places = b.operand("K", width, dtype="int64")
        b.result(b.GatherND(new("N", 4, 8), places))
        updates = new("K", *(4, 8)[width - 1 :])
        b.result(b.ScatterND(new("N", 4, 8), b.operand("K", width, dtype="int64"), updates))
        if dtype in ("float32", "int64"):
            for reduction in ("add", "max", "min"):
                updates, places = new("K", *(4, 8)[width - 1 :]), b.operand("K", width, dtype="int64")
                b.result(b.ScatterND(new("N", 4, 8), places, updates, reduction=reduction))
    b.result(b.ScatterElements(new(6, 4), b.operand(2, 4, dtype="int64"), new(2, 4)))
    if dtype in ("float32", "int64"):
        for reduction in ("add", "max", "min"):
            for axis in (0, 1):
                places = b.operand(2, 4, dtype="int64")
                b.result(b.ScatterElements(new(6, 4), places, new(2, 4), axis=axis, reduction=reduction))
    if dtype in ("float32", "int64", "bool"):
        b.result(b.NonZero(new("N", 4)))
    for offset in (-1, 0, 1):
        for upper in (0, 1):
            if dtype != "float16":
                b.result(b.Trilu(new("N", "N"), np.int64(offset), upper=upper))
    if dtype == "float32":
        b.result(b.OneHot(b.operand("N", dtype="int64"), np.int64(5), float32s(0, 1)))
        b.result(b.Range(b.operand(dtype="int64"), b.operand(dtype="int64"), np.int64(1)))
    return b.finish()
