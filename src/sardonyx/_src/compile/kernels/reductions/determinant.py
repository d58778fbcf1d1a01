"""Determinants of small matrices: LU factorization with partial pivoting, a matrix at a time in scratch memory.

    for matrix in the units:
        copy; for each column k:
            swap the row of the largest |a[i, k]|, i >= k, to row k; determinant *= +-a[k, k]
            for rows i > k: a[i, k + 1:] -= a[i, k] / a[k, k] * a[k, k + 1:]

The product of the pivots is in double precision, so that it overflows only where the determinant does.  Source: Golub and
Van Loan, "Matrix Computations", algorithm 3.4.1.
"""

from __future__ import annotations

from functools import partial

from sardonyx._src.compile.codegen import LLVMType, LLVMValue, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.loops.memory import load_at, store_at
from sardonyx._src.compile.kernels.loops.vectors import i64
from sardonyx._src.compile.kernels.tuning import ReductionTuning
from sardonyx._src.compile.program import Kernel, Step, TensorView
from sardonyx._src.ir.dims import ceil_div

PARAMETERS = Parameters("x", "y", "matrices")
DOUBLE = LLVMType("double")


def determinant_step(x: TensorView, y: TensorView, size: int) -> Step:
    """y: [matrices], the determinants of x: [matrices, size, size], float32, dense; NaN for a matrix that contains NaN."""
    matrices = y.num_elements
    return Step(
        Kernel(f"determinant_{size}", partial(determinant_module, size=size), PARAMETERS),
        PARAMETERS.pack(x=x, y=y, matrices=matrices),
        ceil_div(matrices, ReductionTuning.unit_matrices),
        (x,),
        (y,),
        flops=matrices * size**3,
        bytes_accessed=x.nbytes + y.nbytes,
        scratch=size * size * 4,
    )


def determinant_module(name: str, target: Target, size: int) -> str:
    b = KernelBuilder(target, PARAMETERS)
    (x, y), matrices = b.pointers("x", "y"), b.integer("matrices")
    with b.loop(b.first_unit, b.end_unit, name="unit") as unit:
        first = unit * ReductionTuning.unit_matrices
        with b.loop(first, b.min(first + ReductionTuning.unit_matrices, matrices), name="matrix") as matrix:
            has_nan = copy_matrix(b, b.gep(x, matrix * size * size), size)
            determinant = factorize(b, size).convert("fptrunc", "float")
            nan = b.constant(float("nan"), determinant.type)
            store_at(b, y, matrix, b.select(has_nan, nan, determinant))
    return b.build_module(name)


def copy_matrix(b: KernelBuilder, source: str, size: int) -> LLVMValue:
    """Copies a matrix to scratch; whether it contains NaN."""
    has_nan = b.new_slot("has_nan", LLVMType("i1"))
    b.store(has_nan, b.constant(False, LLVMType("i1")))
    with b.loop(i64(b, 0), i64(b, size * size), name="element") as i:
        element = load_at(b, source, i, "float")
        store_at(b, b.scratch, i, element)
        b.store(has_nan, b.load(has_nan) | element.ne(element))
    return b.load(has_nan)


def factorize(b: KernelBuilder, size: int) -> LLVMValue:
    """The determinant of the matrix in scratch, a double; overwrites the matrix."""
    product = b.new_slot("product", DOUBLE)
    b.store(product, b.constant(1.0, DOUBLE))
    with b.loop(i64(b, 0), i64(b, size), name="column") as k:
        row = pivot_row(b, k, size)
        swap_rows(b, k, row, size)
        pivot = load_at(b, b.scratch, k * (size + 1), "float")
        factor = pivot.convert("fpext", "double")
        b.store(product, b.load(product) * b.select(row.eq(k), factor, -factor))
        # A column of zeros has the pivot 0: the product stays 0, and the rows as they are.
        with b.if_then(pivot.ne(0.0)), b.loop(k + 1, i64(b, size), name="row") as i:
            eliminate(b, k, i, load_at(b, b.scratch, i * size + k, "float") / pivot, size)
    return b.load(product)


def pivot_row(b: KernelBuilder, k: LLVMValue, size: int) -> LLVMValue:
    """The row from k on with the largest magnitude in column k."""
    row, largest = b.new_slot("pivot", k.type), b.new_slot("largest", LLVMType("float"))
    b.store(row, k)
    b.store(largest, b.fabs(load_at(b, b.scratch, k * (size + 1), "float")))
    with b.loop(k + 1, i64(b, size), name="candidate") as i:
        magnitude = b.fabs(load_at(b, b.scratch, i * size + k, "float"))
        is_larger = magnitude > b.load(largest)
        b.store(row, b.select(is_larger, i, b.load(row)))
        b.store(largest, b.select(is_larger, magnitude, b.load(largest)))
    return b.load(row)


def swap_rows(b: KernelBuilder, k: LLVMValue, row: LLVMValue, size: int) -> None:
    """Swaps rows k and `row` from column k on."""
    with b.if_then(row.ne(k)), b.loop(k, i64(b, size), name="swapped") as j:
        upper, lower = (load_at(b, b.scratch, i * size + j, "float") for i in (k, row))
        store_at(b, b.scratch, k * size + j, lower)
        store_at(b, b.scratch, row * size + j, upper)


def eliminate(b: KernelBuilder, k: LLVMValue, i: LLVMValue, factor: LLVMValue, size: int) -> None:
    """a[i, k + 1:] -= factor * a[k, k + 1:]."""
    with b.loop(k + 1, i64(b, size), name="eliminated") as j:
        upper, element = (load_at(b, b.scratch, r * size + j, "float") for r in (k, i))
        store_at(b, b.scratch, i * size + j, b.fma(-factor, upper, element))
