"""Relocations: the base addresses that this process adds to a program's slots, and the program's size function.

A slot is a number, or the distance from a base address: of a kernel, a constant, the arena, or an array of the caller.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sardonyx._src.compile.llvm.cache import default_cache
from sardonyx._src.compile.llvm.jit import Module, compile_module_async, load
from sardonyx._src.compile.llvm.loaded_kernels import kernel_address
from sardonyx._src.compile.program import Buffer, Kernel
from sardonyx._src.compile.program.encoding import size_functions
from sardonyx._src.compile.program.encoding.encoding import STATUS_BASE, Encoding, RelocationBase
from sardonyx._src.compile.program.encoding.port_dims import PortDims, port_dims
from sardonyx._src.compile.program.encoding.size_functions import ALL_STAGES
from sardonyx._src.compile.program.steps.program import Program
from sardonyx._src.phases import phase, report_bytes
from sardonyx._src.runtime.limits.thread_pool import FunctionTable

Slots = NDArray[np.int64]
# A function of the lengths and of the stage up to which they are known (default: all).  Its results are the varying slots,
# the bytes of the arena, the bytes of a thread's scratch, and the number of failed guards.
SizeFunction: TypeAlias = Callable[..., tuple[Slots, int, int, int]]


def process_bases(encoding: Encoding) -> Slots:
    """The base addresses that are the same for all runs in this process: those of kernels and constants."""
    bases = np.zeros(len(encoding.extra_bases) + STATUS_BASE + 1, np.int64)
    with phase("weights"):
        pack_constants(encoding, bases)
    for base, index in encoding.extra_bases.items():  # kernels last: workers may still be compiling them
        if isinstance(base, Kernel):
            bases[index] = kernel_address(base)
    return bases


def pack_constants(encoding: Encoding, bases: Slots) -> None:
    """Packs the constants that no one has packed, and sets their addresses."""
    sizes = {
        b: b.content.nbytes for b in encoding.extra_bases if isinstance(b, Buffer) and b.content is not None
    }
    done, total = 0, sum(sizes.values())
    for buffer, size in sizes.items():
        assert buffer.data is not None, "it has a content"
        bases[encoding.extra_bases[buffer]] = buffer.data.ctypes.data
        done += size
        report_bytes(done, total)


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


class SizeFunctionLoader:
    """The size function of a program.  If there are compile workers, one of them compiles it between construction and `load`."""

    @phase("sizes")
    def __init__(self, program: Program, encoding: Encoding) -> None:
        self.program, self.encoding = program, encoding
        self.text = (
            None if program.is_static else size_functions.size_function_module("sizes", program, encoding)
        )
        if self.text is not None:
            compile_module_async(Module.of_text(self.text, quick=True), default_cache())

    @phase("sizes")
    def load(self) -> SizeFunction:
        """The function; a constant one for a program without symbolic sizes."""
        if self.text is None:
            _, arena, scratch, faults = size_functions.evaluate_sizes(self.program, self.encoding, ())
            no_slots = np.empty(0, np.int64)
            return lambda lengths, stage=ALL_STAGES: (no_slots, arena, scratch, faults)
        library = load(Module.of_text(self.text, quick=True), ["sizes"], default_cache())
        return NativeSizeFunction(
            library, len(size_functions.sized_values(self.encoding)), port_dims(self.program)
        )


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
