"""The role of an epilogue operand, for all dims of small ranks: the kernel reads the elements that NumPy's broadcasting gives."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

import numpy as np
import pytest

from sardonyx._src.compile.partition.fusion.operand_roles import KernelResult, Role, role_of
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import Known, evaluate, symbol

Shape = tuple[int, ...]
M, N = symbol("M"), symbol("N")
KERNELS = [(False, False), (False, True), (True, False)]  # channels last, takes rows
ROLES: tuple[Role, ...] = ("scalar", "column", "row", "matrix")


def as_rows(array: Array, *, channels_last: bool) -> Array:
    """The elements of an array with the dims of a result, as the kernel has them: [rows, columns]."""
    array = np.moveaxis(array, 1, -1) if channels_last else array
    return array.reshape(-1, array.shape[-1])


def elements_read(role: Role, operand: Array, shape: Shape, *, channels_last: bool) -> Array | None:
    """What a kernel reads for its results [rows, columns]; None if it would read beyond the operand, or in another order."""
    columns = shape[1 if channels_last else -1]
    rows = prod(shape) // columns
    row, column = np.indices((rows, columns))
    if role == "matrix":
        is_held = operand.size == prod(shape) and (not channels_last or operand.ndim == len(shape))
        return as_rows(operand.reshape(shape), channels_last=channels_last) if is_held else None
    index = {"scalar": 0 * row, "column": column, "row": row}[role]
    return operand.reshape(-1)[index] if operand.size > index.max(initial=0) else None


def broadcast_elements(operand: Array, broadcast: Shape, shape: Shape, *, channels_last: bool) -> Array:
    return as_rows(np.broadcast_to(operand.reshape(broadcast), shape), channels_last=channels_last)


def operands_of(shape: Shape) -> Iterator[tuple[Shape, Shape]]:
    """The dims of all operands that broadcast to a shape, of any rank, and these padded to its rank."""
    for mask in product((False, True), repeat=len(shape)):
        broadcast = tuple(size if varies else 1 for size, varies in zip(shape, mask, strict=True))
        for lead in range(len(shape) + 1):
            if all(size == 1 for size in broadcast[:lead]):
                yield broadcast[lead:], broadcast
        if len(shape) > 2 and mask == (False, True, *(False for _ in shape[2:])):
            yield (shape[1],), broadcast  # as BatchNormalization reads it


@pytest.mark.parametrize(("channels_last", "takes_rows"), KERNELS)
def test_the_role_of_static_dims(channels_last: bool, takes_rows: bool) -> None:
    """An operand has a role that reads the right elements, and has none only if each role would read others."""
    for shape in (s for rank in (1, 2, 3, 4) for s in product((1, 2, 3, 17), repeat=rank)):
        if channels_last and len(shape) < 3:
            continue
        for dims, broadcast in operands_of(shape):
            operand = np.arange(prod(dims)).reshape(dims)
            expected = broadcast_elements(operand, broadcast, shape, channels_last=channels_last)
            right = [
                role
                for role in ROLES
                if (read := elements_read(role, operand, shape, channels_last=channels_last)) is not None
                and np.array_equal(read, expected)
                and (takes_rows or role != "row")
            ]
            role = role_of(dims, broadcast, KernelResult(shape, channels_last, takes_rows))
            assert role in right or (role is None and not right), (shape, dims, role, right)


@pytest.mark.parametrize(("channels_last", "takes_rows"), KERNELS)
def test_the_role_of_symbolic_dims(channels_last: bool, takes_rows: bool) -> None:
    """A role is right for all sizes with which the operand broadcasts, 1 among them."""
    choices: tuple[Known, ...] = (1, 3, M, N)
    for shape in (s for rank in (1, 2, 3) for s in product(choices, repeat=rank)):
        if channels_last and len(shape) < 3:
            continue
        for dims in product(choices, repeat=len(shape)):
            broadcast = tuple(1 if dim == 1 else size for dim, size in zip(dims, shape, strict=True))
            role = role_of(dims, broadcast, KernelResult(shape, channels_last, takes_rows))
            if role is not None:
                for m, n in product((1, 2, 3), repeat=2):
                    own, whole = (lengths(each, {"M": m, "N": n}) for each in (dims, shape))
                    assert_role(role, own, whole, channels_last=channels_last)


def lengths(dims: tuple[Known, ...], sizes: dict[str, int]) -> Shape:
    return tuple(size for dim in dims if (size := evaluate(dim, sizes)) is not None)


def assert_role(role: Role, dims: Shape, shape: Shape, *, channels_last: bool) -> None:
    """Asserts that a role reads the right elements, if the operand broadcasts at all."""
    if all(dim in (1, size) for dim, size in zip(dims, shape, strict=True)):
        operand = np.arange(prod(dims)).reshape(dims)
        expected = broadcast_elements(operand, dims, shape, channels_last=channels_last)
        read = elements_read(role, operand, shape, channels_last=channels_last)
        assert read is not None and np.array_equal(read, expected), (role, dims, shape)


def test_a_dim_that_may_be_one_at_run_time_has_no_role() -> None:
    result = KernelResult((M, 4), takes_rows=True)
    assert role_of((N, 4), (M, 4), result) is None
    assert role_of((N, 1), (M, 1), result) is None
    assert role_of((M, 1), (M, 1), result) == "row"
    assert role_of((M // 2 * 2 + M % 2, 4), (M, 4), result) == "matrix"


def test_empty_results_have_roles() -> None:
    assert role_of((0, 4), (0, 4), KernelResult((0, 4))) == "matrix"
    assert role_of((4,), (1, 4), KernelResult((0, 4))) == "column"
    assert role_of((0,), (1, 0), KernelResult((4, 0))) == "column"
