"""Files of probes: of instructions, in the package, and of kernels, beside the kernel libraries of a wheel.

A file is the length of an index, the index in JSON, and compressed parts: data (operands and expected results), which classes
may share, and the probes of each class.  The index has the place and the size of each part; places count from the first part.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import DecodeError

LENGTH = struct.Struct("<I")  # of the index, or of the description of a class


@dataclass(frozen=True, slots=True)
class ExpectedResult:
    """What a probe must compute.

    probe: its name.  place, size: of the bytes in the data.
    """

    probe: str
    place: int
    size: int


@dataclass(frozen=True, slots=True)
class ClassProbes:
    """The probes of a class.

    code: a linked image; functions: the offsets of its functions in it.
    data: operands and expected results.
    results: of each probe, in their order.
    digest: of what they were compiled from.
    """

    code: bytes
    functions: Mapping[str, int]
    data: bytes
    results: tuple[ExpectedResult, ...]
    digest: str


def has_probes(path: Path, name: str) -> bool:
    """Whether a file exists and has probes of a class.  Raises DecodeError for a damaged one."""
    try:
        with open(path, "rb") as file, damage_named(path):
            return name in read_index(file)
    except FileNotFoundError:
        return False


def read_probes(path: Path, name: str) -> ClassProbes:
    """The probes of a class.  Raises DecodeError for a damaged file."""
    with open(path, "rb") as file, damage_named(path):
        index = read_index(file)
        block = zlib.decompress(read_part(file, *index[name]))
        (length,) = LENGTH.unpack_from(block)
        description = json.loads(block[LENGTH.size : LENGTH.size + length])
        data = zlib.decompress(read_part(file, *index[description["data"]]))
        return ClassProbes(
            block[LENGTH.size + length :],
            description["functions"],
            data,
            tuple(ExpectedResult(*result) for result in description["results"]),
            description["digest"],
        )


@contextmanager
def damage_named(path: Path, *further: type[Exception]) -> Iterator[None]:
    """Raises DecodeError, which names the file, for what reading a damaged one raises.  further: exceptions of its decoder."""
    usual = (struct.error, zlib.error, ValueError, TypeError, KeyError, AttributeError)
    expected: tuple[type[Exception], ...] = (*usual, *further)
    try:
        yield
    except expected as error:
        what = f"the probes of classes of processors are damaged: install Sardonyx again ({type(error).__name__}: {error})"
        raise DecodeError(what, offset=0, source=str(path)) from None


def read_index(file: BinaryIO) -> dict[str, tuple[int, int]]:
    """The place of each part of the file, and its size."""
    (length,) = LENGTH.unpack(file.read(LENGTH.size))
    index = json.loads(file.read(length))
    start = LENGTH.size + length
    return {name: (start + int(place), int(size)) for name, (place, size) in index.items()}


def read_part(file: BinaryIO, place: int, size: int) -> bytes:
    """A part as it is in the file, compressed."""
    file.seek(place)
    return file.read(size)


def write_probes(path: Path, classes: Mapping[str, ClassProbes]) -> None:
    """Writes a file; data that several classes have is stored once."""
    names: dict[bytes, str] = {}
    for probes in classes.values():
        names.setdefault(probes.data, f"data {len(names)}")
    parts = {name: zlib.compress(data, 9) for data, name in names.items()}
    parts |= {name: encode_class(probes, names[probes.data]) for name, probes in classes.items()}
    write_parts(path, parts)


def write_parts(path: Path, parts: Mapping[str, bytes]) -> None:
    """Writes a file with an index of compressed parts."""
    index, place = {}, 0
    for name, content in parts.items():
        index[name] = (place, len(content))
        place += len(content)
    text = json.dumps(index).encode()
    path.write_bytes(b"".join((LENGTH.pack(len(text)), text, *parts.values())))


def encode_class(probes: ClassProbes, data: str) -> bytes:
    results = [(r.probe, r.place, r.size) for r in probes.results]
    description = {"functions": probes.functions, "results": results, "digest": probes.digest, "data": data}
    text = json.dumps(description).encode()
    return zlib.compress(LENGTH.pack(len(text)) + text + probes.code, 9)
