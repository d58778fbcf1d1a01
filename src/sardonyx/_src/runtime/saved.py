"""Saved programs in this process: nothing is compiled, and the compiler need not be there."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sardonyx._src.compile.layout import STATUS, Base
from sardonyx._src.compile.llvm.executable import Executable
from sardonyx._src.compile.saved import features, reading
from sardonyx._src.compile.saved.reading import Saved, Words, protocol
from sardonyx._src.errors import DecodeError, EvaluationError, SardonyxError, UnsupportedProcessor
from sardonyx._src.io.nesting import nesting_limited
from sardonyx._src.ops.api import RunLimits, RuntimeValue
from sardonyx._src.runtime import arrays, pool
from sardonyx._src.runtime.again import can_repeat
from sardonyx._src.runtime.engine import NativeEngine, Observer
from sardonyx._src.runtime.host import Host
from sardonyx._src.runtime.limits import Unfit
from sardonyx._src.runtime.loading import Sizes, sizes_in
from sardonyx._src.runtime.native import NativeProgram, ports

if TYPE_CHECKING:
    from sardonyx._src.runtime.memory_plan import MemoryPlan


class SavedEngine(NativeEngine):
    """Runs the program of a file, for feeds that every operator takes; there is no reference engine behind it."""

    def __init__(
        self,
        path: Path,
        *,
        threads: int | None = None,
        limits: RunLimits | None = None,
        seed: int | None = None,
    ) -> None:
        """Raises DecodeError for a file that is not whole, UnsupportedProcessor for one that is for another machine."""
        found = opened(path)
        self.begin(found.interface, limits, seed)
        with nesting_limited():
            self.native = SavedProgram(found, threads)
        self.again = self.native.again

    def run(
        self, feeds: Mapping[str, RuntimeValue], observe: Observer | None = None
    ) -> dict[str, RuntimeValue]:
        """The outputs by name; raises EvaluationError for values that an operator does not take."""
        if observe is not None:
            raise SardonyxError(
                "a saved program has no nodes to look at; trace the model that it was compiled from"
            )
        try:
            with np.errstate(all="ignore"), nesting_limited():
                return self.native.run(feeds, self.limits, self.draws)
        except Unfit:
            what = "an index is out of range, or sizes do not fit each other"
            raise EvaluationError(f"{what}; the reference engine says where, given the model") from None


class SavedProgram(NativeProgram):
    """A program whose code and words come from a file."""

    def __init__(self, saved: Saved, threads: int | None = None) -> None:
        self.program, self.plan = saved.program, saved.plan
        self.code = Executable(saved.code, saved.functions, saved.slots)
        pool.adopt(self.code)
        if saved.fields == arrays.FIELDS:
            arrays.adopt(self.code)
        self.host = Host(saved.program)
        self.pool = pool.shared(threads)
        self.fixed, self.base_of, self.varying = saved.words, saved.base_of, saved.varying
        self.bases = self.bases_of(saved)
        numbers: dict[Base, int] = {
            of: i for i, of in enumerate(saved.others, STATUS + 1) if not isinstance(of, int)
        }
        self.ports = ports(numbers, saved.base_of)
        self.sizes = sizes_of(saved, self.code)
        self.idle = deque()
        self.fed = tuple(value.name for value in saved.program.model.graph.inputs)
        self.handed_out = tuple(value.name for value in saved.program.outputs)
        self.can_repeat = saved.fields == arrays.FIELDS and can_repeat(self)

    def memory_plan(self, lengths: Mapping[str, int]) -> MemoryPlan:
        raise SardonyxError(
            "a saved program does not say what its memory is for; ask the model that it was made of"
        )

    def bases_of(self, saved: Saved) -> Words:
        """Addresses that hold for the whole process: of kernels and constants."""
        bases = np.zeros(len(saved.others) + STATUS + 1, np.int64)
        for index, of in enumerate(saved.others, STATUS + 1):
            if isinstance(of, int):
                bases[index] = self.code.start + of
            elif of.data is not None:
                bases[index] = of.data.ctypes.data
        return bases


def opened(path: Path) -> Saved:
    """The program in a file, if it is for this machine and this version of Sardonyx."""
    container, wanted, machine, agreed = reading.opened(path)
    if features.machine() != machine:
        here = features.machine() or "another system"
        raise UnsupportedProcessor(f"{path} is for Linux on {machine}, and this is {here}", features=())
    present = features.present()
    missing = [name for name in wanted if name not in present]
    if missing:
        what = f"{path} was compiled for a processor with {', '.join(missing)}, which this one has not"
        raise UnsupportedProcessor(what, features=tuple(missing))
    if agreed != protocol():
        why = "another version of Sardonyx compiled this program: compile the model anew"
        raise DecodeError(why, offset=0, source=str(path))
    return reading.saved(path, container)


def sizes_of(saved: Saved, code: Executable) -> Sizes:
    """The function that works out what depends on lengths of inputs."""
    if saved.size is not None:
        arena, scratch, faults = saved.size
        nothing = np.empty(0, np.int64)
        return lambda lengths: (nothing, arena, scratch, faults)
    return sizes_in(code, len(saved.varying))
