"""A file of probes of kernels: small programs for each class of processors, whose kernels are those of its library.

The format is that of `probes_file.py`, compressed as libraries are.  A part is the length of a description, the description in
JSON, and arrays of bytes.  One part is for all classes: what programs are fed, and what they compute.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sardonyx._src.compile.llvm.kernel_library import FILTERS
from sardonyx._src.compile.llvm.probes_file import LENGTH, damage_named, read_index, read_part, write_parts
from sardonyx._src.dataclass import dataclass

COMMON = "common"  # the name of the part for all classes
ARRAYS = ("calls", "values", "bases", "constants")


@dataclass(frozen=True, slots=True)
class ProbeProgram:
    """What a program computes.

    name: of the case.  place, size: of its results in those of all programs, in bytes.
    digest: of these bytes (`kernel_probes.digest`).
    """

    name: str
    place: int
    size: int
    digest: str


@dataclass(frozen=True, slots=True)
class KernelProbes:
    """The programs of a class, one after the other.

    programs: in their order, and what they are fed, both equal for all classes.
    kernels: the names of their modules in the library.
    ends: for each program, the number of calls up to its last.
    arena, scratch: bytes of memory, which the programs share.
    calls: three int64 for each: the kernel, the slot of its first argument, and its units of work.
    values: int64 of the slots, bases: uint8 of the slots: numbers or addresses (`kernel_probes.Base`).
    constants, feeds: contents of the programs' constants and inputs.
    """

    programs: tuple[ProbeProgram, ...]
    feeds: bytes
    kernels: tuple[str, ...]
    ends: tuple[int, ...]
    arena: int
    scratch: int
    calls: bytes
    values: bytes
    bases: bytes
    constants: bytes


def read_kernel_probes(path: Path, name: str) -> KernelProbes:
    """The programs of a class.  Raises DecodeError for a damaged file."""
    from lzma import LZMAError  # lazy: there is a library, so that Python has it

    with open(path, "rb") as file, damage_named(path, LZMAError):
        index = read_index(file)
        common, (feeds,) = decode_part(read_part(file, *index[COMMON]))
        facts, arrays = decode_part(read_part(file, *index[name]))
        return KernelProbes(
            tuple(ProbeProgram(*program) for program in common["programs"]),
            feeds,
            tuple(facts["kernels"]),
            tuple(facts["ends"]),
            int(facts["arena"]),
            int(facts["scratch"]),
            *arrays,
        )


def decode_part(content: bytes) -> tuple[dict[str, Any], list[bytes]]:
    """The description in a part, and its arrays."""
    import lzma

    block = lzma.decompress(content, lzma.FORMAT_RAW, filters=FILTERS)
    (length,) = LENGTH.unpack_from(block)
    place, arrays = LENGTH.size + length, []
    facts = json.loads(block[LENGTH.size : place])
    for size in facts["sizes"]:
        arrays.append(block[place : place + size])
        place += size
    return facts, arrays


def write_kernel_probes(path: Path, classes: Mapping[str, KernelProbes]) -> None:
    """Writes the programs of classes, which are fed the same and compute the same."""
    first, *others = classes.values()
    assert all((p.programs, p.feeds) == (first.programs, first.feeds) for p in others), (
        "classes compute the same"
    )
    programs = [(p.name, p.place, p.size, p.digest) for p in first.programs]
    parts = {COMMON: encode_part({"programs": programs}, [first.feeds])}
    for name, probes in classes.items():
        facts = {key: getattr(probes, key) for key in ("kernels", "ends", "arena", "scratch")}
        parts[name] = encode_part(facts, [getattr(probes, array) for array in ARRAYS])
    write_parts(path, parts)


def encode_part(facts: Mapping[str, object], arrays: Sequence[bytes]) -> bytes:
    import lzma

    text = json.dumps({**facts, "sizes": [len(array) for array in arrays]}).encode()
    block = b"".join((LENGTH.pack(len(text)), text, *arrays))
    return lzma.compress(block, lzma.FORMAT_RAW, filters=FILTERS)
