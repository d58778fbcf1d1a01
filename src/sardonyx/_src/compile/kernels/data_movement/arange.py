"""Range kernel: an arithmetic sequence of integers, start + i * delta, in vectors."""

from __future__ import annotations

from sardonyx._src.compile.codegen.builder import Element, LLVMValue
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.reductions.row_emitter import ROW_UNIT_ELEMENTS, RowEmitter
from sardonyx._src.compile.program.step import Kernel, Step
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known, ceil_div

ARANGE_ELEMENTS: dict[DataType, Element] = {DataType.INT64: "i64", DataType.INT32: "i32"}


def arange_step(y: TensorView, start: Known, delta: Known) -> Step:
    """y[i] = start + i * delta; y: int64 or int32 [n], dense."""
    element = ARANGE_ELEMENTS[y.dtype]
    assert y.is_dense and y.rank == 1, f"y must be dense of rank 1; got {y}"
    kernel = Kernel(
        f"counting_{element}", lambda name, target: ArangeEmitter(target, element).build_module(name)
    )
    units = ceil_div(y.num_elements, ROW_UNIT_ELEMENTS)
    return Step(kernel, (y, y.num_elements, start, delta), units, (), (y,), bytes_accessed=y.nbytes)


class ArangeEmitter(RowEmitter):
    """Emits an arithmetic sequence; args: y, n, start, delta.  A unit is a block of ROW_UNIT_ELEMENTS elements."""

    def __init__(self, target: Target, element: Element) -> None:
        super().__init__(target, element)
        self.y = self.pointer_argument(0)
        n, self.start, self.delta = (self.size_argument(i) for i in range(1, 4))
        lanes = ", ".join(f"{element} {lane}" for lane in range(self.lanes))
        self.lane_numbers = LLVMValue(self, self.vector_type, f"<{lanes}>" if self.lanes > 1 else "0")
        units = self.first_unit, self.end_unit
        self.loop_call(*units, 1, lambda unit: self.write_unit(unit * ROW_UNIT_ELEMENTS, n), "unit")

    def write_unit(self, first: LLVMValue, n: LLVMValue) -> None:
        target = self.element_pointer(self.y, first)
        count = self.min(n - first, self.constant(ROW_UNIT_ELEMENTS, n.type))
        self.loop_vectors(count, lambda i, vectors, mask: self.write_vectors(target, first, i, vectors, mask))

    def write_vectors(
        self, target: str, first: LLVMValue, i: LLVMValue, vectors: int, mask: LLVMValue | None
    ) -> None:
        """Writes the vectors from element `first + i` on; target: the address of element `first`."""
        for v in range(vectors):
            index = i + v * self.lanes
            begin = self.truncate(self.start + (first + index) * self.delta)
            step = self.truncate(self.delta)
            value = self.broadcast(begin) + self.lane_numbers * self.broadcast(step)
            self.store_vector(value, target, index, mask)

    def truncate(self, value: LLVMValue) -> LLVMValue:
        """An i64 in the element type."""
        return value if self.element == "i64" else value.convert("trunc", "i32")
