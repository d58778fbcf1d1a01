"""The checked build of kernels: accesses outside of what a call may touch are told, and do not take place."""

from __future__ import annotations

import numpy as np
import pytest

from compile import guarded
from compile.checked_runs import Build, Fault, Table
from sardonyx._src.compile.blocks import I64, Slot
from sardonyx._src.compile.llvm.checked import checked
from sardonyx._src.compile.llvm.jit import host
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.step import Kernel, Step
from sardonyx._src.compile.text import Kind, Value
from sardonyx._src.compile.values import KernelText
from sardonyx._src.ir.tensors import Array

FLOAT, WIDE = Kind("float"), Kind("float", 4)
COUNT = 10


class Astray(KernelText):
    """The kernel of a test: arguments are an array that is read, one that is written, and a number."""

    def __init__(self, target: Target) -> None:
        super().__init__(target.fused)
        self.x, self.y, self.n = self.pointer(0), self.pointer(1), self.size(2)

    def number(self, n: int) -> Value:
        return self.constant(n, I64)

    def at(self, base: str, index: Value, kind: Kind = FLOAT) -> Slot:
        return Slot(self.address(base, index), kind)

    # --- what kernels may do; n: 0, or how far behind the end or before the begin -------------

    def copies(self) -> None:
        def one(i: Value) -> None:
            self.write(self.at(self.y, i), self.read(self.at(self.x, i + self.n)))

        self.counted(self.number(0), self.number(COUNT), 1, one)

    def copies_on(self) -> None:
        def one(i: Value) -> None:
            self.write(self.at(self.y, i + self.n), self.read(self.at(self.x, i)))

        self.counted(self.number(0), self.number(COUNT), 1, one)

    def writes_vectors(self) -> None:
        at = self.n + (COUNT - 4)
        self.write(self.at(self.y, at, WIDE), self.read(self.at(self.x, self.number(0), WIDE)))

    def writes_what_it_reads(self) -> None:
        goal = self.at(self.x, self.number(3))
        self.when(self.n.differs(0), lambda: self.write(goal, self.constant(1.0, FLOAT)))

    def masks(self) -> None:
        """The last two elements, and as many lanes more as n says."""
        mask = self.first_lanes(self.n + 2, 4)
        self.write_where(
            mask,
            self.at(self.y, self.number(COUNT - 2), WIDE),
            self.read_where(mask, self.at(self.x, self.number(COUNT - 2), WIDE)),
        )

    def uses_its_stack(self) -> None:
        """An array of four numbers on the stack."""
        self.slots.append(" %four = alloca [4 x float], align 16")
        at = self.address("%four", self.n + 3)
        self.write(Slot(at, FLOAT), self.constant(2.0, FLOAT))

    def looks_up(self) -> None:
        index = self.n + 2
        found = self.looked_up("@numbers", [1.0, 2.0, 3.0], index).converted("fptrunc", "float")
        self.write(self.at(self.y, self.number(0)), found)

    def uses_scratch(self) -> None:
        self.write(self.at(self.scratch, self.n + 3), self.constant(2.0, FLOAT))

    def follows_an_address(self) -> None:
        """An address kept in scratch, and the element that it leads to."""
        place = self.address(self.x, self.n + (COUNT - 1))
        self.lines.append(f" store ptr {place}, ptr {self.scratch}, align 8")
        value = self.read(Slot(self.pointer_at(self.scratch), FLOAT))
        self.write(self.at(self.y, self.number(0)), value)

    def gathers(self) -> None:
        """Elements 1, 3, 5 and n + 9 read, and written."""
        places = Value(self, Kind("i64", 4), "<i64 1, i64 3, i64 5, i64 9>")
        last = self.emit(places.kind, f"insertelement {self.spread(self.number(0), 4)}, {self.n}, i32 3")
        name, ways = "@llvm.masked.gather.v4f32.v4p0", "@llvm.masked.scatter.v4f32.v4p0"
        self.declarations[f"declare <4 x float> {name}(<4 x ptr>, i32 immarg, <4 x i1>, <4 x float>)"] = None
        self.declarations[f"declare void {ways}(<4 x float>, <4 x ptr>, i32 immarg, <4 x i1>)"] = None
        given, goals = (self.address(base, places + last) for base in (self.x, self.y))
        every = "splat (i1 true)"
        value = self.emit(
            WIDE,
            f"call {WIDE} {name}(<4 x ptr> {given}, i32 4, <4 x i1> {every}, {WIDE} zeroinitializer)",
        )
        self.lines.append(f" call void {ways}({value}, <4 x ptr> {goals}, i32 4, <4 x i1> {every})")


