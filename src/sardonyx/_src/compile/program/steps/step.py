"""Steps: kernel calls with their arguments, the actions that native code executes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from typing import TypeAlias

from sardonyx._src.compile.codegen import Parameters, Target
from sardonyx._src.compile.program.operands.tensor import TensorView
from sardonyx._src.compile.program.steps.cached_count import CachedCount
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir.dims import Expr, Known

KernelSource: TypeAlias = Callable[[str, Target], str]
KernelArgument: TypeAlias = "TensorView | Known | ArgumentSlot | RecordSlot | TensorAddress | CachedCount"


@dataclass(frozen=True, slots=True)
class ArgumentSlot:
    """A kernel's argument: the address of argument slot `index` of the step `distance` actions later, in which the kernel stores."""

    distance: int
    index: int


@dataclass(frozen=True, slots=True)
class RecordSlot:
    """A kernel's argument: the address of a slot in the record (`executor.pool_layout`) of the step `distance` actions later."""

    distance: int
    slot: int


@dataclass(frozen=True, slots=True)
class TensorAddress:
    """A kernel's argument: the address of a tensor's first element, as a number that the kernel stores."""

    tensor: TensorView


@dataclass(frozen=True, slots=True)
class LocalSizes:
    """The sizes that a step binds for later steps whenever it is executed, as in each iteration of a loop.

    counts: for each symbol, the tensor of one int64 from which the step reads its value.
    limits: for each symbol, its greatest value.
    at_most: pairs of sizes of which the first must be at most the second, such as a length and the room in a buffer.
    """

    counts: Mapping[str, TensorView]
    limits: Mapping[str, Known]
    at_most: tuple[tuple[Known, Known], ...] = ()


@dataclass(frozen=True, slots=True)
class Kernel:
    """A native function `void name(ptr args, i64 first, i64 last, ptr scratch)`.

    key: the cache key, which determines the code for a given target; also the kernel's name in programs and profiles.
    source: returns the LLVM module, given the name of the function and the target.
    parameters: the names of its argument slots.
    describe: returns the words by which the interpreter (`kernels.elementwise.interpreter`) computes the same, or None; None for a
        kernel that has none.

    In a call, `args` are i64 slots, addresses of tensors and sizes, and `scratch` is memory of the calling thread.
    The call executes the units of work in [first, last).  Units are independent of one another, and results do not
    depend on how units are divided among calls.
    """

    key: str
    source: KernelSource = field(compare=False, repr=False)
    parameters: Parameters = field(default=Parameters(), compare=False, repr=False)
    describe: Callable[[], tuple[int, ...] | None] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Jump:
    """A conditional jump after a step: if the i64 `flag` is nonzero, continue `distance` records away (negative: back)."""

    flag: TensorView
    distance: int


@dataclass(frozen=True, slots=True)
class RowGroups:
    """Units of work that form a grid: panels of columns one after the other, each of `count` groups of rows.

    count: the row groups in a panel; 0 if threads divide the columns instead.
    block: the most row groups that stay in a cache while all panels are multiplied by them.
    """

    count: Known
    block: int | CachedCount


@dataclass(frozen=True, slots=True)
class Step:
    """A kernel call over tensors.

    units: the number of units of work, which are partitioned among threads.
    flops: the floating-point operations of all units, for work partitioning and profiles.
    bytes_accessed: the bytes that all units read and write, for work partitioning and profiles.
    scratch: the bytes of scratch memory for each thread.
    nodes: the names of the nodes that the step implements.
    in_place: whether an output may share the memory of an input with the same strides and element size.
    jump: the conditional jump after the step; None if the next step follows always.
    row_groups: the grid of units of which threads divide the rows; None for other steps.
    binds: the sizes that the step binds for later steps; None if it binds none.
    is_copy: whether the step copies its operand, and leaves the result as it is where both are the same memory.
    is_insertion: whether the step replaces elements of its result, and reads none of it, although it declares to.
    """

    kernel: Kernel
    args: tuple[KernelArgument, ...]
    units: Known
    reads: tuple[TensorView, ...]
    writes: tuple[TensorView, ...]
    flops: Known = 0
    bytes_accessed: Known = 0
    scratch: Known = 0
    nodes: tuple[str, ...] = ()
    in_place: bool = False
    jump: Jump | None = None
    row_groups: RowGroups | None = None
    binds: LocalSizes | None = None
    is_copy: bool = False
    is_insertion: bool = False

    def with_nodes(self, nodes: tuple[str, ...]) -> Step:
        """The same step, attributed to these nodes."""
        return replace(self, nodes=nodes)


def sizes_of(step: Step) -> Iterator[Known]:
    """All sizes, strides and offsets that the encoding of a step or the memory plan computes."""
    yield step.units
    yield step.scratch
    tensors = (*step.reads, *step.writes, *(arg for arg in step.args if isinstance(arg, TensorView)))
    yield from (arg for arg in step.args if isinstance(arg, int | Expr))
    for tensor in tensors:
        yield from tensor.shape
        yield tensor.offset
        yield tensor.buffer.size
