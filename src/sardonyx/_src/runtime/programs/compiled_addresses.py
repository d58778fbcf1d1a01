"""Addresses of a program that this process has compiled: of its kernels, its constants, and its size function."""

from __future__ import annotations

import numpy as np

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.llvm.cache import default_cache
from sardonyx._src.compile.llvm.interpreted_code import has_interpreter, interpreted_objects
from sardonyx._src.compile.llvm.jit import Library, Module, compile_module_async, host_target, load
from sardonyx._src.compile.llvm.loaded_kernels import kernel_address
from sardonyx._src.compile.program import Buffer, Kernel
from sardonyx._src.compile.program.encoding import size_functions
from sardonyx._src.compile.program.encoding.encoding import Encoding
from sardonyx._src.compile.program.encoding.port_dims import port_dims
from sardonyx._src.compile.program.encoding.size_limits import ALL_STAGES
from sardonyx._src.compile.program.encoding.size_words import size_words
from sardonyx._src.compile.program.encoding.slot_bases import STATUS_BASE
from sardonyx._src.compile.program.steps.cached_count import CachedCount
from sardonyx._src.compile.program.steps.program import Program
from sardonyx._src.phases import phase, report_bytes
from sardonyx._src.runtime.limits.cache_shares import count_in_cache
from sardonyx._src.runtime.limits.thread_pool import FunctionTable
from sardonyx._src.runtime.programs.relocations import NativeSizeFunction, SizeFunction, Slots


def process_bases(encoding: Encoding, threads: int) -> Slots:
    """The base addresses that are the same for all runs in this process: those of kernels and constants, and counts.

    threads: of the program's runs.
    """
    bases = np.zeros(len(encoding.extra_bases) + STATUS_BASE + 1, np.int64)
    with phase("weights"):
        pack_constants(encoding, bases)
    for base, index in encoding.extra_bases.items():  # kernels last: workers may still be compiling them
        if isinstance(base, Kernel):
            bases[index] = kernel_address(base)
        elif isinstance(base, CachedCount):
            bases[index] = count_in_cache(base, threads)
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


class SizeFunctionLoader:
    """The size function of a program.  If there are compile workers, one of them compiles it between construction and `load`."""

    @phase("sizes")
    def __init__(self, program: Program, encoding: Encoding) -> None:
        self.program, self.encoding = program, encoding
        self.objects = None if program.is_static else interpreted_sizes(program, encoding, host_target())
        self.module = (
            None if program.is_static or self.objects is not None else size_function(program, encoding)
        )
        if self.module is not None:
            compile_module_async(self.module, default_cache())

    @phase("sizes")
    def load(self) -> SizeFunction:
        """The function; a constant one for a program without symbolic sizes."""
        if self.program.is_static:
            _, arena, scratch, faults = size_functions.evaluate_sizes(self.program, self.encoding, ())
            no_slots = np.empty(0, np.int64)
            return lambda lengths, stage=ALL_STAGES: (no_slots, arena, scratch, faults)
        names = ["sizes"]
        if self.objects is not None:
            library: FunctionTable = Library(self.objects, names)
        else:
            assert self.module is not None, "the program has symbolic sizes"
            library = load(self.module, names, default_cache())
        return NativeSizeFunction(
            library, len(size_functions.sized_values(self.encoding)), port_dims(self.program)
        )


def size_function(program: Program, encoding: Encoding) -> Module:
    """The module of the size function of a program with symbolic sizes."""
    return Module.of_text(size_functions.size_function_module("sizes", program, encoding), quick=True)


def interpreted_sizes(program: Program, encoding: Encoding, target: Target) -> list[bytes] | None:
    """The objects of such a size function, of which the library has the code; None without a library, or for a long function."""
    words = size_words(program, encoding) if has_interpreter("sizes", target) else None
    return None if words is None else interpreted_objects("sizes", target, words)
