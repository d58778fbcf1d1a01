"""Relocatable ELF objects of 64 bits, little-endian, as LLVM writes them: their sections, symbols and relocations.

What is read here was made by LLVM in this process or comes from its cache, whose entries are held to their hashes: a
file that is not like that is a fault of ours.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

MAGIC = b"\x7fELF\x02\x01"
X86_64, AARCH64 = 62, 183
SYMBOLS, ADDENDS, NOTHING = 2, 4, 8  # types of sections: symbols, relocations, zeros that have no bytes
IN_MEMORY, WRITABLE = 2, 1  # flags of a section
LOCAL = 0  # binding of a symbol
RESERVED = 0xFF00  # numbers from here on stand for no section
HEADER = struct.Struct("<QIHHHHHH")
SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
RELOCATION = struct.Struct("<QQq")


@dataclass(frozen=True, slots=True)
class Section:
    """Bytes that code consists of, or None."""

    type: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    align: int


@dataclass(frozen=True, slots=True)
class Symbol:
    """A place in a section; of the section 0 if it is to be found elsewhere.  Objects may share names of local ones."""

    name: str
    section: int
    value: int
    is_local: bool = False


@dataclass(frozen=True, slots=True)
class Relocation:
    """A place in a section that depends on where a symbol is."""

    section: int
    offset: int
    type: int
    symbol: int
    addend: int


class Object:
    """A relocatable object."""

    def __init__(self, data: bytes) -> None:
        assert data.startswith(MAGIC), "LLVM made no ELF object of 64 bits"
        self.data = data
        self.machine: int = struct.unpack_from("<H", data, 18)[0]
        start, _, _, _, _, size, count, _ = HEADER.unpack_from(data, 40)
        self.sections = [section(data, start + i * size) for i in range(count)]
        self.symbols = [found for s in self.sections if s.type == SYMBOLS for found in self.symbols_in(s)]

    def symbols_in(self, table: Section) -> Iterator[Symbol]:
        for at in range(table.offset, table.offset + table.size, SYMBOL.size):
            name, info, _, index, value, _ = SYMBOL.unpack_from(self.data, at)
            yield Symbol(self.text(self.sections[table.link], name), index, value, info >> 4 == LOCAL)

    def text(self, strings: Section, at: int) -> str:
        start = strings.offset + at
        return self.data[start : self.data.index(b"\0", start)].decode()

    def content(self, section: Section) -> bytes:
        if section.type == NOTHING:
            return bytes(section.size)
        return self.data[section.offset : section.offset + section.size]

    @property
    def has_variables(self) -> bool:
        """Whether it has memory that its code writes to."""
        return any(s.flags & IN_MEMORY and s.flags & WRITABLE and s.size for s in self.sections)

    def loaded(self) -> Iterator[tuple[int, Section]]:
        """The sections that stand in memory, by number."""
        for i, one in enumerate(self.sections):
            if one.flags & IN_MEMORY and one.size:
                assert not one.flags & WRITABLE, "code with variables of its own is not shared"
                yield i, one

    def relocations(self) -> Iterator[Relocation]:
        """Those of sections that stand in memory."""
        for table in self.sections:
            if table.type != ADDENDS or not self.sections[table.info].flags & IN_MEMORY:
                continue
            for at in range(table.offset, table.offset + table.size, RELOCATION.size):
                offset, info, addend = RELOCATION.unpack_from(self.data, at)
                yield Relocation(table.info, offset, info & 0xFFFFFFFF, info >> 32, addend)


def section(data: bytes, at: int) -> Section:
    _, type, flags, _, offset, size, link, info, align, _ = SECTION.unpack_from(data, at)
    return Section(type, flags, offset, size, link, info, align)
