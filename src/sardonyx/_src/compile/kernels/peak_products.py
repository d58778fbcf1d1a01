"""Microbenchmark kernels that measure the peak rate of each kind of product that a processor has.

Each kernel multiplies registers by themselves; a unit of work is one product of each of several independent sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from sardonyx._src.compile.codegen import LLVMType, MemoryLocation, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.gemm.bf16.bf16_arithmetic import add_dot_products, has_bf16_products
from sardonyx._src.compile.kernels.gemm.integer.int8_dot import Int8DotEmitter
from sardonyx._src.compile.kernels.gemm.tile.amx_tiles import (
    BLOCKS,
    LEFT,
    NUM_TILES,
    RIGHT,
    TILE_ROWS,
    accumulator_tiles,
    configure_rows,
    has_amx_bf16,
    has_amx_int8,
    new_amx_tiles,
    release_tiles,
)
from sardonyx._src.compile.kernels.tuning.peak import FMA_KERNEL, NUM_ACCUMULATORS
from sardonyx._src.compile.program import Kernel
from sardonyx._src.dataclass import dataclass

PARAMETERS = Parameters("sum")
OPERATIONS = {
    "float32": 2,
    "int8": 8,
    "bf16": 4,
}  # of a product in a 32-bit lane: multiplications and additions
TILE_WORDS = {"int8": 4, "bf16": 2}  # elements in a 32-bit word
TILE_INSTRUCTIONS = {"int8": "tdpbssd", "bf16": "tdpbf16ps"}


@dataclass(frozen=True, slots=True)
class PeakProduct:
    """A kind of product: its name, its kernel, whose argument is a vector of memory, and the operations of a unit of work."""

    name: str
    kernel: Kernel
    operations: int


def peak_products(target: Target) -> Iterator[PeakProduct]:
    """The kinds of products that kernels use on a target."""
    lanes = target.lanes * NUM_ACCUMULATORS
    yield PeakProduct("float32", FMA_KERNEL, lanes * OPERATIONS["float32"])
    yield PeakProduct("int8", Kernel("peak_int8", int8_module, PARAMETERS), lanes * OPERATIONS["int8"])
    if has_bf16_products(target):
        yield PeakProduct("bf16", Kernel("peak_bf16", bf16_module, PARAMETERS), lanes * OPERATIONS["bf16"])
    for kind, is_available in (("int8", has_amx_int8(target)), ("bf16", has_amx_bf16(target))):
        if is_available:
            instruction = TILE_INSTRUCTIONS[kind]
            kernel = Kernel(f"peak_{instruction}", partial(tile_module, instruction=instruction), PARAMETERS)
            products = BLOCKS * BLOCKS * TILE_ROWS * TILE_ROWS * TILE_ROWS * TILE_WORDS[kind]
            yield PeakProduct(f"{kind} tiles", kernel, 2 * products)


def int8_module(name: str, target: Target) -> str:
    """The LLVM module of a kernel of dot products of four int8 in each lane."""

    def update(b: KernelBuilder, slot: MemoryLocation) -> None:
        dot, words = Int8DotEmitter(b, target), b.load(slot)
        b.store(slot, dot.dot_accumulate(words, dot.unpack_a(words), dot.unpack_b(words)))

    return product_module(name, target, LLVMType("i32", target.lanes), update)


def bf16_module(name: str, target: Target) -> str:
    """The LLVM module of a kernel of dot products of two bfloat16 in each lane."""

    def update(b: KernelBuilder, slot: MemoryLocation) -> None:
        words = b.load(slot)
        b.store(slot, add_dot_products(b, words, words, words))

    return product_module(name, target, LLVMType("float", target.lanes), update)


def product_module(
    name: str, target: Target, vector: LLVMType, update: Callable[[KernelBuilder, MemoryLocation], None]
) -> str:
    """The LLVM module of a kernel that updates each sum once in a unit of work, and stores the total of the sums."""
    b = KernelBuilder(target, PARAMETERS)
    slots = [b.new_slot("chain", vector) for _ in range(NUM_ACCUMULATORS)]
    for i, slot in enumerate(slots):
        b.store(slot, b.constant(i, vector))
    with b.loop(b.first_unit, b.end_unit):
        for slot in slots:
            update(b, slot)
    total = b.load(slots[0])
    for slot in slots[1:]:
        total = total + b.load(slot)
    b.store(MemoryLocation(b.pointer("sum"), vector), total)
    return b.build_module(name)


def tile_module(name: str, target: Target, instruction: str) -> str:
    """The LLVM module of a kernel of AMX tiles; a unit of work multiplies 2 x 2 blocks once."""
    b = KernelBuilder(target, PARAMETERS)
    tiles = new_amx_tiles(b, BLOCKS, TILE_ROWS)
    configure_rows(b, tiles, b.constant(BLOCKS * TILE_ROWS, LLVMType("i64")))
    b.declarations["declare void @llvm.x86.tilezero(i8 immarg)"] = None
    b.lines += [f" call void @llvm.x86.tilezero(i8 {tile})" for tile in range(NUM_TILES)]
    b.declarations[f"declare void @llvm.x86.{instruction}(i8 immarg, i8 immarg, i8 immarg)"] = None
    with b.loop(b.first_unit, b.end_unit):
        for row in range(BLOCKS):
            for column, tile in enumerate(accumulator_tiles(row)):
                operands = f"i8 {tile}, i8 {LEFT + row}, i8 {RIGHT + column}"
                b.lines.append(f" call void @llvm.x86.{instruction}({operands})")
    release_tiles(b)
    return b.build_module(name)
