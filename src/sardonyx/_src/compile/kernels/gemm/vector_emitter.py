"""Vector kernel emitter: masked loads and stores at the end of a row, loops over vectors, lane shuffles and reductions.

Base class of kernels that work on float32 vectors of the target's register width.
"""

from __future__ import annotations

from collections.abc import Callable

from sardonyx._src.compile.codegen.blocks import I64, StackSlot
from sardonyx._src.compile.codegen.builder import LLVMType, LLVMValue
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.codegen.target import Target

MASK_REGISTER_LANES = 16  # lanes of targets (AVX-512) with mask registers, where masked accesses cost nothing


class VectorKernelEmitter(KernelBuilder):
    """A kernel emitter for float32 vectors of `lanes` lanes, the register width of the target."""

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        self.lanes = target.lanes
        self.vector_type = LLVMType("float", target.lanes)

    def i64(self, value: int) -> LLVMValue:
        return self.constant(value, I64)

    def urem(self, a: LLVMValue, b: LLVMValue) -> LLVMValue:
        """a % b of integers a >= 0, b > 0."""
        return self.emit(I64, f"urem {a}, {b.name}")

    def first_lanes(self, count: LLVMValue) -> LLVMValue:
        """The mask of the first `count` lanes."""
        return count > 0 if self.lanes == 1 else self.lane_mask(count, self.lanes)

    def load_splat(self, address: str) -> LLVMValue:
        """The float at an address in every lane (a broadcast load)."""
        return self.splat(self.load(StackSlot(address, LLVMType("float"))), self.lanes)

    def load_vector(self, address: str, mask: LLVMValue | None = None) -> LLVMValue:
        """The vector at an address; lanes outside of the mask are not read, and 0."""
        memory = StackSlot(address, self.vector_type)
        if mask is None:
            return self.load(memory)
        if self.lanes > 1:
            return self.masked_load(mask, memory)
        slot = self.new_slot("taken", self.vector_type)
        self.store(slot, self.constant(0.0, self.vector_type))
        self.if_then_call(mask, lambda: self.store(slot, self.load(memory)))
        return self.load(slot)

    def store_vector(self, value: LLVMValue, address: str, mask: LLVMValue | None = None) -> None:
        """Stores a vector at an address; memory of lanes outside of the mask is not written."""
        memory = StackSlot(address, self.vector_type)
        if mask is None:
            self.store(memory, value)
        elif self.lanes > 1:
            self.masked_store(mask, memory, value)
        else:
            self.if_then_call(mask, lambda: self.store(memory, value))

    def prefetch(self, address: str) -> None:
        """Prefetches a cache line into L1; the address need not be readable."""
        self.declarations["declare void @llvm.prefetch.p0(ptr, i32 immarg, i32 immarg, i32 immarg)"] = None
        self.lines.append(f" call void @llvm.prefetch.p0(ptr {address}, i32 0, i32 3, i32 1)")

    def loop_vectors(self, count: LLVMValue, body: Callable[[LLVMValue, LLVMValue | None], None]) -> None:
        """Emits a loop over the vectors of a row of `count` floats: body(index, None), and at last body(index, mask)."""
        end = self.loop_call(self.i64(0), count, self.lanes, lambda i: body(i, None), "along")
        if self.lanes > 1:
            self.if_then_call(end < count, lambda: body(end, self.first_lanes(count - end)))

    def loop_masked_vectors(
        self, count: LLVMValue, body: Callable[[LLVMValue, LLVMValue | None], None]
    ) -> None:
        """`loop_vectors`, but on targets where masks cost nothing every vector is masked, which is less code."""
        if self.lanes < MASK_REGISTER_LANES:
            self.loop_vectors(count, body)
            return
        end = count + (self.lanes - 1)
        self.loop_call(self.i64(0), end, self.lanes, lambda i: body(i, self.first_lanes(count - i)), "each")

    def shuffle(self, a: LLVMValue, b: LLVMValue, indices: list[int]) -> LLVMValue:
        """Selects lanes of two concatenated vectors by their indices."""
        numbers = ", ".join(f"i32 {index}" for index in indices)
        vector_type = LLVMType(a.type.element, len(indices))
        return self.emit(vector_type, f"shufflevector {a}, {b}, <{len(indices)} x i32> <{numbers}>")

    def exchange_lanes(self, a: LLVMValue, b: LLVMValue, distance: int) -> tuple[LLVMValue, LLVMValue]:
        """Swaps the odd runs of `distance` lanes of a with the even runs of b: one butterfly of a transposition."""
        lanes = range(self.lanes)
        low = [self.lanes + j - distance if j & distance else j for j in lanes]
        high = [self.lanes + j if j & distance else j + distance for j in lanes]
        return self.shuffle(a, b, low), self.shuffle(a, b, high)

    def transpose(self, rows: list[LLVMValue]) -> list[LLVMValue]:
        """Transposes a square of `lanes` vectors, in log2(lanes) rounds of butterflies."""
        rows, distance = list(rows), 1
        while distance < self.lanes:
            for i in range(self.lanes):
                if i & distance == 0:
                    rows[i], rows[i + distance] = self.exchange_lanes(rows[i], rows[i + distance], distance)
            distance *= 2
        return rows

    def sum_each(self, rows: list[LLVMValue]) -> LLVMValue:
        """The sum of each of `lanes` vectors, in one vector: lane i is the sum of row i."""
        distance = 1
        while len(rows) > 1:
            pairs = [self.exchange_lanes(a, b, distance) for a, b in zip(rows[::2], rows[1::2], strict=True)]
            rows = [low + high for low, high in pairs]
            distance *= 2
        return rows[0]

    def reduce_lanes(self, op: str, value: LLVMValue) -> LLVMValue:
        """Reduces the lanes of a vector by an operation, in log2(lanes) steps; the result is in every lane."""
        distance = self.lanes // 2
        while distance:
            other = self.shuffle(value, value, [i ^ distance for i in range(self.lanes)])
            value = self.emit_operation(op, value, other)
            distance //= 2
        return value
