"""Base of normalization kernels: mean and mean square of a row in two passes, and epilogues on the stores."""

from __future__ import annotations

from collections.abc import Callable

from sardonyx._src.compile.codegen.blocks import StackSlot
from sardonyx._src.compile.codegen.builder import LLVMType, LLVMValue
from sardonyx._src.compile.codegen.expressions import Local
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.epilogue import RESULT, Epilogue
from sardonyx._src.compile.kernels.reductions.row_emitter import RowEmitter


class StatisticsEmitter(RowEmitter):
    """Emits a kernel that normalizes rows of float32 to mean 0 and variance 1, or to mean square 1."""

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        self.epilogue_operands: list[tuple[str, LLVMValue | None]] = []  # address, and row stride of a matrix

    def sum_row(self, n: LLVMValue, term: Callable[[LLVMValue, LLVMValue | None], LLVMValue]) -> LLVMValue:
        """The sum over a row of term(index, mask), which emits one vector: a scalar."""
        accumulators = self.new_accumulators(0)

        def accumulate(i: LLVMValue, vectors: int, mask: LLVMValue | None) -> None:
            for v, accumulator in enumerate(accumulators[:vectors]):
                value = term(i + v * self.lanes, mask)
                if mask is not None:
                    value = self.select(mask, value, self.constant(0, self.vector_type))
                self.store(accumulator, self.load(accumulator) + value)

        self.loop_vectors(n, accumulate)
        return self.reduce_accumulators(lambda a, b: a + b, accumulators)

    def mean_of(self, n: LLVMValue, term: Callable[[LLVMValue, LLVMValue | None], LLVMValue]) -> LLVMValue:
        """The mean over a row of term(index, mask): a scalar."""
        return self.sum_row(n, term) / n.convert("sitofp", "float")

    def mean_square(self, n: LLVMValue, base: str, center: LLVMValue) -> LLVMValue:
        """The mean of (x - center)^2 over a row; center: a vector."""

        def term(index: LLVMValue, mask: LLVMValue | None) -> LLVMValue:
            deviation = self.load_vector(base, index, mask) - center
            return deviation * deviation

        return self.mean_of(n, term)

    def inverse_deviation(self, variance: LLVMValue, epsilon: LLVMValue) -> LLVMValue:
        """1 / sqrt(variance + epsilon), for scalars."""
        return 1 / self.call_intrinsic("sqrt", variance + epsilon)

    # --- epilogues ---------------------------------------------------------------------------

    def load_epilogue_operands(self, epilogue: Epilogue, index: int) -> int:
        """Loads the operands of an epilogue from the arguments; returns the index of the next argument."""
        for layout in epilogue.operand_layouts:
            is_matrix = layout == "matrix"
            base = self.pointer_argument(index)
            self.epilogue_operands.append((base, self.size_argument(index + 1) if is_matrix else None))
            index += 2 if is_matrix else 1
        return index

    def apply_epilogue(
        self, epilogue: Epilogue, value: LLVMValue, row: LLVMValue, column: LLVMValue, mask: LLVMValue | None
    ) -> LLVMValue:
        """Applies an epilogue to the vector of results that begins at [row, column]."""

        def load_local(local: Local) -> LLVMValue:
            if local == RESULT:
                return value
            assert isinstance(local, Local), f"{local} is no operand of the epilogue"
            index = int(local.name.removeprefix("o"))
            base, row_stride = self.epilogue_operands[index]
            if epilogue.operand_layouts[index] == "scalar":
                return self.broadcast(self.load(StackSlot(base, LLVMType("float"))))
            return self.load_vector(base, column if row_stride is None else row * row_stride + column, mask)

        return self.emit_expression(epilogue.expression, self.vector_type, load_local)
