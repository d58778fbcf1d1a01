"""Contracts of elementwise kernels: rows of any length, operands that broadcast along any dims, every access pattern and type."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import numpy as np

from compile.contracts.contract import Axes, Contract, row_lengths
from compile.contracts.trial import Gap, Trial
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.codegen.expressions import Apply, Cast, Local, Scalar
from sardonyx._src.compile.kernels.elementwise.elementwise import elementwise_step
from sardonyx._src.compile.kernels.elementwise.nonzero_check import nonzero_check_step
from sardonyx._src.compile.program import Step
from sardonyx._src.dtypes import DataType

A, B = Local("i0"), Local("i1")
AROUND_A_UNIT = (4095, 4097)  # elements of a unit of work
TYPES = ("float32", "float64", "int32", "int64", "int8", "uint8")


def broadcast_sum(
    trial: Trial, n: int, rows: tuple[int, int], kept: tuple[bool, bool, bool], dtype: str, gap: Gap
) -> Sequence[Step]:
    """kept: the dims that the second operand has, and does not repeat."""
    shape = (*rows, n)
    other = tuple(size if has_dim else 1 for size, has_dim in zip(shape, kept, strict=True))
    a, b = trial.integers(*shape, dtype=dtype), trial.integers(*other, dtype=dtype)
    tensors = [trial.input(a, gap), trial.input(b)]
    return [elementwise_step(Apply("add", (A, B)), tensors, trial.result(a + b, dtype, gap=gap))]


def sum_axes(target: Target) -> Axes:
    return {
        "n": (*row_lengths(target), *AROUND_A_UNIT),
        "rows": ((1, 1), (2, 3), (5, 1), (0, 3), (7, 17)),
        "kept": [(i, j, k) for i in (False, True) for j in (False, True) for k in (False, True)],
        "dtype": TYPES,
        "gap": (0, 3, None),
    }


def permuted_product(
    trial: Trial, n: int, order: tuple[int, ...], step: int, result_order: tuple[int, ...]
) -> Sequence[Step]:
    """Operands and a result whose elements are far apart."""
    a, b = trial.integers(3, 4, n), trial.integers(3, 4, n)
    stored = trial.input(np.ascontiguousarray(b.transpose(order)))
    wide = trial.input(np.repeat(a, step, 2))
    view = trial.part(wide, a.shape, (*wide.strides[:2], step), 0)
    y = trial.result(np.ascontiguousarray((a * b).transpose(result_order)))
    tensors = [view, stored.permute([int(i) for i in np.argsort(order)])]
    return [
        elementwise_step(Apply("mul", (A, B)), tensors, y.permute([int(i) for i in np.argsort(result_order)]))
    ]


def permuted_axes(target: Target) -> Axes:
    orders = tuple(permutations(range(3)))
    return {"n": row_lengths(target), "order": orders, "step": (1, 2, 3), "result_order": orders}


def several_results(trial: Trial, n: int, rows: int, is_in_place: bool) -> Sequence[Step]:
    """A bool, bytes and floats of one pass, the floats perhaps over an operand."""
    a, b = trial.integers(rows, n), trial.integers(rows, n)
    values: list[Scalar] = [
        Apply("lt", (A, B)),
        Cast(DataType.INT8, Apply("sub", (A, B))),
        Apply("max", (A, B)),
    ]
    tensors = [trial.input(a), trial.input(b)]
    results = [trial.result(a < b, bool), trial.result(a - b, np.int8)]
    larger = np.maximum(a, b)
    results.append(trial.expect(tensors[0], larger) if is_in_place else trial.result(larger))
    return [elementwise_step(values, tensors, results)]


def conversions(trial: Trial, n: int, source: str, to: str) -> Sequence[Step]:
    """Small integers from each type to each."""
    x = trial.integers(3, n, low=0, dtype=DataType[source].numpy)
    dtype = DataType[to]
    y = trial.result(x.astype(dtype.numpy), dtype.numpy)
    return [elementwise_step(Cast(dtype, A), [trial.input(x)], y)]


def conversion_axes(target: Target) -> Axes:
    names = (
        "FLOAT",
        "DOUBLE",
        "FLOAT16",
        "BFLOAT16",
        "INT8",
        "UINT8",
        "INT16",
        "UINT16",
        "INT32",
        "INT64",
        "BOOL",
    )
    return {"n": row_lengths(target), "source": names, "to": names}


def check_of_zeros(trial: Trial, n: int, dtype: str) -> Sequence[Step]:
    """No element is zero, and the status stays as it is."""
    x = np.where(trial.integers(n, dtype=dtype) == 0, 1, 3).astype(dtype)
    return [nonzero_check_step(trial.input(x), trial.status())]


CONTRACTS = [
    Contract(
        check_of_zeros,
        lambda target: {
            "n": (*row_lengths(target), *AROUND_A_UNIT),
            "dtype": (*TYPES[2:], "int16", "uint64", "bool"),
        },
    ),
    Contract(broadcast_sum, sum_axes),
    Contract(permuted_product, permuted_axes),
    Contract(
        several_results,
        lambda target: {
            "n": (*row_lengths(target), *AROUND_A_UNIT),
            "rows": (0, 1, 2, 5),
            "is_in_place": (False, True),
        },
    ),
    Contract(conversions, conversion_axes),
]
