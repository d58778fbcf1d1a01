"""Rotary position embedding (RoPE; Su et al., "RoFormer"): rotates pairs of elements of each row by its position's angles.

A unit of work is some rows [D] of x [B, H, L, D].  With (a, b) a pair of elements of a row, and cos and sin those of the
pair at the row's position: y = (cos * a - sin * b, sin * a + cos * b).
"""

from __future__ import annotations

from sardonyx._src.compile.codegen.blocks import StackSlot
from sardonyx._src.compile.codegen.builder import LLVMValue
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.data_movement.iteration_space import IterationSpace, row_space
from sardonyx._src.compile.kernels.reductions.row_emitter import RowEmitter, num_units, rows_per_unit
from sardonyx._src.compile.program.step import Kernel, KernelArgument, Step
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.ir.dims import Known


def rotary_embedding_step(
    x: TensorView,
    y: TensorView,
    cos: TensorView,
    sin: TensorView,
    *,
    interleaved: bool,
    positions: TensorView | None = None,
    status: TensorView | None = None,
) -> Step:
    """The step for fp32 x, y [B, H, L, D]; rows of all tensors are contiguous.

    cos, sin: a cache [P, half] with int64 positions [B, L]; without positions, the angles themselves, [B, L, half].
    2 * half <= D: elements after the first 2 * half are copied.  interleaved: pairs are elements 2 * i and 2 * i + 1;
    otherwise i and i + half.  A position outside of 0..P-1 is reported in `status`, and its row is not written.
    """
    half, width = cos.shape[-1], x.shape[3]
    angles = (cos, sin) if positions is None else (positions,)
    # Angles do not depend on the head.
    angle_strides = [(tensor.strides[0], 0, tensor.strides[1]) for tensor in angles]
    rows = row_space(IterationSpace(x.shape[:3], (x.strides[:3], y.strides[:3], *angle_strides)), by=1)
    rank, has_positions = rows.rank, positions is not None
    kernel = Kernel(
        f"rotary{'_pairs' * interleaved}{'_placed' * has_positions}_{rank}",
        lambda name, target: RotaryEmitter(
            target, rank, interleaved=interleaved, has_positions=has_positions
        ).build_module(name),
    )
    tensors, cache_sizes = [x, y, cos, sin], tuple[Known, ...]()
    if positions is not None:
        assert status is not None, "a step with positions must have a status; got None"
        tensors += [positions, status]
        cache_sizes = (cos.shape[0], cos.strides[0], sin.strides[0])
    sizes = (rows.size, rows_per_unit(width), half, width, *cache_sizes)
    arguments: tuple[KernelArgument, ...] = (*tensors, *sizes, *rows.to_arguments())
    reads = (x, cos, sin, *(() if positions is None else (positions,)))
    return Step(
        kernel,
        arguments,
        num_units(rows.size, width),
        reads,
        (y, *tensors[5:]),
        flops=x.num_elements * 3,
        bytes_accessed=x.nbytes * 2,
    )


