"""Rows sorted by group: a stable counting sort of group indices.

    for row: starts[group + 2] += 1               # one unit of work
    for group: running sums of starts
    for row: order[starts[group + 1]] = row; starts[group + 1] += 1

Afterwards the rows of a group are order[starts[group] : starts[group + 1]], ascending.
"""

from __future__ import annotations

from functools import partial

from sardonyx._src.compile.codegen import (
    I64,
    Element,
    LLVMType,
    LLVMValue,
    MemoryLocation,
    Parameters,
    Target,
)
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.data_movement.gather import INDEX_ELEMENTS
from sardonyx._src.compile.kernels.data_movement.indexed_copy import record_error
from sardonyx._src.compile.kernels.loops.vectors import i64
from sardonyx._src.compile.program import Kernel, KernelArgument, Step, TensorView
from sardonyx._src.ir.dims import Known

PARAMETERS = Parameters("indices", "order", "starts", "status", "rows", "groups")
# Rows of group g are counted in starts[g + 2], and invalid rows as group 0 even if there is no group.
SPARE_STARTS = 3


def group_rows_step(
    indices: TensorView, order: TensorView, starts: TensorView, groups: Known, status: TensorView
) -> Step:
    """The step that sorts the rows by group.

    indices: the group of each row, [rows] int32 or int64, dense.
    order: [rows] int64.
    starts: [groups + SPARE_STARTS] int64.
    An index outside [0, groups) is reported in `status`; its row is counted in group 0.
    """
    element, rows = INDEX_ELEMENTS[indices.dtype], indices.num_elements
    args: tuple[KernelArgument, ...] = PARAMETERS.pack(
        indices=indices, order=order, starts=starts, status=status, rows=rows, groups=groups
    )
    kernel = Kernel(f"group_rows_{element}", partial(group_rows_module, element=element), PARAMETERS)
    traffic = 2 * indices.nbytes + order.nbytes + 2 * starts.nbytes
    return Step(kernel, args, 1, (indices,), (order, starts, status), bytes_accessed=traffic)


def group_rows_module(name: str, target: Target, element: Element) -> str:
    b = KernelBuilder(target, PARAMETERS)
    indices, order, starts, status = b.pointers("indices", "order", "starts", "status")
    rows, groups = b.integers("rows", "groups")
    total = b.new_slot("total", I64)
    with b.loop(b.first_unit, b.end_unit, name="unit"):
        with b.loop(i64(b, 0), groups + SPARE_STARTS, name="start") as i:
            b.store(slot_at(b, starts, i), i64(b, 0))
        with b.loop(i64(b, 0), rows, name="row") as row:
            group = load_group(b, indices, row, groups, element)
            is_wrong = group < 0
            with b.if_then(is_wrong):
                record_error(b, status, row)
            count = slot_at(b, starts, b.select(is_wrong, i64(b, 0), group) + 2)
            b.store(count, b.load(count) + 1)
        b.store(total, i64(b, 0))
        with b.loop(i64(b, 0), groups + SPARE_STARTS, name="group") as i:
            start = slot_at(b, starts, i)
            b.store(total, b.load(total) + b.load(start))
            b.store(start, b.load(total))
        with b.loop(i64(b, 0), rows, name="row") as row:
            group = load_group(b, indices, row, groups, element)
            position = slot_at(b, starts, b.select(group < 0, i64(b, 0), group) + 1)
            b.store(slot_at(b, order, b.load(position)), row)
            b.store(position, b.load(position) + 1)
    return b.build_module(name)


def load_group(
    b: KernelBuilder, indices: str, row: LLVMValue, groups: LLVMValue, element: Element
) -> LLVMValue:
    """The group of a row; -1 for an index outside [0, groups)."""
    index = b.load(MemoryLocation(b.gep(indices, row, element), LLVMType(element)))
    index = index if element == "i64" else index.convert("sext", "i64")
    return b.select((index >= 0) & (index < groups), index, i64(b, -1))


def slot_at(b: KernelBuilder, base: str, index: LLVMValue) -> MemoryLocation:
    return MemoryLocation(b.gep(base, index, "i64"), I64)
