"""Microbenchmark kernels that measure the peak of a CPU: multiply-adds in registers, a memory copy, and memory reads.

A profile relates the FLOP/s and the bytes/s of a step to these peaks: the roofline model (Williams, Waterman and Patterson).
Each kernel has the loop nest: units of work -> unrolled vectors.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen import LLVMType, MemoryLocation, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.program import Kernel

NUM_ACCUMULATORS = 12  # independent sums: they hide the latency of a multiply-add
VECTORS_PER_UNIT = 4  # vectors that a unit of work copies or reads one after another
FMA_PARAMETERS = Parameters("sum")
COPY_PARAMETERS = Parameters("source", "destination")
READ_PARAMETERS = Parameters("source", "sum")


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
    total = b.load(slots[0])
    for slot in slots[1:]:
        total = total + b.load(slot)
    b.store(MemoryLocation(b.pointer("sum"), vector_type), total)
    return b.build_module(name)


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
    """The LLVM module of a kernel of reads.

    A unit of work reads VECTORS_PER_UNIT vectors; `sum` receives the sum of all vectors, a vector.
    """
    b, vector_type = KernelBuilder(target, READ_PARAMETERS), LLVMType("float", target.lanes)
    source, width = b.pointer("source"), target.lanes * VECTORS_PER_UNIT
    sums = [b.new_slot("sum", vector_type) for _ in range(VECTORS_PER_UNIT)]
    for slot in sums:
        b.store(slot, b.constant(0.0, vector_type))
    with b.loop(b.first_unit * width, b.end_unit * width, width) as i:
        for v, slot in enumerate(sums):
            b.store(
                slot, b.load(slot) + b.load(MemoryLocation(b.gep(source, i + v * target.lanes), vector_type))
            )
    total = b.load(sums[0])
    for slot in sums[1:]:
        total = total + b.load(slot)
    b.store(MemoryLocation(b.pointer("sum"), vector_type), total)
    return b.build_module(name)


FMA_KERNEL = Kernel("peak_multiply", fma_module, FMA_PARAMETERS)
COPY_KERNEL = Kernel("peak_copy", copy_module, COPY_PARAMETERS)
READ_KERNEL = Kernel("peak_read", read_module, READ_PARAMETERS)
