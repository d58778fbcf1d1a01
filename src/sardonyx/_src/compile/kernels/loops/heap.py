"""Kernel code for binary heaps of integer keys in memory, with the least key at the root."""

from __future__ import annotations

from sardonyx._src.compile.codegen import I64, LLVMType, LLVMValue, MemoryLocation
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.loops.vectors import i64
from sardonyx._src.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Heap:
    """A heap of keys in an array; keys: the address of the array."""

    b: KernelBuilder
    keys: str
    key_type: LLVMType = I64

    def slot(self, i: LLVMValue) -> MemoryLocation:
        """The memory of entry i."""
        return MemoryLocation(self.b.gep(self.keys, i, self.key_type.element), self.key_type)

    def build(self, count: LLVMValue) -> None:
        """Turns an array of `count` keys in any order into a heap, bottom up."""
        b, half = self.b, count >> 1
        with b.loop(i64(b, 0), half) as i:
            entry = half - 1 - i
            self.sift_down(entry, count, b.load(self.slot(entry)))

    def pop(self, count: LLVMValue) -> LLVMValue:
        """Removes and returns the least key of a heap of `count` keys, count >= 1."""
        b, zero = self.b, i64(self.b, 0)
        root = b.load(self.slot(zero))
        self.sift_down(zero, count - 1, b.load(self.slot(count - 1)))
        return root

    def sort(self, count: LLVMValue) -> None:
        """Sorts a heap of `count` keys in descending order: moves the root to the end, and shortens the heap by one key."""
        b, zero = self.b, i64(self.b, 0)
        with b.loop(zero, count - 1) as i:
            end = count - 1 - i
            root, key = b.load(self.slot(zero)), b.load(self.slot(end))
            self.sift_down(zero, end, key)
            b.store(self.slot(end), root)

    def sift_down(self, start: LLVMValue, count: LLVMValue, key: LLVMValue) -> None:
        """Inserts a key at the vacant entry `start` of a heap of `count` keys: lesser children move up past it."""
        b, entry = self.b, self.b.new_slot("entry", I64)
        b.store(entry, start)
        head, look, move, done = (b.new_label(word) for word in ("head", "look", "move", "done"))
        b.enter_block(head)
        i = b.load(entry)
        left = i * 2 + 1
        b.lines.append(f" br {left < count}, label %{look}, label %{done}")
        b.start_block(look)
        right = b.select(left + 1 < count, left + 1, left)
        left_key, right_key = (b.load(self.slot(child)) for child in (left, right))
        is_right = right_key < left_key
        least = b.select(is_right, right_key, left_key)
        b.lines.append(f" br {least < key}, label %{move}, label %{done}")
        b.start_block(move)
        b.store(self.slot(i), least)
        b.store(entry, b.select(is_right, right, left))
        b.lines.append(f" br label %{head}")
        b.start_block(done)
        b.store(self.slot(b.load(entry)), key)
