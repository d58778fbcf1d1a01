"""Libraries of compiled kernels: files with the object code of kernels for one or several classes of processors.

A library is a header, a table of classes, the entries of each class in the order of their names, a table of blocks, and
compressed blocks of object code.  The name of an entry is a hash of the module's.  A block has modules whose names begin
alike: together they take three quarters of the bytes.  Classes share equal blocks, as most are for classes that differ
in a few instructions.

A library is valid for the sources of the compiler whose digest it has.  One that was installed was made of the sources
beside it, which are not read again; one in the cache folder was compiled on this machine (`runtime.kernel_library`).
"""

from __future__ import annotations

import hashlib
import logging
import mmap
import os
import re
import struct
import zlib
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from itertools import groupby
from pathlib import Path
from typing import BinaryIO

from sardonyx._src.compile.llvm.cache import default_folder, warn_not_private
from sardonyx._src.compile.llvm.sources import installation_record, sources_digest
from sardonyx._src.dataclass import dataclass
from sardonyx._src.io.private_files import open_private_file

FOLDER = Path(__file__).with_name("libraries")
SUFFIX = ".kernels"
ALL_CLASSES = f"all{SUFFIX}"
MAGIC = b"SXKERN02"
HEADER = struct.Struct(
    "<8s64sII"
)  # magic, digest of the sources, number of classes, offset of the table of blocks
CLASS = struct.Struct("<32sII")  # name, offset and number of the entries
ENTRY = struct.Struct("<16sIII")  # hash of the name, number of the block, offset in it, and bytes of the code
BLOCK = struct.Struct("<II")  # offset and bytes of a compressed block
NAME_BYTES = 16
BLOCK_BYTES = 1 << 16  # of code; larger blocks take longer to decompress, and hardly less space
OPEN_BLOCKS = 16  # that stay decompressed: programs load kernels of several kinds in turn
log = logging.getLogger(__name__)


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
        block, offset, size = entry
        content = read_block(self, block)
        return None if content is None else content[offset : offset + size]

    def __contains__(self, name: str) -> bool:
        return self.find(name) is not None

    def find(self, name: str) -> tuple[int, int, int] | None:
        """The block that has the code of a module, the offset in it, and the size."""
        key = hash_name(name)
        low, high = 0, self.count
        while low < high:
            middle = (low + high) // 2
            entry, block, offset, size = ENTRY.unpack_from(self.data, self.start + middle * ENTRY.size)
            if entry == key:
                return block, offset, size
            low, high = (middle + 1, high) if entry < key else (low, middle)
        return None


@lru_cache(OPEN_BLOCKS)
def read_block(library: KernelLibrary, index: int) -> bytes | None:
    """A block of code; None if it is damaged."""
    offset, size = BLOCK.unpack_from(library.data, library.blocks + index * BLOCK.size)
    try:
        return zlib.decompress(library.data[offset : offset + size])
    except zlib.error as error:
        log.warning("kernels of %s are damaged and will be compiled: %s", library.path, error)
        return None


def hash_name(name: str) -> bytes:
    return hashlib.sha256(name.encode()).digest()[:NAME_BYTES]


# --- reading ---------------------------------------------------------------------------------


@cache
def class_library(name: str) -> KernelLibrary | None:
    """The library of a class of processors, installed or compiled here; None if there is none for these sources."""
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

    classes: by the names of classes, object code by the names of modules.  mode: the permissions of the file.
    """
    temporary = path.with_name(f"{os.urandom(8).hex()}.tmp")
    with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
        for part in library_parts(classes):
            file.write(part)
    os.replace(temporary, path)


def library_parts(classes: Mapping[str, Mapping[str, bytes]]) -> Iterator[bytes]:
    """The content of a library."""
    numbers: dict[tuple[bytes, ...], int] = {}  # of blocks, by the codes in them
    tables = {name: sorted(class_entries(codes, numbers)) for name, codes in classes.items()}
    start = HEADER.size + len(classes) * CLASS.size
    entries = sum(map(len, tables.values()))
    blocks = start + entries * ENTRY.size
    yield HEADER.pack(MAGIC, sources_digest().encode(), len(classes), blocks)
    for name, table in tables.items():
        yield CLASS.pack(name.encode(), start, len(table))
        start += len(table) * ENTRY.size
    yield from (ENTRY.pack(*entry) for table in tables.values() for entry in table)
    compressed = [zlib.compress(b"".join(codes), 9) for codes in numbers]
    offset = blocks + len(compressed) * BLOCK.size
    for content in compressed:
        yield BLOCK.pack(offset, len(content))
        offset += len(content)
    yield from compressed


def class_entries(
    codes: Mapping[str, bytes], numbers: dict[tuple[bytes, ...], int]
) -> Iterator[tuple[bytes, int, int, int]]:
    """The fields of the entries of a class.  numbers: receives the blocks that they are in."""
    for names in block_names(codes):
        block = numbers.setdefault(tuple(codes[name] for name in names), len(numbers))
        offset = 0
        for name in names:
            yield hash_name(name), block, offset, len(codes[name])
            offset += len(codes[name])


def block_names(codes: Mapping[str, bytes]) -> Iterator[list[str]]:
    """The names of modules in blocks.

    No block has modules of several kinds, so that a difference between classes concerns the blocks of a kind only.
    """
    for _, names in groupby(sorted(codes), key=kind_of):
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
