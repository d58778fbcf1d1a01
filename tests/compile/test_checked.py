"""The checked build of kernels: accesses outside of the allowed ranges are reported and not performed."""

from __future__ import annotations

import numpy as np
import pytest

from compile import guarded
from compile.checked import instrument_module
from compile.checked_runs import Build, Fault, Table
from sardonyx._src.compile.codegen import I64, LLVMType, LLVMValue, MemoryLocation, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.program import Kernel, Step
from sardonyx._src.ir import Array

FLOAT, VECTOR = LLVMType("float"), LLVMType("float", 4)
COUNT = 10
PARAMETERS = Parameters("x", "y", "n")


class FaultyEmitter(KernelBuilder):
    """Emits kernels whose arguments are an array that is read, one that is written, and an offset n."""

    def __init__(self, target: Target) -> None:
        super().__init__(target, PARAMETERS)
        (self.x, self.y), self.n = self.pointers("x", "y"), self.integer("n")

    def number(self, n: int) -> LLVMValue:
        return self.constant(n, I64)

    def element(self, base: str, index: LLVMValue, llvm_type: LLVMType = FLOAT) -> MemoryLocation:
        return MemoryLocation(self.gep(base, index), llvm_type)

    # --- kernels; n: 0, or the distance of an access past the end or before the beginning --------

    def emit_copy(self) -> None:
        with self.loop(self.number(0), self.number(COUNT)) as i:
            self.store(self.element(self.y, i), self.load(self.element(self.x, i + self.n)))

    def emit_copy_to_offset(self) -> None:
        with self.loop(self.number(0), self.number(COUNT)) as i:
            self.store(self.element(self.y, i + self.n), self.load(self.element(self.x, i)))

    def emit_vector_store(self) -> None:
        start = self.n + (COUNT - 4)
        self.store(
            self.element(self.y, start, VECTOR), self.load(self.element(self.x, self.number(0), VECTOR))
        )

    def emit_input_store(self) -> None:
        target = self.element(self.x, self.number(3))
        with self.if_then(self.n.ne(0)):
            self.store(target, self.constant(1.0, FLOAT))

    def emit_masked_copy(self) -> None:
        """The last two elements, and n more lanes."""
        mask = self.lane_mask(self.n + 2, 4)
        self.masked_store(
            mask,
            self.element(self.y, self.number(COUNT - 2), VECTOR),
            self.masked_load(mask, self.element(self.x, self.number(COUNT - 2), VECTOR)),
        )

    def emit_stack_store(self) -> None:
        """An array of four numbers on the stack."""
        self.allocas.append(" %four = alloca [4 x float], align 16")
        pointer = self.gep("%four", self.n + 3)
        self.store(MemoryLocation(pointer, FLOAT), self.constant(2.0, FLOAT))

    def emit_table_lookup(self) -> None:
        index = self.n + 2
        entry = self.table_lookup("@numbers", [1.0, 2.0, 3.0], index).convert("fptrunc", "float")
        self.store(self.element(self.y, self.number(0)), entry)

    def emit_scratch_store(self) -> None:
        self.store(self.element(self.scratch, self.n + 3), self.constant(2.0, FLOAT))

    def emit_indirect_load(self) -> None:
        """Loads an element by an address that is stored in scratch memory."""
        pointer = self.gep(self.x, self.n + (COUNT - 1))
        self.lines.append(f" store ptr {pointer}, ptr {self.scratch}, align 8")
        value = self.load(MemoryLocation(self.load_pointer(self.scratch), FLOAT))
        self.store(self.element(self.y, self.number(0)), value)

    def emit_gather_and_scatter(self) -> None:
        """Gathers and scatters elements 1, 3, 5 and n + 9."""
        indices = LLVMValue(self, LLVMType("i64", 4), "<i64 1, i64 3, i64 5, i64 9>")
        last = self.emit(indices.type, f"insertelement {self.splat(self.number(0), 4)}, {self.n}, i32 3")
        gather, scatter = "@llvm.masked.gather.v4f32.v4p0", "@llvm.masked.scatter.v4f32.v4p0"
        self.declarations[f"declare <4 x float> {gather}(<4 x ptr>, i32 immarg, <4 x i1>, <4 x float>)"] = (
            None
        )
        self.declarations[f"declare void {scatter}(<4 x float>, <4 x ptr>, i32 immarg, <4 x i1>)"] = None
        sources, targets = (self.gep(base, indices + last) for base in (self.x, self.y))
        all_lanes = "splat (i1 true)"
        value = self.emit(
            VECTOR,
            f"call {VECTOR} {gather}(<4 x ptr> {sources}, i32 4, <4 x i1> {all_lanes}, {VECTOR} zeroinitializer)",
        )
        self.lines.append(f" call void {scatter}({value}, <4 x ptr> {targets}, i32 4, <4 x i1> {all_lanes})")


