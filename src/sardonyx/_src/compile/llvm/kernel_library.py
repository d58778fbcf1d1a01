"""Libraries of compiled kernels: a file for each class of processors, which a wheel contains.

A library is a header, a table of entries in the order of their names, and the compressed object code of each entry.  The
name of an entry is a hash of the module's.  A library is valid for the sources of the compiler whose digest it has; one
that was installed was made of the sources beside it, which are not read again.
"""

from __future__ import annotations

import hashlib
import logging
import mmap
import os
import struct
import zlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from sardonyx._src.compile.llvm.sources import installation_record, sources_digest
from sardonyx._src.dataclass import dataclass

FOLDER = Path(__file__).with_name("libraries")
SUFFIX = ".kernels"
MAGIC = b"SXKERN01"
HEADER = struct.Struct("<8s64sI")  # magic, digest of the sources, number of entries
ENTRY = struct.Struct("<16sII")  # hash of the name, offset and bytes of the compressed code
NAME_BYTES = 16
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class KernelLibrary:
    """An open library; `data` is the mapped file."""

    path: Path
    data: mmap.mmap
    count: int

    def get(self, name: str) -> bytes | None:
        """The object code of a module; None if the library does not have it, or only damaged."""
        key = hash_name(name)
        low, high = 0, self.count
        while low < high:
            middle = (low + high) // 2
            entry, offset, size = ENTRY.unpack_from(self.data, HEADER.size + middle * ENTRY.size)
            if entry == key:
                return self.decompress(offset, size)
            low, high = (middle + 1, high) if entry < key else (low, middle)
        return None

    def decompress(self, offset: int, size: int) -> bytes | None:
        try:
            return zlib.decompress(self.data[offset : offset + size])
        except zlib.error as error:
            log.warning("a kernel of %s is damaged and will be compiled: %s", self.path, error)
            return None


def hash_name(name: str) -> bytes:
    return hashlib.sha256(name.encode()).digest()[:NAME_BYTES]


@cache
def class_library(name: str) -> KernelLibrary | None:
    """The library of a class of processors; None if there is none for these sources."""
    path = FOLDER / f"{name}{SUFFIX}"
    try:
        with open(path, "rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):  # ValueError: an empty file
        return None
    magic, digest, count = HEADER.unpack_from(data) if len(data) >= HEADER.size else (b"", b"", 0)
    if magic != MAGIC or not (installation_record() or digest == sources_digest().encode()):
        log.info("%s is of other sources, and is not used", path)
        return None
    return KernelLibrary(path, data, count)


def write_library(path: Path, codes: Mapping[str, bytes]) -> None:
    """Writes a library for these sources.  codes: object code by the names of modules."""
    compressed = sorted((hash_name(name), zlib.compress(code, 9)) for name, code in codes.items())
    offset = HEADER.size + len(compressed) * ENTRY.size
    temporary = path.with_suffix(".tmp")
    with open(temporary, "wb") as file:
        file.write(HEADER.pack(MAGIC, sources_digest().encode(), len(compressed)))
        for name, code in compressed:
            file.write(ENTRY.pack(name, offset, len(code)))
            offset += len(code)
        for _, code in compressed:
            file.write(code)
    os.replace(temporary, path)
