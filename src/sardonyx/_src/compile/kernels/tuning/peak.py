"""Microbenchmark kernels that measure the peak of a CPU: multiply-adds in registers, a memory copy, and memory reads.

A profile relates the FLOP/s and the bytes/s of a step to these peaks: the roofline model (Williams, Waterman and Patterson).
Each kernel has the loop nest: units of work -> unrolled vectors.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.compile.codegen import I64, LLVMType, MemoryLocation, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.program import Kernel

NUM_ACCUMULATORS = 12  # independent sums: they hide the latency of a multiply-add
VECTORS_PER_UNIT = 4  # vectors that a unit of work copies one after another
FMA_PARAMETERS = Parameters("sum")
COPY_PARAMETERS = Parameters("source", "destination")
READ_PARAMETERS = Parameters("source", "elements", "sum")
SCALE_PARAMETERS = Parameters("values")
READ_VECTORS = 8  # vectors that are read one after another, each into a sum of its own


def fma_module(name: str, target: Target) -> str:
    """The LLVM module of a kernel of multiply-adds.

    A unit of work is one multiply-add in every lane of each accumulator; `sum` receives the sum of the accumulators, a vector.
    """
    b, vector_type = KernelBuilder(target, FMA_PARAMETERS), LLVMType("float", target.lanes)
    slots = [b.new_slot("chain", vector_type) for _ in range(NUM_ACCUMULATORS)]
    for slot in slots:
        b.store(slot, b.constant(1.0, vector_type))
    with b.loop(b.first_unit, b.end_unit):
        for slot in slots:
            value = b.load(slot)
            b.store(slot, b.fma(value, value, value))
    store_sum(b, slots)
    return b.build_module(name)


def store_sum(b: KernelBuilder, slots: Sequence[MemoryLocation]) -> None:
    """Stores the sum of some vectors as `sum`."""
    total = b.load(slots[0])
    for slot in slots[1:]:
        total = total + b.load(slot)
    b.store(MemoryLocation(b.pointer("sum"), total.type), total)


def copy_module(name: str, target: Target) -> str:
    """The LLVM module of a kernel of copies; a unit of work copies VECTORS_PER_UNIT vectors."""
    b, vector_type = KernelBuilder(target, COPY_PARAMETERS), LLVMType("float", target.lanes)
    source, destination = b.pointers("source", "destination")
    width = target.lanes * VECTORS_PER_UNIT
    offsets = range(0, width, target.lanes)
    with b.loop(b.first_unit * width, b.end_unit * width, width) as i:
        slots = [MemoryLocation(b.gep(source, i + offset), vector_type) for offset in offsets]
        values = [b.load(slot) for slot in slots]
        slots = [MemoryLocation(b.gep(destination, i + offset), vector_type) for offset in offsets]
        for slot, value in zip(slots, values, strict=True):
            b.store(slot, value)
    return b.build_module(name)


def read_module(name: str, target: Target) -> str:
    """The LLVM module of a kernel of reads.  Each unit of work reads the same memory, which so stays in a cache that holds it.

    A unit reads `elements` floats, a multiple of READ_VECTORS vectors; `sum` receives the sum of all, a vector.
    """
    b, vector_type = KernelBuilder(target, READ_PARAMETERS), LLVMType("float", target.lanes)
    source, elements = b.pointer("source"), b.integer("elements")
    sums = [b.new_slot("sum", vector_type) for _ in range(READ_VECTORS)]
    for slot in sums:
        b.store(slot, b.constant(0.0, vector_type))
    with (
        b.loop(b.first_unit, b.end_unit),
        b.loop(b.constant(0, I64), elements, target.lanes * READ_VECTORS) as i,
    ):
        for v, slot in enumerate(sums):
            address = b.gep(source, i + v * target.lanes)
            b.store(slot, b.load(slot) + b.load(MemoryLocation(address, vector_type)))
    store_sum(b, sums)
    return b.build_module(name)


def scale_module(name: str, target: Target) -> str:
    """The LLVM module of a kernel whose time shows what operations on subnormal numbers cost.

    A unit of work multiplies each of NUM_ACCUMULATORS vectors by a factor.  `values` has two vectors: the number that all
    accumulators begin with, and receive, and the factor, 1.
    """
    b, vector_type = KernelBuilder(target, SCALE_PARAMETERS), LLVMType("float", target.lanes)
    values = MemoryLocation(b.pointer("values"), vector_type)
    factor = b.load(MemoryLocation(b.gep(values.name, b.constant(target.lanes, I64)), vector_type))
    slots = [b.new_slot("chain", vector_type) for _ in range(NUM_ACCUMULATORS)]
    for slot in slots:
        b.store(slot, b.load(values))
    with b.loop(b.first_unit, b.end_unit):
        for slot in slots:
            b.store(slot, b.load(slot) * factor)
    total = b.load(slots[0])
    for slot in slots[1:]:
        total = b.emit_operation("min", total, b.load(slot))
    b.store(values, total)
    return b.build_module(name)


FMA_KERNEL = Kernel("peak_multiply", fma_module, FMA_PARAMETERS)
COPY_KERNEL = Kernel("peak_copy", copy_module, COPY_PARAMETERS)
READ_KERNEL = Kernel("peak_read", read_module, READ_PARAMETERS)
SCALE_KERNEL = Kernel("peak_scale", scale_module, SCALE_PARAMETERS)
