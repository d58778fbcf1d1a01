"""Relocations: the slots to which this process adds base addresses, and the size function of a program.

A slot is a number, or the distance from a base address: of a kernel, a constant, the arena, or an array of the caller.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from sardonyx._src.compile.program import Buffer
from sardonyx._src.compile.program.encoding.port_dims import PortDims
from sardonyx._src.compile.program.encoding.size_limits import ALL_STAGES
from sardonyx._src.compile.program.encoding.slot_bases import RelocationBase
from sardonyx._src.runtime.limits.thread_pool import FunctionTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

Slots: TypeAlias = "NDArray[np.int64]"
# A function of the lengths and of the stage up to which they are known (default: all).  Its results are the varying slots,
# the bytes of the arena, the bytes of a thread's scratch, and the number of failed guards.
SizeFunction: TypeAlias = Callable[..., tuple[Slots, int, int, int]]


def find_relocations(extra_bases: Mapping[RelocationBase, int], base_indices: Slots) -> dict[Buffer, Slots]:
    """For each buffer of the caller, the indices of the slots that point into it."""
    order = np.argsort(base_indices, kind="stable")
    ordered = base_indices[order]
    buffers = [
        (base, index)
        for base, index in extra_bases.items()
        if isinstance(base, Buffer) and base.role in ("input", "output")
    ]
    indices = np.array([index for _, index in buffers], np.int64)
    first, last = (np.searchsorted(ordered, indices, side).tolist() for side in ("left", "right"))
    return {base: order[i:j] for (base, _), i, j in zip(buffers, first, last, strict=True)}


class NativeSizeFunction:
    """A size function in native code; its reference to the library keeps the code alive.

    count: the number of varying slots.
    ports: the ports whose dims it computes, too; None if it does not.
    size: the number of all values.
    """

    __slots__ = ("call", "count", "library", "ports", "size")

    def __init__(self, library: FunctionTable, count: int, ports: PortDims | None) -> None:
        self.library, self.count, self.ports = library, count, ports
        self.size = count + 2 + (0 if ports is None else ports.count)
        signature = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
        self.call = signature(library.addresses["sizes"])

    def __call__(self, lengths: Sequence[int], stage: int = ALL_STAGES) -> tuple[Slots, int, int, int]:
        count = self.count
        arguments, results = np.array((*lengths, stage), np.int64), np.empty(self.size, np.int64)
        faults = self.call(arguments.ctypes.data, results.ctypes.data)
        return results[:count], int(results[count]), int(results[count + 1]), faults
