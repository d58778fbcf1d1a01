"""Check that no element of a tensor of integer divisors is zero; a zero is reported in the status block."""

from __future__ import annotations

from functools import partial

from sardonyx._src.compile.codegen import LLVMType, Parameters, Target
from sardonyx._src.compile.codegen.element_types import memory_type
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.loops.lanes import reduce_to_scalar
from sardonyx._src.compile.kernels.loops.strided_loops import unit_row_range
from sardonyx._src.compile.kernels.loops.vectors import load_typed, loop_vectors
from sardonyx._src.compile.kernels.tuning import ElementwiseTuning
from sardonyx._src.compile.program import Kernel, KernelArgument, Step, TensorView
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import ceil_div

PARAMETERS = Parameters("x", "status", "count", "unit_elements")


def nonzero_check_step(x: TensorView, status: TensorView) -> Step:
    """The step that sets the status if an element of x is zero; x: integers or bools, dense."""
    count, unit = x.num_elements, ElementwiseTuning.unit_elements
    args: tuple[KernelArgument, ...] = PARAMETERS.pack(x=x, status=status, count=count, unit_elements=unit)
    module = partial(nonzero_check_module, dtype=x.dtype)
    kernel = Kernel(f"nonzero_check_{x.dtype.text}", module, PARAMETERS)
    return Step(kernel, args, ceil_div(count, unit), (x,), (status,), flops=count, bytes_accessed=x.nbytes)


def nonzero_check_module(name: str, target: Target, dtype: DataType) -> str:
    """The LLVM module of the kernel."""
    b, type_ = KernelBuilder(target, PARAMETERS), memory_type(dtype)
    x, status = b.pointers("x", "status")
    count, unit_elements = b.integers("count", "unit_elements")
    vector = LLVMType(type_.element, target.lanes)
    has_zero = b.new_slot("zero", vector.with_element("u8"))
    b.store(has_zero, b.constant(0, has_zero.type))
    for i, mask in loop_vectors(b, *unit_row_range(b, count, unit_elements)):
        value = load_typed(b, vector, b.gep(x, i, type_.element), mask, masked_value=1)
        b.store(has_zero, b.load(has_zero) | value.eq(0).convert("zext", "u8"))
    any_zero = reduce_to_scalar(b, lambda low, high: low | high, b.load(has_zero))
    with b.if_then(any_zero.ne(0)):
        b.lines.append(f" atomicrmw max ptr {status}, i64 1 monotonic, align 8")
    return b.build_module(name)
