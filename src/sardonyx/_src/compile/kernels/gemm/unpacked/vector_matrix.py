"""Products of one row by a matrix that a run computes: y [..., 1, N] = epilogue(a [..., 1, K] @ b [..., K, N]), B read in place.

    for matrix of the batch, for chunk of its columns:         # a unit of work
        for k_block in K by KC:                                # partial sums of the chunk, in scratch
            for 4 terms of the block: for vector of columns: add their products; store
        apply the epilogue and store

Each element of B is used once, so that packing it would cost more time than the product.  Few long pieces of rows are read
at a time; memory delivers them faster than the many short pieces that a register tile reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from sardonyx._src.compile.codegen import I64, LLVMValue, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.epilogue import Epilogue, emit_epilogue, operand_offset
from sardonyx._src.compile.kernels.gemm.tile.output import (
    OutputMatrix,
    load_output_matrix,
    output_arguments,
    output_parameters,
)
from sardonyx._src.compile.kernels.gemm.tile.row_blocks import divide_evenly
from sardonyx._src.compile.kernels.loops.batch_space import linear_batch
from sardonyx._src.compile.kernels.loops.vectors import (
    i64,
    load_splat,
    load_vector,
    loop_vectors,
    store_vector,
    vector_type,
    zeros,
)
from sardonyx._src.compile.kernels.tuning import GemmTuning
from sardonyx._src.compile.program import Kernel, KernelArgument, Step, TensorView
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import ceil_div

SIZES = ("columns", "k", "a_item", "a_step", "b_item", "b_row")


def is_vector_product(
    a: TensorView, b: TensorView, y: TensorView, epilogue: Epilogue, operands: tuple[TensorView, ...]
) -> bool:
    """Whether `vector_matrix_step` supports a product: one row of A for each matrix B, and contiguous rows of B."""
    if min(a.rank, b.rank) < 2 or a.shape[-2] != 1 or b.strides[-1] != 1 or b.dtype is not DataType.FLOAT:
        return False
    item = linear_batch(a, b, y)
    matrices = [o for layout, o in zip(epilogue.operand_layouts, operands, strict=True) if layout == "matrix"]
    is_regular = all(o.row_stride is not None and o.shape == y.shape for o in (y, *matrices))
    return is_regular and item is not None and (item.size == 1 or item.stride(1, 0) != 0)


def vector_matrix_step(
    a: TensorView,
    b: TensorView,
    y: TensorView,
    epilogue: Epilogue | None = None,
    operands: tuple[TensorView, ...] = (),
) -> Step:
    """y = epilogue(a @ b), for operands that `is_vector_product` accepts; a has any strides."""
    epilogue, item, (k, columns) = epilogue or Epilogue(), linear_batch(a, b, y), b.shape[-2:]
    assert item is not None, f"the batch of {a} and {b} must have one stride"
    parameters = vector_matrix_parameters(epilogue)
    args: tuple[KernelArgument, ...] = parameters.pack(
        a=a,
        b=b,
        columns=columns,
        k=k,
        a_item=item.stride(0, 0),
        a_step=a.strides[-1],
        b_item=item.stride(1, 0),
        b_row=b.strides[-2],
        **output_arguments(y, epilogue, operands),
    )
    return Step(
        Kernel(f"vector_matrix_f32:{epilogue.key}", partial(emit_module, epilogue=epilogue), parameters),
        args,
        item.size * ceil_div(columns, GemmTuning.vector_columns),
        (a, b, *operands),
        (y,),
        flops=2 * item.size * columns * k,
        bytes_accessed=a.nbytes + b.nbytes + y.nbytes,
        scratch=2 * 4 * GemmTuning.vector_columns,
    )


def vector_matrix_parameters(epilogue: Epilogue) -> Parameters:
    return Parameters("a", "b", *SIZES) + output_parameters(epilogue)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A chunk of columns of a matrix.

    a, matrix, sums: the addresses of the row of a, of the first column, and of the sums of the columns in scratch.
    count: the number of columns.
    """

    b: KernelBuilder
    a: str
    matrix: str
    sums: str
    count: LLVMValue
    a_step: LLVMValue
    b_row: LLVMValue


