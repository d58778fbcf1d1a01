"""Libraries of compiled kernels: files with the object code of kernels for one or several classes of processors.

A library is a header, a table of classes, the entries of each class in the order of their names, a table of blocks, and
compressed blocks of object code.  The name of an entry is a hash of the module's.  A block has modules whose names begin
alike, compressed together, the most used first: only what precedes a module is decompressed for it.  With LZMA and large
blocks, a library has half of the bytes that deflate and blocks of 64 KiB have, and the kernels of a network take 2 to 6
ms more.  Equal code is stored once: a class has blocks of its own for the code that no class before it has.

A library is valid for the sources of the compiler whose digest it has.  One that was installed was made of the sources
beside it, which are not read again; one in the cache folder was compiled on this machine (`runtime.kernel_library`).
"""

from __future__ import annotations

import hashlib
import mmap
import os
import re
import struct
import threading
import zlib
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import BinaryIO

from sardonyx._src.compile.llvm.cache import default_folder, warn_not_private
from sardonyx._src.compile.llvm.sources import installation_record, sources_digest
from sardonyx._src.dataclass import dataclass
from sardonyx._src.io.private_files import open_private_file
from sardonyx._src.logs import get_logger

FOLDER = Path(__file__).with_name("libraries")
SUFFIX = ".kernels"
ALL_CLASSES = f"all{SUFFIX}"
MAGIC = b"SXKERN03"
# Magic, digest of the sources, number of classes, offset of the table of blocks.
HEADER = struct.Struct("<8s64sII")
CLASS = struct.Struct("<32sII")  # name, offset and number of the entries
# Hash of the name, number of the block, offset in it, bytes of the code, and their CRC-32.
ENTRY = struct.Struct("<8sIIII")
BLOCK = struct.Struct("<II")  # offset and bytes of a compressed block
NAME_BYTES = 8  # of a hash of 64 bits: two of some thousand names are equal once in 10**12 libraries
BLOCK_BYTES = 1 << 21  # of code, which is that of most kinds
# Blocks that stay decompressed, until `close_blocks`: programs load kernels of several kinds in turn.
OPEN_BLOCKS = 16
# Of LZMA; machine code compresses best if the literals of a byte depend on the one before.
FILTERS = ({"id": 0x21, "preset": 9 | 1 << 31, "dict_size": BLOCK_BYTES, "lc": 3, "lp": 0, "pb": 0},)
log = get_logger(__name__)
READ_LOCK = threading.RLock()  # of the blocks that are decompressed
if hasattr(os, "register_at_fork"):  # else a child may wait forever for a lock that a thread held at the fork
    os.register_at_fork(
        before=READ_LOCK.acquire, after_in_parent=READ_LOCK.release, after_in_child=READ_LOCK.release
    )


@dataclass(frozen=True, slots=True)
class KernelLibrary:
    """The entries of a class in an open library.

    data: the mapped file.  start, count: the offset and the number of the entries.  blocks: the offset of the table of blocks.
    """

    path: Path
    data: mmap.mmap
    start: int
    count: int
    blocks: int

    def get(self, name: str) -> bytes | None:
        """The object code of a module; None if the library does not have it, or only damaged."""
        entry = self.find(name)
        if entry is None:
            return None
        block, offset, size, checksum = entry
        content = open_block(self, block).read(offset, size)
        if zlib.crc32(content) != checksum or len(content) != size:
            log.warning("kernels of %s are damaged and will be compiled", self.path)
            return None
        return content

    def __contains__(self, name: str) -> bool:
        return self.find(name) is not None

    def find(self, name: str) -> tuple[int, int, int, int] | None:
        """The block that has the code of a module, the offset in it, the size, and the checksum."""
        key = hash_name(name)
        low, high = 0, self.count
        while low < high:
            middle = (low + high) // 2
            entry, *place = ENTRY.unpack_from(self.data, self.start + middle * ENTRY.size)
            if entry == key:
                block, offset, size, checksum = place
                return block, offset, size, checksum
            low, high = (middle + 1, high) if entry < key else (low, middle)
        return None


class OpenBlock:
    """A block of code, decompressed as far as it has been read."""

    def __init__(self, compressed: bytes) -> None:
        import lzma  # lazy: cached programs need no library

        self.decompressor = lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=FILTERS)
        self.compressed, self.content = compressed, bytearray()

    def read(self, offset: int, size: int) -> bytes:
        """A part of the block; less, or other bytes, if it is damaged."""
        from lzma import LZMAError

        with READ_LOCK:
            missing = offset + size - len(self.content)
            while missing > 0:
                try:
                    part = self.decompressor.decompress(self.compressed, missing)
                except (EOFError, LZMAError):
                    break
                if not part:
                    break
                self.compressed = b""
                self.content += part
                missing -= len(part)
            return bytes(self.content[offset : offset + size])


@lru_cache(OPEN_BLOCKS)
def open_block(library: KernelLibrary, index: int) -> OpenBlock:
    offset, size = BLOCK.unpack_from(library.data, library.blocks + index * BLOCK.size)
    return OpenBlock(library.data[offset : offset + size])


def close_blocks() -> None:
    """Frees what is decompressed, once a program is loaded."""
    open_block.cache_clear()


def hash_name(name: str) -> bytes:
    return hashlib.sha256(name.encode()).digest()[:NAME_BYTES]