class RotaryEmitter(RowEmitter):
    """Emits the kernel.

    Arguments: pointers to x, y, cos, sin, with positions also these and the status; the number of rows, rows of a unit,
    half, D; with positions P and the row strides of cos and sin; the iteration space of the rows.
    """

    def __init__(self, target: Target, rank: int, *, interleaved: bool, has_positions: bool) -> None:
        super().__init__(target)
        self.interleaved, self.has_positions = interleaved, has_positions
        self.bases = [self.pointer_argument(i) for i in range(4)]
        index = 4
        if has_positions:
            self.positions, self.status, index = self.pointer_argument(4), self.pointer_argument(5), 6
        rows, unit_rows, self.half, self.width = (self.size_argument(index + i) for i in range(4))
        index += 4
        if has_positions:
            self.num_positions, *self.cache_strides = (self.size_argument(index + i) for i in range(3))
            index += 3
        operands = 3 if has_positions else 4
        self.loop_unit_rows(rows, unit_rows, self.load_dims(index, rank, operands), self.rotate_row)

    def rotate_row(self, _: LLVMValue, offsets: list[LLVMValue]) -> None:
        """The row with these offsets in x, y and the angles or positions."""
        x, y = (
            self.element_pointer(base, offset)
            for base, offset in zip(self.bases[:2], offsets[:2], strict=True)
        )
        if not self.has_positions:
            angles = [self.element_pointer(b, o) for b, o in zip(self.bases[2:], offsets[2:], strict=True)]
            self.rotate_elements(x, y, angles)
            return
        position = self.load(StackSlot(self.gep(self.positions, offsets[2], "i64"), self.zero.type))
        is_valid = (position >= 0) & (position < self.num_positions)

        def rotate() -> None:
            caches = zip(self.bases[2:], self.cache_strides, strict=True)
            self.rotate_elements(
                x, y, [self.element_pointer(base, position * stride) for base, stride in caches]
            )

        def report() -> None:
            mark = offsets[2] + 1
            self.lines.append(f" atomicrmw max ptr {self.status}, {mark} monotonic, align 8")

        self.if_then_call(is_valid, rotate)
        self.if_then_call(is_valid.eq(0), report)

    def rotate_elements(self, x: str, y: str, angles: list[str]) -> None:
        """Rotates the pairs of a row and copies the elements after them."""
        if self.interleaved:
            self.rotate_interleaved(x, y, angles)
        else:
            self.rotate_halves(x, y, angles)
        rotated = self.half * 2
        source, target = self.element_pointer(x, rotated), self.element_pointer(y, rotated)

        def copy(i: LLVMValue, vectors: int, mask: LLVMValue | None) -> None:
            for v in range(vectors):
                self.store_vector(
                    self.load_vector(source, i + v * self.lanes, mask), target, i + v * self.lanes, mask
                )

        self.loop_vectors(self.width - rotated, copy, 1)

    def rotate_pair(
        self, a: LLVMValue, b: LLVMValue, cos: LLVMValue, sin: LLVMValue
    ) -> tuple[LLVMValue, LLVMValue]:
        return cos * a - sin * b, sin * a + cos * b

    def rotate_halves(self, x: str, y: str, angles: list[str]) -> None:
        def rotate_vectors(i: LLVMValue, _: int, mask: LLVMValue | None) -> None:
            indices = (i, i + self.half)
            pair = [self.load_vector(x, index, mask) for index in indices]
            rotated = self.rotate_pair(*pair, *(self.load_vector(angle, i, mask) for angle in angles))
            for value, index in zip(rotated, indices, strict=True):
                self.store_vector(value, y, index, mask)

        self.loop_vectors(self.half, rotate_vectors, 1)

    def rotate_interleaved(self, x: str, y: str, angles: list[str]) -> None:
        """Vectors of pairs are deinterleaved, rotated and interleaved; the remainder is done pair by pair."""
        lanes, reached = self.lanes, self.zero

        def rotate_vectors(i: LLVMValue, _: int, __: LLVMValue | None) -> None:
            low, high = (self.load_vector(x, i * 2 + part, None) for part in (0, lanes))
            pair = [self.shuffle(low, high, range(odd, 2 * lanes, 2)) for odd in (0, 1)]
            rotated = self.rotate_pair(*pair, *(self.load_vector(angle, i, None) for angle in angles))
            for part in (0, lanes):
                interleaved = [(part + j) // 2 + j % 2 * lanes for j in range(lanes)]
                self.store_vector(self.shuffle(*rotated, interleaved), y, i * 2 + part, None)

        if lanes > 1:
            reached = self.loop_full_vectors(reached, self.half, 1, rotate_vectors)
        self.loop_call(reached, self.half, 1, lambda i: self.rotate_scalars(x, y, angles, i), "pair")

    def rotate_scalars(self, x: str, y: str, angles: list[str], i: LLVMValue) -> None:
        """Interleaved pair number i."""
        indices = [i * 2, i * 2 + 1]
        pair = [self.load(StackSlot(self.element_pointer(x, index), self.scalar_type)) for index in indices]
        cos_sin = [self.load(StackSlot(self.element_pointer(angle, i), self.scalar_type)) for angle in angles]
        for value, index in zip(self.rotate_pair(*pair, *cos_sin), indices, strict=True):
            self.store(StackSlot(self.element_pointer(y, index), self.scalar_type), value)