def emit_module(name: str, target: Target, epilogue: Epilogue) -> str:
    """The LLVM module of the kernel.  Scratch: the sums of a block of k, and of the blocks before it."""
    b = KernelBuilder(target, vector_matrix_parameters(epilogue))
    a, matrix = b.pointers("a", "b")
    columns, k, a_item, a_step, b_item, b_row = b.integers(*SIZES)
    output, width = load_output_matrix(b, epilogue), GemmTuning.vector_columns
    with b.loop(b.first_unit, b.end_unit, 1, "unit") as unit:
        item, number = b.udivmod(unit, b.udiv(columns + (width - 1), width))
        column = number * width
        matrix_columns = b.gep(matrix, item * b_item + column)
        count = b.min(columns - column, width)
        chunk = Chunk(b, b.gep(a, item * a_item), matrix_columns, b.scratch, count, a_step, b_row)
        add_blocks(chunk, k)
        store_chunk(chunk, output, epilogue, item, column)
    return b.build_module(name)


def add_blocks(chunk: Chunk, k: LLVMValue) -> None:
    """Computes the sums of a chunk, in the same blocks of k as in `loop_nest.py`."""
    b = chunk.b
    k_block, num_blocks = divide_evenly(b, k, b.constant(GemmTuning.k_block, I64))
    total = b.gep(chunk.sums, i64(b, GemmTuning.vector_columns))
    with b.loop(i64(b, 0), num_blocks, 1, "k_block") as i:
        for j in loop_sums(chunk):
            store_vector(b, zeros(b), b.gep(chunk.sums, j))
        first = i * k_block
        end = b.min(first + k_block, k)
        for terms in (GemmTuning.vector_terms, 1):
            with b.loop(first, end, terms, "term") as term:
                add_terms(chunk, term, terms)
            first = term
        with b.if_then(i > 0):
            for j in loop_sums(chunk):
                add_vector(b, b.gep(chunk.sums, j), load_vector(b, b.gep(total, j)))
        with b.if_then(i + 1 < num_blocks):
            for j in loop_sums(chunk):
                store_vector(b, load_vector(b, b.gep(chunk.sums, j)), b.gep(total, j))


def loop_sums(chunk: Chunk) -> Iterator[LLVMValue]:
    """A loop over the vectors of sums; scratch has room for whole vectors, so that no masks are needed."""
    b, lanes = chunk.b, chunk.b.target.lanes
    with b.loop(i64(b, 0), chunk.count + (lanes - 1), lanes, "sums") as j:
        yield j


def add_vector(b: KernelBuilder, address: str, value: LLVMValue) -> None:
    store_vector(b, value + load_vector(b, address), address)


def add_terms(chunk: Chunk, first: LLVMValue, terms: int) -> None:
    """Adds the products of some terms, from `first` on, to the sums of all columns of a chunk."""
    b = chunk.b
    factors = [load_splat(b, b.gep(chunk.a, (first + i) * chunk.a_step)) for i in range(terms)]
    rows = [b.gep(chunk.matrix, (first + i) * chunk.b_row) for i in range(terms)]
    for j, mask in loop_vectors(b, 0, chunk.count):
        address = b.gep(chunk.sums, j)
        total = load_vector(b, address)
        for factor, row in zip(factors, rows, strict=True):
            total = b.fma(factor, load_vector(b, b.gep(row, j), mask), total)
        store_vector(b, total, address)


def store_chunk(
    chunk: Chunk, output: OutputMatrix, epilogue: Epilogue, row: LLVMValue, column: LLVMValue
) -> None:
    """Applies the epilogue to the sums of a chunk, and stores them into a row of the output from a column on."""
    b = chunk.b
    for j, mask in loop_vectors(b, 0, chunk.count):
        value = load_vector(b, b.gep(chunk.sums, j))
        load = partial(load_operand, b, output, row, column + j, mask)
        result = emit_epilogue(b, epilogue, vector_type(b), value, load)
        store_vector(b, result, b.gep(output.address, row * output.row_stride + column + j), mask)


def load_operand(
    b: KernelBuilder,
    output: OutputMatrix,
    row: LLVMValue,
    column: LLVMValue,
    mask: LLVMValue | None,
    number: int,
) -> LLVMValue:
    """A vector of an operand of the epilogue for the result at (row, column)."""
    operand = output.operands[number]
    if operand.layout == "scalar":
        return load_splat(b, operand.address)
    return load_vector(b, b.gep(operand.address, operand_offset(operand, row, column)), mask)