def symbol_of(key: str) -> str:
    return f"sx_{hashlib.sha256(key.encode()).hexdigest()[:24]}"


# --- reading ---------------------------------------------------------------------------------


@cache
def class_library(name: str) -> KernelLibrary | None:
    """The library of a class of processors, installed or compiled here; None if there is none for these sources.

    It is None, too, where Python was built without LZMA.
    """
    if find_spec("_lzma") is None:
        log.info("kernels are compiled, since this Python has no module lzma for libraries of them")
        return None
    return installed_library(name) or cached_library(name)


def installed_library(name: str) -> KernelLibrary | None:
    """The library beside these sources that has a class."""
    for path in (FOLDER / f"{name}{SUFFIX}", FOLDER / ALL_CLASSES):
        try:
            with open(path, "rb") as file:
                library = open_library(path, file, name, is_trusted=installation_record() is not None)
        except OSError:
            continue
        if library is not None:
            return library
    return None


def cached_library(name: str) -> KernelLibrary | None:
    """The library of a class that this machine has compiled."""
    path = cached_path(name)
    try:
        if path is None or not path.exists():
            return None
        with open_private_file(path) as file:
            return open_library(path, file, name)
    except OSError as error:
        warn_not_private(error)
        return None


def cached_path(name: str) -> Path | None:
    """Where this machine's library of a class is for these sources; None without a cache folder."""
    folder = default_folder()
    return None if folder is None else folder / f"{name}-{sources_digest()[:16]}{SUFFIX}"


def open_library(path: Path, file: BinaryIO, name: str, *, is_trusted: bool = False) -> KernelLibrary | None:
    """The entries of a class in a library, if it has them and is of these sources.

    is_trusted: whether the library is known to be of these sources.
    """
    try:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except ValueError:  # an empty file
        return None
    magic, digest, count, blocks = HEADER.unpack_from(data) if len(data) >= HEADER.size else (b"", b"", 0, 0)
    if magic != MAGIC or not (is_trusted or digest == sources_digest().encode()):
        log.info("%s is of other sources, and is not used", path)
        return None
    for i in range(count):
        class_name, start, entries = CLASS.unpack_from(data, HEADER.size + i * CLASS.size)
        if class_name.rstrip(b"\0") == name.encode():
            return KernelLibrary(path, data, start, entries, blocks)
    return None


# --- writing ---------------------------------------------------------------------------------


def write_library(path: Path, classes: Mapping[str, Mapping[str, bytes]], mode: int = 0o644) -> None:
    """Writes a library for these sources.

    classes: by the names of classes, object code by the names of modules, the most used first.
    mode: the permissions of the file.
    """
    temporary = path.with_name(f"{os.urandom(8).hex()}.tmp")
    with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
        for part in library_parts(classes):
            file.write(part)
    os.replace(temporary, path)


def library_parts(classes: Mapping[str, Mapping[str, bytes]]) -> Iterator[bytes]:
    """The content of a library."""
    import lzma

    places: dict[bytes, tuple[int, int]] = {}  # of codes: the block, and the offset in it
    blocks: list[bytes] = []
    for codes in classes.values():
        place_codes(codes, places, blocks)
    tables = {name: sorted(class_entries(codes, places)) for name, codes in classes.items()}
    start = HEADER.size + len(classes) * CLASS.size
    entries = sum(map(len, tables.values()))
    offset = start + entries * ENTRY.size
    yield HEADER.pack(MAGIC, sources_digest().encode(), len(classes), offset)
    for name, table in tables.items():
        yield CLASS.pack(name.encode(), start, len(table))
        start += len(table) * ENTRY.size
    yield from (ENTRY.pack(*entry) for table in tables.values() for entry in table)
    compressed = [lzma.compress(block, lzma.FORMAT_RAW, filters=FILTERS) for block in blocks]
    offset += len(compressed) * BLOCK.size
    for content in compressed:
        yield BLOCK.pack(offset, len(content))
        offset += len(content)
    yield from compressed


def place_codes(
    codes: Mapping[str, bytes], places: dict[bytes, tuple[int, int]], blocks: list[bytes]
) -> None:
    """Adds the codes of a class that have no place yet to new blocks."""
    for names in block_names({name: code for name, code in codes.items() if code not in places}):
        block = bytearray()
        for name in names:
            if codes[name] not in places:
                places[codes[name]] = len(blocks), len(block)
                block += codes[name]
        blocks.append(bytes(block))


def class_entries(
    codes: Mapping[str, bytes], places: Mapping[bytes, tuple[int, int]]
) -> Iterator[tuple[bytes, int, int, int, int]]:
    """The fields of the entries of a class."""
    for name, code in codes.items():
        yield hash_name(name), *places[code], len(code), zlib.crc32(code)


def block_names(codes: Mapping[str, bytes]) -> Iterator[list[str]]:
    """The names of modules in blocks, those of a kind in the order of `codes`; no block has modules of several kinds."""
    for _, names in groupby(sorted(codes, key=kind_of), key=kind_of):
        block: list[str] = []
        size = 0
        for name in names:
            if block and size + len(codes[name]) > BLOCK_BYTES:
                yield block
                block, size = [], 0
            block.append(name)
            size += len(codes[name])
        yield block


def kind_of(name: str) -> str:
    """The name of a module up to its first digit."""
    match = re.match(r"\D*", name)
    return "" if match is None else match[0]
