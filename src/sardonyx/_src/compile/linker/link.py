"""Static linker: relocatable objects to one position-independent image, to be loaded at the beginning of a page.

C library functions are called through stubs that jump to the address in an 8-byte slot of the image, as a procedure
linkage table does; the loader (`llvm.executable_memory`) fills the slots.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from sardonyx._src.compile.linker import riscv64
from sardonyx._src.compile.linker.elf import (
    EM_AARCH64,
    EM_RISCV,
    EM_X86_64,
    SHN_LORESERVE,
    ElfObject,
    ElfRelocation,
    ElfSymbol,
)
from sardonyx._src.compile.linker.system import LIBC_FUNCTIONS
from sardonyx._src.dataclass import dataclass

PAGE = 4096  # bytes, of AArch64's instruction for the distance in pages, whatever the system's pages are
OBJECT_ALIGN = 64  # bytes: alignment of each object in the image


@dataclass(slots=True)
class LinkedImage:
    """Linked code, with the offsets of functions, of slots for addresses of C library functions, and of their stubs."""

    code: bytearray = field(default_factory=bytearray)
    functions: dict[str, int] = field(default_factory=dict)
    slots: dict[str, int] = field(default_factory=dict)
    stubs: dict[str, int] = field(default_factory=dict)

    def align(self, to: int) -> int:
        self.code += bytes(-len(self.code) % max(to, 1))
        return len(self.code)


def is_self_contained(object: ElfObject) -> bool:
    """Whether this linker accepts an object: no writable sections, and no calls except to `LIBC_FUNCTIONS`."""
    calls = (symbol.name for symbol in object.symbols if symbol.name and symbol.section == 0)
    return not object.has_variables and all(name in LIBC_FUNCTIONS for name in calls)


def link_objects(objects: Sequence[bytes], names: Sequence[str]) -> LinkedImage:
    """The image of some objects; `names` are the functions whose offsets it has."""
    image = LinkedImage()
    for data in objects:
        append_object(image, ElfObject(data))
    missing = [name for name in names if name not in image.functions]
    assert not missing, f"no object defines {missing}"
    image.functions = {name: image.functions[name] for name in names}
    return image


def append_object(image: LinkedImage, object: ElfObject) -> None:
    """Appends the loaded sections of an object, and applies its relocations."""
    section_offsets: dict[int, int] = {}
    image.align(OBJECT_ALIGN)
    for index, section in object.loaded_sections():
        section_offsets[index] = image.align(section.align)
        image.code += object.content(section)
    for symbol in object.symbols:
        if symbol.name and symbol.section in section_offsets and not symbol.is_local:
            image.functions.setdefault(symbol.name, section_offsets[symbol.section] + symbol.value)
    located = [
        (
            section_offsets[relocation.section] + relocation.offset,
            relocation,
            resolve_symbol(image, object, object.symbols[relocation.symbol], section_offsets),
        )
        for relocation in object.relocations()
    ]
    if object.machine == EM_RISCV:
        riscv64.apply_relocations(image.code, located)
        return
    for location, relocation, target in located:
        apply_relocation(image.code, object.machine, location, relocation, target)


def resolve_symbol(
    image: LinkedImage, object: ElfObject, symbol: ElfSymbol, section_offsets: Mapping[int, int]
) -> int:
    """The offset of a symbol in the image; the stub of a C library function is added at its first use."""
    if symbol.section != 0:
        assert symbol.section < SHN_LORESERVE, f"{symbol} must be in a section"
        return section_offsets[symbol.section] + symbol.value
    if symbol.name in image.functions:
        return image.functions[symbol.name]
    assert symbol.name in LIBC_FUNCTIONS, f"undefined symbol {symbol.name}"
    if symbol.name not in image.stubs:
        slot = image.slots[symbol.name] = image.align(8)
        image.code += bytes(8)
        image.stubs[symbol.name] = image.align(16)
        image.code += STUBS[object.machine](len(image.code), slot)
    return image.stubs[symbol.name]


def apply_relocation(
    code: bytearray, machine: int, location: int, relocation: ElfRelocation, target: int
) -> None:
    """Encodes the distance of the target from `location`, at `location`, by the type of the relocation."""
    if machine == EM_X86_64:
        assert relocation.type in (2, 4), f"{relocation} must be position-independent"
        struct.pack_into("<i", code, location, target + relocation.addend - location)
        return
    assert machine == EM_AARCH64, f"code for machine {machine}"
    word = struct.unpack_from("<I", code, location)[0]
    struct.pack_into(
        "<I", code, location, encode_aarch64(word, relocation.type, location, target + relocation.addend)
    )


# --- AArch64 ---------------------------------------------------------------------------------

R_ADR_PREL_PG_HI21, R_ADD_ABS_LO12_NC = 275, 277  # distance in pages; offset in the page, added
R_LDST_ABS_LO12_NC = {
    278: 0,
    284: 1,
    285: 2,
    286: 3,
    299: 4,
}  # offset in the page, for an access to 2^n bytes
R_JUMP26_CALL26 = (282, 283)


def encode_aarch64(word: int, type: int, location: int, target: int) -> int:
    """An AArch64 instruction with the immediate of a relocation."""
    if type == R_ADR_PREL_PG_HI21:
        distance = target // PAGE - location // PAGE
        return word | (distance & 3) << 29 | (distance >> 2 & 0x7FFFF) << 5
    if type == R_ADD_ABS_LO12_NC:
        return word | (target % PAGE) << 10
    if type in R_LDST_ABS_LO12_NC:
        assert target % (1 << R_LDST_ABS_LO12_NC[type]) == 0, f"{target} must be aligned for its access"
        return word | (target % PAGE >> R_LDST_ABS_LO12_NC[type]) << 10
    assert type in R_JUMP26_CALL26, f"unsupported relocation type {type}"
    distance = target - location
    assert -(1 << 27) <= distance < 1 << 27, f"a branch of {distance} bytes is out of range"
    return word | distance >> 2 & 0x3FFFFFF


def x86_stub(location: int, slot: int) -> bytes:
    """A jump to the address in a slot."""
    return b"\xff\x25" + struct.pack("<i", slot - location - 6)


def aarch64_stub(location: int, slot: int) -> bytes:
    """A jump to the address in a slot, through register x16, which calls may change."""
    page, low = (
        encode_aarch64(0x90000010, R_ADR_PREL_PG_HI21, location, slot),
        encode_aarch64(0xF9400210, 286, location + 4, slot),
    )
    return struct.pack("<III", page, low, 0xD61F0200)


STUBS: Mapping[int, Callable[[int, int], bytes]] = {
    EM_X86_64: x86_stub,
    EM_AARCH64: aarch64_stub,
    EM_RISCV: riscv64.stub,
}
