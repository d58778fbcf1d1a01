"""The code of a library: kernels, run function, entry points and what LLVM calls of the C library, linked to one image."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.linker import link
from sardonyx._src.compile.linker.elf import ElfObject
from sardonyx._src.compile.linker.system import LIBC_FUNCTIONS
from sardonyx._src.compile.llvm import jit, loaded_kernels
from sardonyx._src.compile.llvm.cache import default_cache
from sardonyx._src.compile.llvm.jit import Module
from sardonyx._src.compile.program import Kernel
from sardonyx._src.dataclass import dataclass
from sardonyx._src.export import layout
from sardonyx._src.export.c_functions import c_function
from sardonyx._src.export.entry_points import entry_module
from sardonyx._src.export.run_function import run_module

ENTRY_POINTS = ("run", "error_text")  # after the prefix
FLAGS_OFFSET = 48  # in the header of an ELF file, of the processor's flags, such as the calling convention


@dataclass(frozen=True, slots=True)
class Code:
    """The code of a library.

    image: the code, which begins with the distance of the data, to be filled in where both are placed.
    functions: the offsets of kernels and entry points, by symbol.
    exported: the symbols of the entry points.
    machine, flags: as in the header of an ELF file.
    """

    image: bytes
    functions: dict[str, int]
    exported: tuple[str, ...]
    machine: int
    flags: int


def link_code(kernels: Sequence[Kernel], target: Target, prefix: str, *, passes_weights: bool) -> Code:
    """The code of a library; kernels that no cache has are compiled.

    passes_weights: whether the caller passes the weights.
    """
    modules = [
        Module.of_text(run_module(target)),
        Module.of_text(entry_module(prefix, passes_weights=passes_weights)),
    ]
    for kernel in kernels:
        loaded_kernels.compile_kernel_async(kernel)
    objects = [compiled(module, target) for module in modules]
    objects[1:1] = [loaded_kernels.kernel_code(kernel, target) for kernel in kernels]
    called = called_c_functions(objects)
    objects[:0] = [compiled(Module.of_text(c_function(name)), target) for name in called]
    image = link.LinkedImage(bytearray(layout.ALIGNMENT), {layout.CODE_SYMBOL: 0})
    for data in dict.fromkeys(objects):
        link.append_object(image, ElfObject(data))
    assert not image.slots, f"code of a library calls {[*image.slots]}"
    exported = tuple(f"{prefix}_{name}" for name in ENTRY_POINTS)
    (flags,) = struct.unpack_from("<I", objects[-1], FLAGS_OFFSET)
    return Code(bytes(image.code), image.functions, exported, ElfObject(objects[-1]).machine, flags)


def compiled(module: Module, target: Target) -> bytes:
    return jit.object_code(module, default_cache(), target)


def called_c_functions(objects: Sequence[bytes]) -> list[str]:
    """The functions of the C library that objects call, in the order of `LIBC_FUNCTIONS`."""
    parsed = map(ElfObject, objects)
    called = {symbol.name for each in parsed for symbol in each.symbols if symbol.section == 0}
    return [name for name in LIBC_FUNCTIONS if name in called]
