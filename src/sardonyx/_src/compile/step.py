"""One call of a kernel: what a program is a list of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.ir.dims import Known

Source: TypeAlias = Callable[[str, Target], str]
Arg: TypeAlias = "Tensor | Known"


@dataclass(frozen=True, slots=True)
class Kernel:
    """A function of native code: `void name(ptr args, i64 first, i64 last, ptr scratch)`.

    key: says all that the code depends on besides the target; a name for programs and for people.
    source: the module of LLVM text, given the function's name and the target.
    args: words of 8 bytes, addresses of tensors and sizes.  A call does the units of work from `first` up to `last`;
    units depend on nothing that another one writes, and what they compute does not depend on how they are split.
    scratch: memory of the calling thread's own.
    """

    key: str
    source: Source = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Jump:
    """Where a tape goes on behind a step if a word is not 0: so many records from it, backwards where that is negative."""

    flag: Tensor
    distance: int


@dataclass(frozen=True, slots=True)
class Step:
    """A kernel with its arguments.

    units: of work, which threads share out.  flops, traffic: operations and bytes of all units together, by which
    work is split and profiles are read.  scratch: bytes for each thread.  nodes: names of what it stands for.
    in_place: whether what it writes may lie in the place of what it reads with the same strides and width.
    jump: of a step of control; others go on with the next one.
    """

    kernel: Kernel
    args: tuple[Arg, ...]
    units: Known
    reads: tuple[Tensor, ...]
    writes: tuple[Tensor, ...]
    flops: Known = 0
    traffic: Known = 0
    scratch: Known = 0
    nodes: tuple[str, ...] = ()
    in_place: bool = False
    jump: Jump | None = None

    def named(self, nodes: tuple[str, ...]) -> Step:
        """The same step in the name of some nodes."""
        return replace(self, nodes=nodes)
