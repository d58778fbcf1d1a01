"""Relocations of RISC-V: instructions as GNU as encodes them."""

from __future__ import annotations

import struct

import pytest

from sardonyx._src.compile.linker import riscv64
from sardonyx._src.compile.linker.elf import ElfRelocation

AUIPC_A5, AUIPC_RA = 0x00000797, 0x00000097
ADDI_A4_A5, FSW_A5, SD_A5, JALR_RA = 0x00078713, 0x00F7A027, 0x00A7B023, 0x000080E7


def relocated(words: list[int], *relocations: tuple[int, int, int]) -> list[int]:
    """Instructions after relocations of offset, type and target."""
    code = bytearray(struct.pack(f"<{len(words)}I", *words))
    located = [
        (offset, ElfRelocation(section=1, offset=offset, type=type, symbol=0, addend=0), target)
        for offset, type, target in relocations
    ]
    riscv64.apply_relocations(code, located)
    return [*struct.unpack(f"<{len(words)}I", code)]


@pytest.mark.parametrize(
    ("second", "type", "distance", "expected"),
    [
        (ADDI_A4_A5, riscv64.R_PCREL_LO12_I, 0x12345FFC, [0x12346797, 0xFFC78713]),  # addi a4, a5, -4
        (FSW_A5, riscv64.R_PCREL_LO12_S, 0x17FF, [0x00001797, 0x7EF7AFA7]),  # fsw fa5, 2047(a5)
        (SD_A5, riscv64.R_PCREL_LO12_S, 0x800, [0x00001797, 0x80A7B023]),  # sd a0, -2048(a5)
    ],
)
def test_the_lower_part_shares_the_distance_of_the_upper_one(
    second: int, type: int, distance: int, expected: list[int]
) -> None:
    # The relocation of the second instruction refers to the first, and may come before its relocation.
    upper, lower = (0, riscv64.R_PCREL_HI20, distance), (4, type, 0)
    assert relocated([AUIPC_A5, second], upper, lower) == expected
    assert relocated([AUIPC_A5, second], lower, upper) == expected


def test_a_call_has_both_parts() -> None:
    call = (0, riscv64.R_CALL_PLT, -0x1002)
    assert relocated([AUIPC_RA, JALR_RA], call) == [0xFFFFF097, 0xFFE080E7]


def test_other_relocations_are_refused() -> None:
    with pytest.raises(AssertionError, match="is not supported"):
        relocated([AUIPC_A5], (0, 43, 0))
    with pytest.raises(AssertionError, match="out of range"):
        relocated([AUIPC_A5], (0, riscv64.R_PCREL_HI20, 1 << 31))


def test_a_stub_jumps_to_the_address_in_its_slot() -> None:
    # auipc t3, 0; ld t3, -8(t3); jr t3
    assert riscv64.stub(0x1010, 0x1008) == struct.pack("<III", 0x00000E17, 0xFF8E3E03, 0x000E0067)
