"""NonZero kernel: the coordinates of nonzero elements, in row-major order, and their number.

    for each dim: for index                          # one unit of work
        coordinates[:, count] = indices; count += element != 0

The indices of every element are stored, but only nonzero elements are counted, so that the next element overwrites the indices
of a zero.  Branches would be mispredicted.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial

from sardonyx._src.compile.codegen import I64, MemoryLocation, Parameters, Target
from sardonyx._src.compile.codegen.element_types import from_memory, memory_type
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.loops.vectors import i64
from sardonyx._src.compile.program import Kernel, KernelArgument, Step, TensorView
from sardonyx._src.dtypes import DataType

PARAMETERS = Parameters("x", "coordinates", "count", "capacity", "dims*")


def non_zero_step(x: TensorView, coordinates: TensorView, count: TensorView) -> Step:
    """The step of coordinates [rank, capacity] int64 and count [1] int64 from x, dense, of rank 1 or more.

    Only the first count[0] columns of the coordinates are defined.  The capacity is at least one more than the number of
    elements.
    """
    source = partial(non_zero_module, dtype=x.dtype, rank=x.rank)
    kernel = Kernel(f"non_zero_{x.dtype.text}_{x.rank}", source, PARAMETERS)
    dims: Sequence[KernelArgument] = x.shape
    args: tuple[KernelArgument, ...] = PARAMETERS.pack(
        x=x, coordinates=coordinates, count=count, capacity=coordinates.shape[1], dims=tuple(dims)
    )
    elements = x.num_elements
    return Step(
        kernel,
        args,
        1,
        (x,),
        (coordinates, count),
        flops=elements * (2 + x.rank),
        bytes_accessed=x.nbytes + elements * 8 * x.rank,
    )


def non_zero_module(name: str, target: Target, dtype: DataType, rank: int) -> str:
    b, element = KernelBuilder(target, PARAMETERS), memory_type(dtype)
    x, coordinates, count = b.pointers("x", "coordinates", "count")
    capacity = b.integer("capacity")
    dims = [b.integer(f"dims[{axis}]") for axis in range(rank)]
    rows = [b.gep(coordinates, capacity * axis, "i64") for axis in range(rank)]
    flat_index, total = b.new_slot("place", I64), b.new_slot("total", I64)
    with b.loop(b.first_unit, b.end_unit, name="unit"):
        for slot in (flat_index, total):
            b.store(slot, i64(b, 0))
        with ExitStack() as loops:
            indices = [loops.enter_context(b.loop(i64(b, 0), dim, name="index")) for dim in dims]
            i, column = b.load(flat_index), b.load(total)
            value = b.load(MemoryLocation(b.gep(x, i, element.llvm_element), element))
            for row, index in zip(rows, indices, strict=True):
                b.store(MemoryLocation(b.gep(row, column, "i64"), I64), index)
            is_nonzero = from_memory(value, dtype)
            is_nonzero = is_nonzero if is_nonzero.type.element == "i1" else is_nonzero.ne(0)
            b.store(total, column + is_nonzero.convert("zext", "i64"))
            b.store(flat_index, i + 1)
        b.store(MemoryLocation(count, I64), b.load(total))
    return b.build_module(name)
