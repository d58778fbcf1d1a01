"""A library as a relocatable ELF object: code, read-only data, and one relocation, the distance of the data."""

from __future__ import annotations

from sardonyx._src.compile.linker.elf import EM_AARCH64, EM_RISCV, EM_X86_64, RELOCATION, SECTION, SYMBOL
from sardonyx._src.export import layout
from sardonyx._src.export.formats import elf_parts as elf
from sardonyx._src.export.formats.elf_parts import Content, ElfStrings, Section
from sardonyx._src.export.image import Code

CODE_ALIGN = 4096  # instructions of AArch64 have distances in pages of this size
CODE_SECTION, DATA_SECTION = 1, 3  # indices
DATA_SYMBOL, CODE_START = 1, 2  # indices of local symbols
# Relocations to a distance of 64 bits, with the symbols that they add or subtract.
DISTANCE = {
    EM_X86_64: ((24, DATA_SYMBOL),),  # R_X86_64_PC64
    EM_AARCH64: ((260, DATA_SYMBOL),),  # R_AARCH64_PREL64
    EM_RISCV: ((35, DATA_SYMBOL), (39, CODE_START)),  # R_RISCV_ADD64, R_RISCV_SUB64
}
NO_EXECUTABLE_STACK = ".note.GNU-stack"


def object_content(code: Code, data: Content) -> Content:
    """The object of a library."""
    strings = ElfStrings(code.exported)
    symbols = bytearray(elf.symbol(0, elf.STB_LOCAL, elf.STT_NOTYPE, 0, 0))
    symbols += elf.symbol(0, elf.STB_LOCAL, elf.STT_SECTION, DATA_SECTION, 0)
    symbols += elf.symbol(0, elf.STB_LOCAL, elf.STT_SECTION, CODE_SECTION, 0)
    first_global = len(symbols) // SYMBOL.size
    for name in code.exported:
        offset = strings.offsets[name]
        symbols += elf.symbol(offset, elf.STB_GLOBAL, elf.STT_FUNC, CODE_SECTION, code.functions[name])
    entries = b"".join(RELOCATION.pack(0, index << 32 | kind, 0) for kind, index in DISTANCE[code.machine])
    allocated = elf.ALLOC
    parts = [
        Section(".text", elf.SHT_PROGBITS, allocated | elf.EXECUTE, Content.of(code.image), CODE_ALIGN),
        Section(
            ".rela.text",
            elf.SHT_RELA,
            elf.INFO_LINK,
            Content.of(entries),
            8,
            4,
            CODE_SECTION,
            RELOCATION.size,
        ),
        Section(".rodata", elf.SHT_PROGBITS, allocated, data, layout.ALIGNMENT),
        Section(".symtab", elf.SHT_SYMTAB, 0, Content.of(bytes(symbols)), 8, 5, first_global, SYMBOL.size),
        Section(".strtab", elf.SHT_STRTAB, 0, Content.of(bytes(strings.data))),
        Section(NO_EXECUTABLE_STACK, elf.SHT_PROGBITS, 0, Content.of(b"")),
    ]
    return assemble(code, parts)


def assemble(code: Code, parts: list[Section]) -> Content:
    """The file of an object's sections, to which the names of sections are added."""
    names = ElfStrings([*(part.name for part in parts), ".shstrtab"])
    parts = [*parts, Section(".shstrtab", elf.SHT_STRTAB, 0, Content.of(bytes(names.data)))]
    sections, end = [], elf.HEADER_BYTES
    for part in parts:
        offset = layout.align(end, part.align)
        sections.append(elf.placed(part, offset))
        end = offset + part.content.size
    headers_at, headers = layout.align(end), elf.section_headers(sections, names)
    count = len(headers) // SECTION.size
    header = elf.file_header(
        elf.ET_REL,
        code.machine,
        code.flags,
        segments=0,
        headers_at=headers_at,
        sections=count,
        names_at=count - 1,
    )
    return Content(headers_at + len(headers), elf.file_chunks(header, sections, headers, headers_at))
