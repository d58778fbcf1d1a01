"""Libraries of compiled kernels: files with the object code of kernels for one or several classes of processors.

A library is a header, a table of classes, the entries of each class in the order of their names, and compressed object
code.  The name of an entry is a hash of the module's.  Classes share code that is equal, as that of most kernels is for
classes that differ in a few instructions.

A library is valid for the sources of the compiler whose digest it has.  One that was installed was made of the sources
beside it, which are not read again; one in the cache folder was compiled on this machine (`runtime.kernel_library`).
"""

from __future__ import annotations

import hashlib
import logging
import mmap
import os
import struct
import zlib
from collections.abc import Iterator, Mapping
from functools import cache
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
HEADER = struct.Struct("<8s64sI")  # magic, digest of the sources, number of classes
CLASS = struct.Struct("<32sQI")  # name, offset and number of the entries
ENTRY = struct.Struct("<16sII")  # hash of the name, offset and bytes of the compressed code
NAME_BYTES = 16
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class KernelLibrary:
    """The entries of a class in an open library; `data` is the mapped file."""

    path: Path
    data: mmap.mmap
    start: int
    count: int

    def get(self, name: str) -> bytes | None:
        """The object code of a module; None if the library does not have it, or only damaged."""
        key = hash_name(name)
        low, high = 0, self.count
        while low < high:
            middle = (low + high) // 2
            entry, offset, size = ENTRY.unpack_from(self.data, self.start + middle * ENTRY.size)
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
    magic, digest, count = HEADER.unpack_from(data) if len(data) >= HEADER.size else (b"", b"", 0)
    if magic != MAGIC or not (is_trusted or digest == sources_digest().encode()):
        log.info("%s is of other sources, and is not used", path)
        return None
    for i in range(count):
        class_name, start, entries = CLASS.unpack_from(data, HEADER.size + i * CLASS.size)
        if class_name.rstrip(b"\0") == name.encode():
            return KernelLibrary(path, data, start, entries)
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
    yield HEADER.pack(MAGIC, sources_digest().encode(), len(classes))
    start = HEADER.size + len(classes) * CLASS.size
    for name, codes in classes.items():
        yield CLASS.pack(name.encode(), start, len(codes))
        start += len(codes) * ENTRY.size
    compressed: dict[bytes, tuple[int, bytes]] = {}  # offset and content by object code
    for codes in classes.values():
        for name, code in sorted(codes.items(), key=lambda item: hash_name(item[0])):
            if code not in compressed:
                compressed[code] = start, zlib.compress(code, 9)
                start += len(compressed[code][1])
            offset, content = compressed[code]
            yield ENTRY.pack(hash_name(name), offset, len(content))
    yield from (content for _, content in compressed.values())
