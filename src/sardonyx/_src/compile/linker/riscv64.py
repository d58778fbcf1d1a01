"""Relocations of RISC-V (ELF psABI, section 8.4), and stubs that jump to addresses in slots.

An address takes two instructions: the first adds the upper 20 bits of its distance to the program counter, and the second
the lower 12.  The relocation of the second refers to the first instruction, whose distance it shares.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from sardonyx._src.compile.linker.elf import ElfRelocation

R_CALL, R_CALL_PLT = 18, 19  # both instructions, of a call
R_PCREL_HI20, R_PCREL_LO12_I, R_PCREL_LO12_S = (
    23,
    24,
    25,
)  # the first; the second, which loads or adds; which stores
FIRST = (R_CALL, R_CALL_PLT, R_PCREL_HI20)
LOW, HALF = 0xFFF, 0x800  # the lower bits, which are signed, and half of their range
Located = tuple[
    int, ElfRelocation, int
]  # offset of the instruction, relocation, and the offset to which it refers


def apply_relocations(code: bytearray, relocations: Sequence[Located]) -> None:
    """Encodes the distances of targets in the instructions of an object."""
    distances = {
        location: target + relocation.addend - location
        for location, relocation, target in relocations
        if relocation.type in FIRST
    }
    for location, relocation, target in relocations:
        if relocation.type in FIRST:
            patch_upper(code, location, distances[location])
            if relocation.type != R_PCREL_HI20:
                patch_lower(code, location + 4, distances[location], is_store=False)
        else:
            assert relocation.type in (R_PCREL_LO12_I, R_PCREL_LO12_S), f"{relocation} is not supported"
            patch_lower(code, location, distances[target], is_store=relocation.type == R_PCREL_LO12_S)


def patch_upper(code: bytearray, location: int, distance: int) -> None:
    """Adds the upper bits of a distance to an `auipc`, rounded, since the lower ones are signed."""
    assert -(1 << 31) <= distance + HALF < 1 << 31, f"a distance of {distance} bytes is out of range"
    patch_word(code, location, (distance + HALF) & 0xFFFFF000)


def patch_lower(code: bytearray, location: int, distance: int, *, is_store: bool) -> None:
    """Adds the lower bits of a distance to an instruction: at its bits 20 to 31, or 7 to 11 and 25 to 31 of a store."""
    low = distance & LOW
    patch_word(code, location, (low & 0x1F) << 7 | low >> 5 << 25 if is_store else low << 20)


def patch_word(code: bytearray, location: int, bits: int) -> None:
    struct.pack_into("<I", code, location, struct.unpack_from("<I", code, location)[0] | bits)


def stub(location: int, slot: int) -> bytes:
    """A jump to the address in a slot, through register t3, which calls may change: `auipc`, `ld`, `jr`."""
    code = bytearray(struct.pack("<III", 0x00000E17, 0x000E3E03, 0x000E0067))
    patch_upper(code, 0, slot - location)
    patch_lower(code, 4, slot - location, is_store=False)
    return bytes(code)
