"""Reader of relocatable ELF64 objects, little-endian: sections, symbols and relocations.

Objects come from LLVM, or from the object cache, which checks hashes.  So a malformed object is a bug, and
fails an assertion.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from sardonyx._src.dataclass import dataclass

MAGIC = b"\x7fELF\x02\x01"
EM_X86_64, EM_AARCH64, EM_RISCV = 62, 183, 243
SHT_SYMTAB, SHT_RELA, SHT_NOBITS = 2, 4, 8  # section types: symbols, relocations with addends, zeros
SHF_ALLOC, SHF_WRITE = 2, 1  # section flags: in memory, writable
STB_LOCAL = 0  # binding of a local symbol
SHN_LORESERVE = 0xFF00  # first reserved section index
HEADER = struct.Struct("<QIHHHHHH")
SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
RELOCATION = struct.Struct("<QQq")


@dataclass(slots=True)
class ElfSection:
    """A section header."""

    type: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    align: int


@dataclass(slots=True)
class ElfSymbol:
    """A named location in a section; section 0 for undefined symbols.  Several objects may have local symbols of one name."""

    name: str
    section: int
    value: int
    is_local: bool = False


@dataclass(slots=True)
class ElfRelocation:
    """A location in a section that depends on the address of a symbol."""

    section: int
    offset: int
    type: int
    symbol: int
    addend: int


class ElfObject:
    """A relocatable object."""

    def __init__(self, data: bytes) -> None:
        assert data.startswith(MAGIC), "expected an ELF64 object"
        self.data = data
        self.machine: int = struct.unpack_from("<H", data, 18)[0]
        self.headers, _, _, _, _, self.header_size, count, _ = HEADER.unpack_from(data, 40)
        self.sections = [parse_section(data, self.section_header(i)) for i in range(count)]
        self.symbols = [
            symbol for s in self.sections if s.type == SHT_SYMTAB for symbol in self.symbols_in(s)
        ]

    def section_header(self, index: int) -> int:
        """The offset of the header of a section."""
        offset: int = self.headers + index * self.header_size
        return offset

    def symbols_in(self, table: ElfSection) -> Iterator[ElfSymbol]:
        for offset in range(table.offset, table.offset + table.size, SYMBOL.size):
            name, info, _, index, value, _ = SYMBOL.unpack_from(self.data, offset)
            yield ElfSymbol(self.text(self.sections[table.link], name), index, value, info >> 4 == STB_LOCAL)

    def text(self, strings: ElfSection, offset: int) -> str:
        start = strings.offset + offset
        return self.data[start : self.data.index(b"\0", start)].decode()

    def content(self, section: ElfSection) -> bytes:
        if section.type == SHT_NOBITS:
            return bytes(section.size)
        return self.data[section.offset : section.offset + section.size]

    @property
    def has_variables(self) -> bool:
        """Whether the object has writable sections."""
        return any(s.flags & SHF_ALLOC and s.flags & SHF_WRITE and s.size for s in self.sections)

    def loaded_sections(self) -> Iterator[tuple[int, ElfSection]]:
        """The sections that are part of the memory image, with their indices."""
        for i, section in enumerate(self.sections):
            if section.flags & SHF_ALLOC and section.size:
                assert not section.flags & SHF_WRITE, "linked code must have no writable sections"
                yield i, section

    def relocations(self) -> Iterator[ElfRelocation]:
        """The relocations of sections that are part of the memory image."""
        for table in self.sections:
            if table.type != SHT_RELA or not self.sections[table.info].flags & SHF_ALLOC:
                continue
            for start in range(table.offset, table.offset + table.size, RELOCATION.size):
                offset, info, addend = RELOCATION.unpack_from(self.data, start)
                yield ElfRelocation(table.info, offset, info & 0xFFFFFFFF, info >> 32, addend)


def parse_section(data: bytes, start: int) -> ElfSection:
    _, type, flags, _, offset, size, link, info, align, _ = SECTION.unpack_from(data, start)
    return ElfSection(type, flags, offset, size, link, info, align)