KERNELS = [
    "emit_copy",
    "emit_copy_to_offset",
    "emit_vector_store",
    "emit_masked_copy",
    "emit_stack_store",
    "emit_table_lookup",
    "emit_scratch_store",
    "emit_indirect_load",
    "emit_gather_and_scatter",
]


def kernel(method: str) -> Kernel:
    def source(name: str, target: Target) -> str:
        emitter = FaultyEmitter(target)
        getattr(emitter, method)()
        return emitter.build_module(name)

    return Kernel(f"faulty:{method}", source)


def run_checked(method: str, n: int) -> tuple[Fault | None, list[Array]]:
    """The fault of a kernel, and its arrays afterwards, surrounded by elements 1.0."""
    arrays = [np.ones(COUNT + 64, np.float32) for _ in range(3)]
    starts = [array.ctypes.data + 32 * 4 for array in arrays]
    arguments = np.array([starts[0], starts[1], n], np.int64)
    table = Table()
    table.allow(starts[0], COUNT * 4, writes=False)
    table.allow(starts[1], COUNT * 4, writes=True)
    table.allow(starts[2], 16, writes=True)
    table.allow(arguments.ctypes.data, arguments.nbytes, writes=False)
    return Build(kernel(method), host_target()).call(table, arguments.ctypes.data, 0, 1, starts[2]), arrays


@pytest.mark.parametrize("method", [*KERNELS, "emit_input_store"])
def test_accesses_in_bounds_are_no_fault(method: str) -> None:
    assert run_checked(method, 0)[0] is None


@pytest.mark.parametrize("method", KERNELS)
def test_an_access_one_past_the_end_is_a_fault(method: str) -> None:
    fault, arrays = run_checked(method, 1)
    assert fault is not None
    assert fault.is_write == (
        method
        not in (
            "emit_copy",
            "emit_masked_copy",
            "emit_table_lookup",
            "emit_indirect_load",
            "emit_gather_and_scatter",
        )
    )
    for array in arrays:
        assert (array[:32] == 1).all(), "no write before the beginning"
        assert (array[32 + COUNT :] == 1).all(), "no write past the end"


@pytest.mark.parametrize("method", ["emit_copy", "emit_copy_to_offset"])
def test_an_access_before_the_beginning_is_a_fault(method: str) -> None:
    fault, arrays = run_checked(method, -1)
    assert fault is not None
    assert fault.size == 4
    assert fault.address == arrays[method == "emit_copy_to_offset"].ctypes.data + 31 * 4
    assert arrays[1][31] == 1, "the write must not be performed"


def test_stack_arrays_and_constants_have_their_own_bounds() -> None:
    for method in ("emit_stack_store", "emit_table_lookup"):
        for n in (-4, 2, 2**40):
            assert run_checked(method, n)[0] is not None


def test_a_write_to_a_read_only_range_is_a_fault() -> None:
    fault, arrays = run_checked("emit_input_store", 1)
    assert fault is not None
    assert fault.is_write
    assert fault.line.startswith("store float")
    assert (arrays[0] == 1).all()


def test_guarded_runs_check_the_declared_operands() -> None:
    """`guarded.run`, which the tests of all kernels use, includes a checked run."""
    x, x_buffer = guarded.tensor(np.ones(COUNT, np.float32))
    y, y_buffer = guarded.tensor(np.ones(COUNT, np.float32))
    memory = {x_buffer: np.ones(COUNT, np.float32), y_buffer: np.ones(COUNT, np.float32)}
    guarded.run(Step(kernel("emit_copy"), (x, y, 0), 1, (x,), (y,)), memory)
    for reads, writes in (((x,), (x,)), ((y,), (y,))):
        with pytest.raises(AssertionError, match="outside of the operands"):
            guarded.run(Step(kernel("emit_copy"), (x, y, 0), 1, reads, writes), memory)


def test_unsupported_accesses_are_rejected() -> None:
    head = "define void @kernel(ptr %args) nounwind {\nentry:\n"
    for line in (
        " call void @llvm.memset.p0.i64(ptr %args, i8 0, i64 8, i1 false)",
        " call void %args()",
        " %x = cmpxchg ptr %args, i64 0, i64 1 monotonic monotonic",
        " call void @free(ptr %args)",
    ):
        with pytest.raises(AssertionError, match="access must be of a supported kind"):
            instrument_module(f"{head}{line}\n ret void\n}}")
