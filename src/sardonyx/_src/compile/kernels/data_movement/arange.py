"""Range kernel: an arithmetic sequence of integers, start + i * delta, in vectors.

Loop nest: units of work (blocks of `row_unit_elements` elements) -> vectors.
"""

from __future__ import annotations

from functools import partial

from sardonyx._src.compile.codegen import Element, Parameters, Target
from sardonyx._src.compile.codegen.element_types import resize_integer
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.loops.memory import store_at
from sardonyx._src.compile.kernels.loops.rows import full_vector_type, lane_numbers, loop_unrolled_vectors
from sardonyx._src.compile.kernels.tuning import ReductionTuning
from sardonyx._src.compile.program import Kernel, KernelArgument, Step, TensorView
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known, ceil_div

ARANGE_ELEMENTS: dict[DataType, Element] = {DataType.INT64: "i64", DataType.INT32: "i32"}
PARAMETERS = Parameters("y", "n", "start", "delta")


def arange_step(y: TensorView, start: Known, delta: Known) -> Step:
    """The step of y[i] = start + i * delta; y: int64 or int32 [n], dense."""
    element, n = ARANGE_ELEMENTS[y.dtype], y.num_elements
    assert y.is_dense and y.rank == 1, f"y must be dense of rank 1; got {y}"
    kernel = Kernel(f"counting_{element}", partial(arange_module, element=element), PARAMETERS)
    args: tuple[KernelArgument, ...] = PARAMETERS.pack(y=y, n=n, start=start, delta=delta)
    return Step(
        kernel, args, ceil_div(n, ReductionTuning.row_unit_elements), (), (y,), bytes_accessed=y.nbytes
    )


def arange_module(name: str, target: Target, *, element: Element) -> str:
    """The LLVM module of the kernel: each vector is its first element plus the lane numbers times delta."""
    b, vector_type = KernelBuilder(target, PARAMETERS), full_vector_type(target, element)
    y, n, start, delta = b.pointer("y"), b.integer("n"), b.integer("start"), b.integer("delta")
    lanes = vector_type.lanes
    with b.loop(b.first_unit, b.end_unit, name="unit") as unit:
        first = unit * ReductionTuning.row_unit_elements
        block, count = b.gep(y, first, element), b.min(n - first, ReductionTuning.row_unit_elements)
        for _, i, mask in loop_unrolled_vectors(b, count, lanes):
            begin = resize_integer(start + (first + i) * delta, element)
            step = resize_integer(delta, element)
            value = b.splat(begin, lanes) + lane_numbers(b, vector_type) * b.splat(step, lanes)
            store_at(b, block, i, value, mask)
    return b.build_module(name)
