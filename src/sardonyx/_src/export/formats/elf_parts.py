"""What relocatable objects and shared libraries have in common: headers, tables of strings and symbols, sections.

The formats are those of the System V ABI, chapters 4 and 5, and its supplements for x86-64, AArch64 and RISC-V.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from sardonyx._src.compile.linker.elf import MAGIC, SECTION, SYMBOL
from sardonyx._src.dataclass import dataclass

ELF_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
HEADER_BYTES, PROGRAM_HEADER_BYTES = ELF_HEADER.size, 56
CURRENT_VERSION = 1
ET_REL, ET_DYN = 1, 3  # types of files
SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_RELA, SHT_HASH, SHT_DYNAMIC, SHT_DYNSYM = 1, 2, 3, 4, 5, 6, 11
WRITE, ALLOC, EXECUTE, INFO_LINK = 1, 2, 4, 0x40  # flags of sections
STB_LOCAL, STB_GLOBAL = 0, 1
STT_NOTYPE, STT_FUNC, STT_SECTION = 0, 2, 3


@dataclass(frozen=True, slots=True)
class Content:
    """The bytes of a part of a file: their number, and chunks that are valid until the next."""

    size: int
    chunks: Iterable[bytes | memoryview]

    @classmethod
    def of(cls, data: bytes) -> Content:
        return cls(len(data), (data,))


@dataclass(frozen=True, slots=True)
class Section:
    """A section with its place in the file; address: in the memory of a process, of a shared library."""

    name: str
    type: int
    flags: int
    content: Content
    align: int = 1
    link: int = 0
    info: int = 0
    entry_size: int = 0
    offset: int = 0
    address: int = 0


class ElfStrings:
    """A table of strings, each with its offset; the first is empty."""

    def __init__(self, strings: Iterable[str]) -> None:
        self.data, self.offsets = bytearray(1), {"": 0}
        for string in strings:
            self.offsets[string] = len(self.data)
            self.data += string.encode() + b"\0"


def section_headers(sections: Sequence[Section], names: ElfStrings) -> bytes:
    """The headers of sections, after that of the empty section."""
    table = bytearray(SECTION.size)
    for s in sections:
        place = (s.address, s.offset, s.content.size)
        table += SECTION.pack(
            names.offsets[s.name], s.type, s.flags, *place, s.link, s.info, s.align, s.entry_size
        )
    return bytes(table)


def file_header(
    kind: int, machine: int, flags: int, *, segments: int, headers_at: int, sections: int, names_at: int
) -> bytes:
    """The header of a file.

    segments: the number of segments, whose headers follow.  headers_at, sections: the offset and number of section headers.
    names_at: the index of the section of their names.
    """
    ident = struct.pack("<QQ", int.from_bytes(MAGIC, "little") | CURRENT_VERSION << 48, 0)
    place = (HEADER_BYTES if segments else 0, headers_at)
    sizes = (
        HEADER_BYTES,
        PROGRAM_HEADER_BYTES if segments else 0,
        segments,
        SECTION.size,
        sections,
        names_at,
    )
    return ELF_HEADER.pack(ident, kind, machine, CURRENT_VERSION, 0, *place, flags, *sizes)


def symbol(name: int, binding: int, kind: int, section: int, value: int, size: int = 0) -> bytes:
    """A symbol; name: its offset in the table of strings."""
    return SYMBOL.pack(name, binding << 4 | kind, 0, section, value, size)


def file_chunks(
    header: bytes, sections: Sequence[Section], end: bytes, end_at: int
) -> Iterator[bytes | memoryview]:
    """The bytes of a file: the header, sections in the order of their offsets with zeros between them, and the end."""
    yield header
    position = len(header)
    for section in sections:
        yield bytes(section.offset - position)
        yield from section.content.chunks
        position = section.offset + section.content.size
    yield bytes(end_at - position)
    yield end


def placed(section: Section, offset: int, address: int = 0) -> Section:
    """A section at an offset in the file, and an address in memory."""
    return replace(section, offset=offset, address=address)
