"""A library as a shared ELF object, which needs neither another library nor relocations.

Its segments are the head with the read-only data, the code, and the dynamic section.  Loaders write addresses into the
dynamic section, so that it is writable.  The hash table (System V ABI, chapter 5) has one bucket, a list of all symbols.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from sardonyx._src.compile.linker.elf import EM_AARCH64, SECTION, SYMBOL
from sardonyx._src.export import layout
from sardonyx._src.export.formats import elf_parts as elf
from sardonyx._src.export.formats.elf_parts import Content, ElfStrings, Section
from sardonyx._src.export.image import Code

TAG = struct.Struct("<QQ")
HASH_WORD, STACK_ALIGN = 4, 16  # bytes
DISTANCE_BYTES = 8  # of the first word of the code
PROGRAM_HEADER = struct.Struct("<IIQQQQQQ")
LOAD, DYNAMIC, STACK = 1, 2, 0x6474E551  # kinds of segments
EXECUTE, WRITE, READ = 1, 2, 4  # permissions of segments
HASH_TAG, STRINGS_TAG, SYMBOLS_TAG, STRINGS_SIZE_TAG, SYMBOL_SIZE_TAG, NAME_TAG = 4, 5, 6, 10, 11, 14
SEGMENTS = 5
PAGES = {EM_AARCH64: 1 << 16}  # the largest pages of processors, which are 4 KiB on others
SMALL_PAGE = 1 << 12
SYMBOLS_SECTION, STRINGS_SECTION, CODE_SECTION = 1, 2, 5  # indices


def shared_content(code: Code, data: Content, name: str) -> Content:
    """The shared library of a program.  name: of the file, under which programs that are linked with it look for it."""
    page = PAGES.get(code.machine, SMALL_PAGE)
    strings = ElfStrings([*code.exported, name])
    count = 1 + len(code.exported)
    hashes = hash_table(count)
    sizes = (
        (count * SYMBOL.size, 8),
        (len(strings.data), 1),
        (len(hashes), 8),
        (data.size, layout.ALIGNMENT),
    )
    ends = [elf.HEADER_BYTES + SEGMENTS * elf.PROGRAM_HEADER_BYTES]
    places = []
    for size, align in sizes:
        places.append(layout.align(ends[-1], align))
        ends.append(places[-1] + size)
    symbols_at, strings_at, hash_at, data_at = places
    code_at = layout.align(ends[-1], page)
    dynamic_at = layout.align(code_at + len(code.image), page)
    image = struct.pack("<q", data_at - code_at) + code.image[DISTANCE_BYTES:]
    dynamic = dynamic_section(
        {
            NAME_TAG: strings.offsets[name],
            HASH_TAG: hash_at,
            STRINGS_TAG: strings_at,
            SYMBOLS_TAG: symbols_at,
            STRINGS_SIZE_TAG: len(strings.data),
            SYMBOL_SIZE_TAG: SYMBOL.size,
        }
    )
    in_memory, symbols = elf.ALLOC, dynamic_symbols(code, strings, code_at)
    parts = [
        (
            symbols_at,
            Section(
                ".dynsym", elf.SHT_DYNSYM, in_memory, Content.of(symbols), 8, STRINGS_SECTION, 1, SYMBOL.size
            ),
        ),
        (strings_at, Section(".dynstr", elf.SHT_STRTAB, in_memory, Content.of(bytes(strings.data)))),
        (
            hash_at,
            Section(".hash", elf.SHT_HASH, in_memory, Content.of(hashes), 8, SYMBOLS_SECTION, 0, HASH_WORD),
        ),
        (data_at, Section(".rodata", elf.SHT_PROGBITS, in_memory, data, layout.ALIGNMENT)),
        (code_at, Section(".text", elf.SHT_PROGBITS, in_memory | elf.EXECUTE, Content.of(image), page)),
        (
            dynamic_at,
            Section(
                ".dynamic",
                elf.SHT_DYNAMIC,
                in_memory | elf.WRITE,
                Content.of(dynamic),
                8,
                STRINGS_SECTION,
                0,
                TAG.size,
            ),
        ),
    ]
    segments = [
        (LOAD, READ, 0, ends[-1], page),
        (LOAD, READ | EXECUTE, code_at, len(image), page),
        (LOAD, READ | WRITE, dynamic_at, len(dynamic), page),
        (DYNAMIC, READ | WRITE, dynamic_at, len(dynamic), 8),
        (STACK, READ | WRITE, 0, 0, STACK_ALIGN),
    ]
    return assemble(code, [elf.placed(section, place, place) for place, section in parts], segments)


def dynamic_section(tags: Mapping[int, int]) -> bytes:
    """The dynamic section of some tags, with the empty tag that ends it."""
    return b"".join(TAG.pack(tag, value) for tag, value in {**tags, 0: 0}.items())


def dynamic_symbols(code: Code, strings: ElfStrings, code_at: int) -> bytes:
    """The entry points, after the empty symbol."""
    table = bytearray(SYMBOL.size)
    for name in code.exported:
        value = code_at + code.functions[name]
        table += elf.symbol(strings.offsets[name], elf.STB_GLOBAL, elf.STT_FUNC, CODE_SECTION, value)
    return bytes(table)


def hash_table(count: int) -> bytes:
    """A hash table of one bucket for `count` symbols, of which the first is empty."""
    chain = [0, *range(2, count), 0]
    return struct.pack(f"<{3 + count}I", 1, count, 1, *chain)


def assemble(code: Code, sections: list[Section], segments: list[tuple[int, int, int, int, int]]) -> Content:
    """The file of sections and segments (kind, permissions, place, size, alignment)."""
    names = ElfStrings([*(section.name for section in sections), ".shstrtab"])
    last = sections[-1]
    end = last.offset + last.content.size
    sections.append(elf.placed(Section(".shstrtab", elf.SHT_STRTAB, 0, Content.of(bytes(names.data))), end))
    headers_at = layout.align(end + len(names.data))
    headers = elf.section_headers(sections, names)
    count = len(headers) // SECTION.size
    header = elf.file_header(
        elf.ET_DYN,
        code.machine,
        code.flags,
        segments=len(segments),
        headers_at=headers_at,
        sections=count,
        names_at=count - 1,
    )
    for kind, permissions, place, size, align in segments:
        header += PROGRAM_HEADER.pack(kind, permissions, place, place, place, size, size, align)
    return Content(headers_at + len(headers), elf.file_chunks(header, sections, headers, headers_at))
