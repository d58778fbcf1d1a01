"""Codes of elements: integers with the equality and the order of the elements.  A row has the codes of a slice along an axis.

    for outer: for row: for inner: codes[row, outer, inner] = code of x[outer, row, inner]      # one unit of work

All NaN have one code, the greatest; zeros of both signs have one code, too.
"""

from __future__ import annotations

from functools import partial

from sardonyx._src.compile.codegen import Element, LLVMType, LLVMValue, MemoryLocation, Parameters, Target
from sardonyx._src.compile.codegen.element_types import memory_type
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.loops.vectors import i64
from sardonyx._src.compile.kernels.selection.group_rows import slot_at
from sardonyx._src.compile.program import Kernel, KernelArgument, Step, TensorView
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known

PARAMETERS = Parameters("x", "codes", "outer", "rows", "inner")
# For floats: the integer type of their bits, and the bits of infinity.
FLOAT_BITS: dict[DataType, tuple[Element, int]] = {
    DataType.FLOAT16: ("i16", 0x7C00),
    DataType.BFLOAT16: ("i16", 0x7F80),
    DataType.FLOAT: ("i32", 0x7F800000),
    DataType.DOUBLE: ("i64", 0x7FF0000000000000),
}
SIGN_64 = -(1 << 63)


def order_codes_step(x: TensorView, codes: TensorView, outer: Known, rows: Known, inner: Known) -> Step:
    """The step of codes [rows, outer * inner] int64, dense, from x [outer, rows, inner], dense."""
    kernel = Kernel(f"order_codes_{x.dtype.text}", partial(order_codes_module, dtype=x.dtype), PARAMETERS)
    args: tuple[KernelArgument, ...] = PARAMETERS.pack(x=x, codes=codes, outer=outer, rows=rows, inner=inner)
    return Step(kernel, args, 1, (x,), (codes,), flops=2 * x.num_elements)


def order_codes_module(name: str, target: Target, dtype: DataType) -> str:
    b = KernelBuilder(target, PARAMETERS)
    x, codes = b.pointers("x", "codes")
    outer, rows, inner = b.integers("outer", "rows", "inner")
    element = LLVMType(FLOAT_BITS[dtype][0]) if dtype in FLOAT_BITS else memory_type(dtype)
    zero = i64(b, 0)
    with (
        b.loop(b.first_unit, b.end_unit, name="unit"),
        b.loop(zero, outer, name="outer") as i,
        b.loop(zero, rows, name="row") as row,
        b.loop(zero, inner, name="inner") as k,
    ):
        offset = (i * rows + row) * inner + k
        value = b.load(MemoryLocation(b.gep(x, offset, element.llvm_element), element))
        b.store(slot_at(b, codes, (row * outer + i) * inner + k), code_of(b, value, dtype))
    return b.build_module(name)


def code_of(b: KernelBuilder, value: LLVMValue, dtype: DataType) -> LLVMValue:
    """The code of an element; value: the element, or the bits of a float.

    The bits of negative floats have the opposite order as integers, and are inverted.
    """
    if dtype in FLOAT_BITS:
        infinity = FLOAT_BITS[dtype][1]
        all_but_sign = (1 << (value.type.bits - 1)) - 1
        magnitude = value & all_but_sign
        ordered = b.select(value < 0, value ^ all_but_sign, value)
        ordered = b.select(magnitude.eq(0), magnitude, ordered)
        value = b.select(magnitude > infinity, all_but_sign, ordered)
    if dtype is DataType.UINT64:
        return LLVMValue(value.builder, LLVMType("i64"), value.name) ^ SIGN_64
    if value.type.bits == 64:
        return value
    return value.convert("zext" if value.type.is_unsigned else "sext", "i64")
