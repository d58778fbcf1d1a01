"""Steps: kernel calls with their arguments, the actions that native code executes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from sardonyx._src.compile.codegen.parameters import Parameters
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.ir.dims import Expr, Known

KernelSource: TypeAlias = Callable[[str, Target], str]
KernelArgument: TypeAlias = "TensorView | Known | ArgumentSlot | RecordSlot | TensorAddress"


@dataclass(frozen=True, slots=True)
class ArgumentSlot:
    """The address of argument number `index` of the step `distance` actions later, in which a kernel stores another address."""

    distance: int
    index: int


@dataclass(frozen=True, slots=True)
class RecordSlot:
    """The address of a slot of the tape's record (`executor.pool_layout`) of the step `distance` actions later."""

    distance: int
    slot: int


@dataclass(frozen=True, slots=True)
class TensorAddress:
    """The address of a tensor's first element, as a number: a kernel stores it, and accesses no element."""

    tensor: TensorView


@dataclass(frozen=True, slots=True)
class LocalSizes:
    """Sizes that a step binds whenever it is executed, for the steps after it, as in each iteration of a loop.

    counts: for each symbol, the tensor of one int64 that the step reads its value from.  limits: the greatest value of each.
    at_most: pairs of sizes of which the first must be at most the second, as the memory that a tensor has.
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
    args: i64 slots, addresses of tensors and sizes.  A call executes the units of work in [first, last); units are
    independent of one another, and results do not depend on how they are divided among calls.
    scratch: memory of the calling thread.
    """

    key: str
    source: KernelSource = field(compare=False, repr=False)
    parameters: Parameters = field(default=Parameters(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Jump:
    """A conditional jump after a step: if the i64 `flag` is nonzero, continue `distance` records away (negative: back)."""

    flag: TensorView
    distance: int


@dataclass(frozen=True, slots=True)
class RowGroups:
    """Units of work that form a grid: panels of columns one after the other, each of `count` groups of rows.

    count: 0 if threads divide the columns.
    block: most groups whose rows stay in a cache while all panels are multiplied by them.
    """

    count: Known
    block: int


@dataclass(frozen=True, slots=True)
class Step:
    """A kernel call.

    units: the number of units of work, which are partitioned among threads.  flops, bytes_accessed: operations and bytes
    of all units together, for work partitioning and profiles.  scratch: bytes for each thread.  nodes: the names of the
    nodes that it implements.
    in_place: whether an output may share the memory of an input with the same strides and element size.
    jump: for control flow; other steps continue with the next one.
    row_groups: if units form a grid, so that threads divide the rows.
    binds: the sizes that it binds for steps after it.
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
