"""Sums of the rows of A, with the elements that integer GEMMs read, as exact dot products with ones.

Loop nest: units of work (rows) -> vectors of words of four elements -> the rest of the last word.
"""

from __future__ import annotations

from functools import partial

from sardonyx._src.compile.codegen import LLVMType, LLVMValue, MemoryLocation, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.gemm.integer.int8_dot import ONES, SIGN_BITS, Int8DotEmitter
from sardonyx._src.compile.kernels.gemm.integer.packed_int8 import INT8_PER_WORD
from sardonyx._src.compile.kernels.loops.batch_space import batch_space, pad_dims
from sardonyx._src.compile.kernels.loops.lanes import reduce_to_scalar
from sardonyx._src.compile.kernels.loops.vectors import load_typed, loop_vectors
from sardonyx._src.compile.program import Kernel, Step, TensorView
from sardonyx._src.ir.dims import Known, dim_product

PARAMETERS = Parameters("a", "sums", "k", "rows", "inner", "a_row", "a_inner", "a_outer")
MAX_BATCH_DIMS = 2


def int8_row_sums_step(a: TensorView, sums: TensorView, k: Known, *, a_is_signed: bool) -> Step:
    """sums [..., M, 1] int32, dense, of a [..., M, ceil(k / 4)] words.

    a has at most two batch dims of any strides, and contiguous rows.
    a_is_signed: the elements are int8, and 128 is added to each as the microkernel does; otherwise they are uint8.
    """
    assert a.rank <= MAX_BATCH_DIMS + 2 and sums.is_dense, f"a must have at most two batch dims; got {a}"
    space = pad_dims(batch_space(a.shape[:-1], ((a, 1),)), MAX_BATCH_DIMS + 1)
    (_, inner, rows), ((a_outer, a_inner, a_row),) = space.shape, space.strides
    kernel = Kernel(
        f"row_sums_int8_{a_is_signed}", partial(row_sums_module, a_is_signed=a_is_signed), PARAMETERS
    )
    return Step(
        kernel,
        PARAMETERS.pack(
            a=a,
            sums=sums,
            k=k,
            rows=rows,
            inner=inner,
            a_row=a_row,
            a_inner=a_inner,
            a_outer=a_outer,
        ),
        units=dim_product(a.shape[:-1]),
        reads=(a,),
        writes=(sums,),
        flops=a.num_elements * INT8_PER_WORD,
        bytes_accessed=a.nbytes + sums.nbytes,
    )


def row_sums_module(name: str, target: Target, *, a_is_signed: bool) -> str:
    b = KernelBuilder(target, PARAMETERS)
    a, sums = b.pointers("a", "sums")
    k, rows, inner = b.integers("k", "rows", "inner")
    a_row, a_inner, a_outer = b.integers("a_row", "a_inner", "a_outer")
    words = b.udiv(k, INT8_PER_WORD)
    int32s = LLVMType("i32", target.lanes)
    total = b.new_slot("total", int32s)
    with b.loop(b.first_unit, b.end_unit, name="row") as unit:
        item, row = b.udivmod(unit, rows)
        outer_index, inner_index = b.udivmod(item, inner)
        start = b.gep(a, outer_index * a_outer + inner_index * a_inner + row * a_row, "i32")
        b.store(total, b.constant(0, int32s))
        for i, mask in loop_vectors(b, 0, words):
            ones = b.constant(ONES, int32s)
            if mask is not None:
                ones = b.select(mask, ones, b.constant(0, int32s))
            values = load_typed(b, int32s, b.gep(start, i, "i32"), mask)
            dot = Int8DotEmitter(b, target)
            left = dot.unpack_a(values ^ SIGN_BITS if a_is_signed else values)
            b.store(total, dot.dot_accumulate(b.load(total), left, dot.unpack_b(ones)))
        sum_of_words = reduce_to_scalar(b, lambda x, y: x + y, b.load(total))
        result = MemoryLocation(b.gep(sums, unit, "i32"), LLVMType("i32"))
        b.store(result, sum_of_words)
        with b.loop(words * INT8_PER_WORD, k, 1, "element") as i:
            b.store(result, b.load(result) + load_element(b, b.gep(start, i, "i8"), a_is_signed=a_is_signed))
    return b.build_module(name)


def load_element(b: KernelBuilder, address: str, *, a_is_signed: bool) -> LLVMValue:
    """An element as the microkernel reads it: as uint8, after 128 was added to an int8."""
    element = b.load(MemoryLocation(address, LLVMType("i8")))
    sign_bit = -128
    return (element ^ sign_bit if a_is_signed else element).convert("zext", "i32")
