"""What a program needs of native code and of addresses, put into this process."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sardonyx._src.compile import sizes as sizes_of
from sardonyx._src.compile.layout import STATUS, Layout
from sardonyx._src.compile.llvm.cache import disk
from sardonyx._src.compile.llvm.jit import load, prepare
from sardonyx._src.compile.llvm.kernels import address
from sardonyx._src.compile.program import Program
from sardonyx._src.compile.step import Kernel
from sardonyx._src.compile.tensor import Storage
from sardonyx._src.runtime.pool import Functions

Words = NDArray[np.int64]
Sizes: TypeAlias = Callable[[Sequence[int]], tuple[Words, int, int, int]]


def fixed_bases(layout: Layout) -> Words:
    """Addresses that hold for the whole process: of kernels and constants."""
    bases = np.zeros(len(layout.others) + STATUS + 1, np.int64)
    for of, index in layout.others.items():
        if isinstance(of, Storage) and of.data is not None:
            bases[index] = of.data.ctypes.data
    for of, index in layout.others.items():  # last, since others may be at work on them
        if isinstance(of, Kernel):
            bases[index] = address(of)
    return bases


class SizesOf:
    """What depends on lengths of inputs; a child is at its code from the moment at which this is made, if there are any."""

    def __init__(self, program: Program, layout: Layout) -> None:
        self.program, self.layout = program, layout
        self.text = None if program.is_static else sizes_of.text("sizes", program, layout)
        if self.text is not None:
            prepare(self.text, disk(), quick=True)

    def function(self) -> Sizes:
        """The function that works it out."""
        if self.text is None:
            _, arena, scratch, faults = sizes_of.worked_out(self.program, self.layout, ())
            nothing = np.empty(0, np.int64)
            return lambda lengths: (nothing, arena, scratch, faults)
        library = load(self.text, ["sizes"], disk(), quick=True)
        return sizes_in(library, len(sizes_of.asked(self.layout)))


def sizes_in(library: Functions, count: int) -> Sizes:
    """The function `sizes` of a library, which works out so many words."""
    call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(library.addresses["sizes"])

    def sizes(lengths: Sequence[int]) -> tuple[Words, int, int, int]:
        given, found = np.array(lengths, np.int64), np.empty(count + 2, np.int64)
        faults = call(given.ctypes.data, found.ctypes.data)
        return found[:count], int(found[count]), int(found[count + 1]), faults

    sizes.library = library  # type: ignore[attr-defined]  # keeps the code alive
    return sizes
