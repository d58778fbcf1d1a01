"""Cases of elementwise kernels, of copies, and of kernels that select elements."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from probes.case_builder import QUARTER, CaseBuilder, KernelCase

FUNCTIONS = ("Exp Log Sin Erf Tanh Sigmoid Sqrt Round").split()
POSITIVE = ("Log", "Sqrt")
NUMBERS = ("float32", "float64", "int32", "int64", "uint8", "float16")
TYPES = ("bool", "float16", "float32", "int64")  # of 1, 2, 4 and 8 bytes
CASTS = (("float32", "int64"), ("int64", "float64"), ("bool", "float32"))


def cases() -> Iterator[KernelCase]:
    for name in FUNCTIONS:
        b = CaseBuilder()
        x = b.feed(67, low=1 if name in POSITIVE else -4, scale=QUARTER)
        yield b.case(name, getattr(b, name)(x), tolerance=1e-5)
    for dtype in NUMBERS:
        b = CaseBuilder()
        x, y = b.feed(3, 37, dtype=dtype, low=1), b.feed(3, 1, dtype=dtype, low=1)
        results = (x + y, x * y, b.Max(x, y), x < y)
        yield b.case(f"arithmetic of {dtype}", *(results if dtype == "float32" else results[1:3]))
    for source, to in CASTS:
        b = CaseBuilder()
        yield b.case(f"Cast of {source} to {to}", b.Cast(b.feed(67, dtype=source, low=0), to=to))
    b = CaseBuilder()
    yield b.case("division", b.feed(67) / b.feed(67, low=1))
    b = CaseBuilder()
    yield b.case("Where", b.Where(b.feed(3, 37, dtype="bool", low=0, high=1), b.feed(3, 37), b.feed(37)))
    for dtype in TYPES:
        yield from copies(dtype)
        yield from selections(dtype)
    yield from others()


def copies(dtype: str) -> Iterator[KernelCase]:
    kind = {"dtype": dtype, "low": 0, "high": 1 if dtype == "bool" else 4}
    if dtype != "float32":  # which convolutions copy
        b = CaseBuilder()
        yield b.case(f"Transpose of {dtype}", b.Transpose(b.feed(5, 19, 3, **kind), perm=[0, 2, 1]))
    b = CaseBuilder()
    yield b.case(
        f"Concat and Slice of {dtype}", b.Concat(b.feed(3, 5, **kind), b.feed(3, 18, **kind), axis=1)[:, 1::2]
    )
    b = CaseBuilder()
    yield b.case(f"Expand of {dtype}", b.Expand(b.feed(3, 1, **kind), [3, 19]))
    for upper in (0, 1) if dtype == "float32" else ():
        b = CaseBuilder()
        yield b.case(
            f"Trilu of {dtype}, upper {upper}", b.Trilu(b.feed(7, 19, **kind), np.int64(1), upper=upper)
        )


def selections(dtype: str) -> Iterator[KernelCase]:
    kind = {"dtype": dtype, "low": 0, "high": 1 if dtype == "bool" else 4}
    for indices in ("int64", "int32") if dtype == "float32" else ("int64",):
        b = CaseBuilder()
        chosen = b.fed(np.array([2, 0, -1, 1, 2], indices))
        results = (b.Gather(b.feed(3, 3, 3, **kind), chosen, axis=axis) for axis in (0, 1, 2))
        yield b.case(f"Gather of {dtype} by {indices}", *results)
    b = CaseBuilder()
    places = b.fed(np.array([[0, 2], [1, -1], [2, 0]], np.int64))
    x, updates = b.feed(3, 3, 7, **kind), b.feed(3, 7, **kind)
    if dtype == "bool":  # rows of bytes, as those of all types
        yield b.case(
            f"GatherND and ScatterND of {dtype}", b.GatherND(x, places), b.ScatterND(x, places, updates)
        )
    b = CaseBuilder()
    places = b.fed(np.resize(np.array([2, 0, 1], np.int64), (3, 5)))
    x, updates = b.feed(3, 5, **kind), b.feed(3, 5, **kind)
    yield b.case(
        f"GatherElements and ScatterElements of {dtype}",
        b.GatherElements(x, places),
        b.ScatterElements(x, places, updates),
    )
    for reduction in ("add", "max") if dtype in ("float32", "int64") else ():
        b = CaseBuilder()
        places, x, updates = (
            b.fed(np.array([[0], [2], [0]], np.int64)),
            b.feed(3, 7, **kind),
            b.feed(3, 7, **kind),
        )
        yield b.case(
            f"ScatterND of {dtype}, {reduction}", b.ScatterND(x, places, updates, reduction=reduction)
        )


def others() -> Iterator[KernelCase]:
    b = CaseBuilder()
    x, y = b.feed(67, dtype="int64"), b.feed(67, dtype="int64", low=1)
    yield b.case("Mod", b.Mod(x, y))
    b = CaseBuilder()
    yield b.case(
        "ReverseSequence",
        b.ReverseSequence(b.feed(5, 3, 7), b.fed(np.array([5, 2, 1], np.int64)), time_axis=0, batch_axis=1),
    )
    b = CaseBuilder()
    yield b.case("DynamicQuantizeLinear", *b.DynamicQuantizeLinear(b.feed(3, 37)))
    b = CaseBuilder()
    yield b.case("Det", b.Det(b.feed(2, 3, 3)))
    b = CaseBuilder()
    yield b.case("EyeLike", b.EyeLike(b.feed(5, 7), dtype="float32", k=1))
