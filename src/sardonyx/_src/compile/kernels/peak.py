"""Microbenchmark kernels that measure the peak of a CPU: multiply-adds in registers, and a memory copy.

A profile relates the FLOP/s and the bytes/s of a step to these two (the roofline model).
"""

from __future__ import annotations

from sardonyx._src.compile.codegen.blocks import StackSlot
from sardonyx._src.compile.codegen.builder import LLVMType, LLVMValue
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.program.step import Kernel

NUM_ACCUMULATORS = 12  # independent sums: an addition takes several cycles
VECTORS_PER_UNIT = 4  # vectors copied one after another


def fma_module(name: str, target: Target) -> str:
    """One unit of work is a multiply-add in every lane of each accumulator.  Argument 0: where the sum is stored."""
    emitter, vector_type = KernelBuilder(target), LLVMType("float", target.lanes)
    slots = [emitter.new_slot("chain", vector_type) for _ in range(NUM_ACCUMULATORS)]
    for slot in slots:
        emitter.store(slot, emitter.constant(1.0, vector_type))

    def step() -> None:
        for slot in slots:
            value = emitter.load(slot)
            emitter.store(slot, emitter.fma(value, value, value))

    emitter.loop_call(emitter.first_unit, emitter.end_unit, 1, lambda _: step())
    total = emitter.load(slots[0])
    for slot in slots[1:]:
        total = total + emitter.load(slot)
    emitter.store(StackSlot(emitter.pointer_argument(0), vector_type), total)
    return emitter.build_module(name)


def copy_module(name: str, target: Target) -> str:
    """One unit of work copies VECTORS_PER_UNIT vectors.  Argument 0: source; argument 1: destination."""
    emitter, vector_type = KernelBuilder(target), LLVMType("float", target.lanes)
    source, destination = emitter.pointer_argument(0), emitter.pointer_argument(1)
    width = target.lanes * VECTORS_PER_UNIT

    def vector_slots(base: str, index: LLVMValue) -> list[StackSlot]:
        return [
            StackSlot(emitter.gep(base, index + i * target.lanes), vector_type)
            for i in range(VECTORS_PER_UNIT)
        ]

    def copy_vectors(index: LLVMValue) -> None:
        values = [emitter.load(slot) for slot in vector_slots(source, index)]
        for slot, value in zip(vector_slots(destination, index), values, strict=True):
            emitter.store(slot, value)

    emitter.loop_call(emitter.first_unit * width, emitter.end_unit * width, width, copy_vectors)
    return emitter.build_module(name)


FMA_KERNEL = Kernel("peak_multiply", fma_module)
COPY_KERNEL = Kernel("peak_copy", copy_module)
