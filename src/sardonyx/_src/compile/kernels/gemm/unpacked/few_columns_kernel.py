"""Products of rows by a matrix of few columns, as dot products: y [M, N] = epilogue(a [M, K] @ w [K, N] + bias).

The matrix is a constant, or is computed in the run and has contiguous columns, as a vector has.

    for group of 16 rows:                            # a unit of work has several
        for block of rows, for block of k, for 16 terms: # partial sums of each row and column, in 16 lanes
            for row: for column: multiply-add; store the partial sums in scratch
        add the lanes of 16 rows at once; interleave the columns; apply the epilogue and store

A register tile of a GEMM has columns in its lanes; most lanes would be empty here.  Partial sums have 16 lanes on every
target, and lanes are added in a fixed tree, so that results depend neither on the target nor on how rows are divided.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen import LLVMType, LLVMValue, MemoryLocation, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.epilogue import Epilogue, emit_epilogue
from sardonyx._src.compile.kernels.gemm.tile.output import (
    OutputMatrix,
    load_output_matrix,
    output_parameters,
)
from sardonyx._src.compile.kernels.loops.lanes import exchange_lanes, shuffle
from sardonyx._src.compile.kernels.loops.vectors import (
    first_lanes,
    i64,
    load_typed,
    loop_vectors,
    store_vector,
)
from sardonyx._src.compile.kernels.tuning import GemmTuning
from sardonyx._src.dataclass import dataclass

GRID = 16  # lanes of partial sums, and rows of a group
VECTOR = LLVMType("float", GRID)
K_BLOCK = GRID * GemmTuning.k_block  # a block of k, which is summed from zero: `k_block` terms in each lane
SIZES = ("rows", "k", "a_row", "w_row", "a_item", "w_item")


def few_columns_parameters(epilogue: Epilogue) -> Parameters:
    return Parameters("a", "weights", "bias", *SIZES) + output_parameters(epilogue)


def few_columns_module(name: str, target: Target, columns: int, epilogue: Epilogue) -> str:
    """The LLVM module of the kernel.  Scratch: partial sums [columns, rows of a group, lanes]."""
    b = KernelBuilder(target, few_columns_parameters(epilogue))
    (a, weights, bias), block = b.pointers("a", "weights", "bias"), block_rows(columns, target)
    rows, k, a_row, w_row, a_item, w_item = b.integers(*SIZES)
    output, unit_rows = load_output_matrix(b, epilogue), GemmTuning.few_columns_unit_rows
    # A product of no terms has a block, too, which stores zeros.
    end_k = b.select(k > 0, k, i64(b, 1)) + (K_BLOCK - 1)
    with b.loop(b.first_unit, b.end_unit, 1, "unit") as unit:
        item, number = b.udivmod(unit, b.udiv(rows + (unit_rows - 1), unit_rows))
        a_rows, w_rows = b.gep(a, item * a_item), b.gep(weights, item * w_item)
        columns_of_weights = [b.gep(w_rows, w_row * n) for n in range(columns)]
        end = b.min((number + 1) * unit_rows, rows)
        with b.loop(number * unit_rows, end + (GRID - 1), GRID, "group") as first:
            count = b.min(end - first, GRID)
            with b.loop(i64(b, 0), count + (block - 1), block, "row") as row:
                numbers = [b.min(first + row + i, end - 1) for i in range(block)]
                addresses = [b.gep(a_rows, number * a_row) for number in numbers]
                slots = [[partial_sums(b, n, row + i) for n in range(columns)] for i in range(block)]
                with b.loop(i64(b, 0), end_k, K_BLOCK, "k_block") as start:
                    parts = [b.gep(address, start) for address in addresses]
                    factors = [b.gep(column, start) for column in columns_of_weights]
                    sums = accumulate_block(b, parts, factors, b.min(k - start, K_BLOCK))
                    store_sums(b, sums, slots, is_first=start.eq(0))
            store_group(GroupStore(b, columns, epilogue, output, bias, item * rows + first), count)
    return b.build_module(name)


def block_rows(columns: int, target: Target) -> int:
    """The number of rows that keep their partial sums in registers at a time: a power of two up to 8."""
    registers = 16 if target.lanes == GRID else 12
    vectors = columns * max(1, GRID // target.lanes)
    return max(rows for rows in (1, 2, 4, 8) if rows == 1 or rows * vectors <= registers)


def accumulate_block(
    b: KernelBuilder, rows: list[str], weights: list[str], k: LLVMValue
) -> list[list[MemoryLocation]]:
    """The partial sums over k terms of each pair of a row of A and a column of weights; rows, weights: addresses."""
    sums = [[b.new_slot("sum", VECTOR) for _ in weights] for _ in rows]
    for total in (total for row in sums for total in row):
        b.store(total, b.constant(0.0, VECTOR))
    for i, mask in loop_vectors(b, 0, k, GRID):
        columns = [load_typed(b, VECTOR, b.gep(column, i), mask) for column in weights]
        for address, row_sums in zip(rows, sums, strict=True):
            terms = load_typed(b, VECTOR, b.gep(address, i), mask)
            for column, total in zip(columns, row_sums, strict=True):
                b.store(total, b.fma(terms, column, b.load(total)))
    return sums


def store_sums(
    b: KernelBuilder, sums: list[list[MemoryLocation]], slots: list[list[MemoryLocation]], is_first: LLVMValue
) -> None:
    """Stores the partial sums of the first block of terms in slots, and adds those of later blocks to the slots."""
    pairs = [pair for rows in zip(sums, slots, strict=True) for pair in zip(*rows, strict=True)]
    with b.if_then(is_first.eq(0)):
        for total, slot in pairs:
            b.store(total, b.load(total) + b.load(slot))
    for total, slot in pairs:
        b.store(slot, b.load(total))


def partial_sums(b: KernelBuilder, column: int, row: LLVMValue) -> MemoryLocation:
    """The partial sums of a row of the group, in scratch."""
    return MemoryLocation(b.gep(b.scratch, row * GRID + column * GRID * GRID), VECTOR)


# --- the store -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GroupStore:
    """The destination of a group of rows: `output` from row `first` on; bias: the address of [GRID * columns] floats."""

    b: KernelBuilder
    columns: int
    epilogue: Epilogue
    output: OutputMatrix
    bias: str
    first: LLVMValue


def store_group(group: GroupStore, count: LLVMValue) -> None:
    """Adds the lanes of the partial sums of a group, applies the epilogue and stores the first `count` rows."""
    b, columns = group.b, group.columns
    rows = [i64(b, row) for row in range(GRID)]
    sums = [sum_lanes(b, [b.load(partial_sums(b, n, row)) for row in rows]) for n in range(columns)]
    vectors = [interleave(b, sums, j) for j in range(columns)]
    is_full = count.eq(GRID)
    with b.if_then(is_full):
        for j, vector in enumerate(vectors):
            store_results(group, j, vector, None)
    with b.if_then(is_full.eq(0)):
        for j, vector in enumerate(vectors):
            store_results(group, j, vector, first_lanes(b, count * columns - j * GRID, GRID))


def sum_lanes(b: KernelBuilder, rows: list[LLVMValue]) -> LLVMValue:
    """The sum of the lanes of each of GRID vectors: lane i is the sum of vector i.

    Lanes that are far apart are added first: if a vector occupies several registers, whole registers are added without shuffles.
    """
    distance = GRID // 2
    while distance:
        pairs = [exchange_lanes(b, rows[i], rows[i + distance], distance) for i in range(distance)]
        rows = [low + high for low, high in pairs]
        distance //= 2
    return rows[0]


def interleave(b: KernelBuilder, sums: list[LLVMValue], index: int) -> LLVMValue:
    """Vector `index` of the elements of a group in the order of y: row by row, given a vector of rows for each column."""
    elements = [divmod(index * GRID + lane, len(sums)) for lane in range(GRID)]  # (row, column) of each lane
    result = sums[0] if len(sums) == 1 else shuffle(b, sums[0], sums[0], [row for row, _ in elements])
    for n, values in enumerate(sums[1:], 1):
        lanes = [GRID + row if column == n else lane for lane, (row, column) in enumerate(elements)]
        result = shuffle(b, result, values, lanes)
    return result


def store_results(group: GroupStore, index: int, sums: LLVMValue, mask: LLVMValue | None) -> None:
    """Applies the epilogue to a vector of the elements of a group, and stores the lanes in the mask."""
    b, columns = group.b, group.columns
    offset = group.first * columns + index * GRID
    value = sums + b.load(MemoryLocation(b.gep(group.bias, i64(b, index * GRID)), VECTOR))

    def load_operand(number: int) -> LLVMValue:
        operand = group.output.operands[number]
        if operand.layout == "matrix":
            return load_typed(b, VECTOR, b.gep(operand.address, offset), mask)
        if operand.layout == "scalar":
            return b.splat(load_element(b, operand.address, 0), GRID)
        return repeat_elements(b, [load_element(b, operand.address, n) for n in range(columns)], index)

    result = emit_epilogue(b, group.epilogue, VECTOR, value, load_operand)
    store_vector(b, result, b.gep(group.output.address, offset), mask)


def load_element(b: KernelBuilder, address: str, index: int) -> LLVMValue:
    return b.load(MemoryLocation(b.gep(address, i64(b, index)), LLVMType("float")))


def repeat_elements(b: KernelBuilder, elements: list[LLVMValue], index: int) -> LLVMValue:
    """Vector `index` of a group of rows in which every row consists of `elements`, one for each column."""
    vector = LLVMValue(b, VECTOR, "poison")
    for n, element in enumerate(elements):
        vector = b.emit(VECTOR, f"insertelement {vector}, {element}, i64 {n}")
    return shuffle(b, vector, vector, [(index * GRID + lane) % len(elements) for lane in range(GRID)])
