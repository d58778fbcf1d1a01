"""A static library: an archive of one object, with the index of symbols that linkers read (the System V format of `ar`)."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from sardonyx._src.errors import LimitError
from sardonyx._src.export.formats.elf_parts import Content

MAGIC = b"!<arch>\n"
MEMBER_HEADER = "{name:<16}{time:<12}{user:<6}{group:<6}{mode:<8}{size:<10}`\n"
MAX_MEMBER_BYTES = 1 << 32  # offsets in the index have 32 bits


def archive_content(name: str, member: Content, symbols: Sequence[str]) -> Content:
    """The archive of an object.

    name: of the object, shortened to 15 characters.  symbols: those that the object defines.
    Raises LimitError for an object of 4 GiB and more.
    """
    if member.size >= MAX_MEMBER_BYTES:
        raise LimitError(
            f"a static library must have less than 4 GiB; got {member.size} bytes; write its weights to a file",
            limit="weights",
        )
    texts = b"".join(symbol.encode() + b"\0" for symbol in symbols)
    index_size = 4 + 4 * len(symbols) + len(texts)
    index_size += index_size % 2
    start = len(MAGIC) + 60 + index_size
    index = struct.pack(f">{1 + len(symbols)}I", len(symbols), *[start] * len(symbols)) + texts
    head = (
        MAGIC
        + header("/", index_size)
        + index.ljust(index_size, b"\0")
        + header(f"{name[:15]}/", member.size)
    )

    def chunks() -> Iterator[bytes | memoryview]:
        yield head
        yield from member.chunks
        yield b"\n" * (member.size % 2)

    return Content(len(head) + member.size + member.size % 2, chunks())


def header(name: str, size: int) -> bytes:
    """The header of a member; times and owners are 0, so that equal libraries have equal bytes."""
    return MEMBER_HEADER.format(name=name, time=0, user=0, group=0, mode=644, size=size).encode()