WAYS = [
    "copies",
    "copies_on",
    "writes_vectors",
    "masks",
    "uses_its_stack",
    "looks_up",
    "uses_scratch",
    "follows_an_address",
    "gathers",
]


def kernel(way: str) -> Kernel:
    def source(name: str, target: Target) -> str:
        code = Astray(target)
        getattr(code, way)()
        return code.module(name)

    return Kernel(f"astray:{way}", source)


def ran(way: str, n: int) -> tuple[Fault | None, list[Array]]:
    """The fault of a kernel, and its memory afterwards, which lies between ones of everything else."""
    arrays = [np.ones(COUNT + 64, np.float32) for _ in range(3)]
    starts = [array.ctypes.data + 32 * 4 for array in arrays]
    words = np.array([starts[0], starts[1], n], np.int64)
    table = Table()
    table.allow(starts[0], COUNT * 4, writes=False)
    table.allow(starts[1], COUNT * 4, writes=True)
    table.allow(starts[2], 16, writes=True)
    table.allow(words.ctypes.data, words.nbytes, writes=False)
    return Build(kernel(way), host()).call(table, words.ctypes.data, 0, 1, starts[2]), arrays


@pytest.mark.parametrize("way", [*WAYS, "writes_what_it_reads"])
def test_what_stays_inside_is_no_fault(way: str) -> None:
    assert ran(way, 0)[0] is None


@pytest.mark.parametrize("way", WAYS)
def test_one_element_behind_the_end_is_a_fault(way: str) -> None:
    fault, arrays = ran(way, 1)
    assert fault is not None
    assert fault.is_write == (way not in ("copies", "masks", "looks_up", "follows_an_address", "gathers"))
    for array in arrays:
        assert (array[:32] == 1).all(), "nothing is written before the begin"
        assert (array[32 + COUNT :] == 1).all(), "nothing is written behind the end"


@pytest.mark.parametrize("way", ["copies", "copies_on"])
def test_one_element_before_the_begin_is_a_fault(way: str) -> None:
    fault, arrays = ran(way, -1)
    assert fault is not None
    assert fault.size == 4
    assert fault.address == arrays[way == "copies_on"].ctypes.data + 31 * 4
    assert arrays[1][31] == 1, "it is not written"


def test_arrays_on_the_stack_and_constants_are_held_to_their_own_sizes() -> None:
    for way in ("uses_its_stack", "looks_up"):
        for n in (-4, 2, 2**40):
            assert ran(way, n)[0] is not None


def test_what_is_only_read_may_not_be_written() -> None:
    fault, arrays = ran("writes_what_it_reads", 1)
    assert fault is not None
    assert fault.is_write
    assert fault.line.startswith("store float")
    assert (arrays[0] == 1).all()


def test_steps_of_tests_are_held_to_what_they_declare() -> None:
    """The guarded runs of every kernel's tests are checked, too."""
    x, from_ = guarded.tensor(np.ones(COUNT, np.float32))
    y, to = guarded.tensor(np.ones(COUNT, np.float32))
    memory = {from_: np.ones(COUNT, np.float32), to: np.ones(COUNT, np.float32)}
    guarded.run(Step(kernel("copies"), (x, y, 0), 1, (x,), (y,)), memory)
    for reads, writes in (((x,), (x,)), ((y,), (y,))):
        with pytest.raises(AssertionError, match="outside of what"):
            guarded.run(Step(kernel("copies"), (x, y, 0), 1, reads, writes), memory)


def test_an_access_of_an_unknown_kind_is_no_kernel() -> None:
    head = "define void @kernel(ptr %args) nounwind {\nentry:\n"
    for line in (
        " call void @llvm.memset.p0.i64(ptr %args, i8 0, i64 8, i1 false)",
        " call void %args()",
        " %x = cmpxchg ptr %args, i64 0, i64 1 monotonic monotonic",
        " call void @free(ptr %args)",
    ):
        with pytest.raises(AssertionError, match="no check is known"):
            checked(f"{head}{line}\n ret void\n}}")
