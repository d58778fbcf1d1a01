"""The file of a saved program: a head, a document in JSON, and sections of bytes.

The head says how long the document is and what its hash is; the document has the place, size and hash of each section,
places counted from the first page behind it.  Constants come last, on pages of their own; they are mapped and not read,
and so have no hash.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, cast

from sardonyx.errors import DecodeError
from sardonyx.io.staging import Staging

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"
MAGIC = b"\x89SDX\r\n\x1a\n"
VERSION = 1
HEAD = struct.Struct("<8sIIQ32s")  # magic, version, bytes of this head, bytes of the document, its hash
LINE, PAGE = 64, 4096
MOST = 1 << 30  # bytes of a document
CONSTANTS = "constants"


@dataclass(frozen=True, slots=True)
class Container:
    """A file that is open: its document, and its sections as views of the mapped file."""

    document: dict[str, Json]
    sections: Mapping[str, memoryview]


def write(
    path: Path, document: Mapping[str, Json], sections: Mapping[str, bytes], constants: Sequence[memoryview]
) -> None:
    """Writes a file, put in place when it is whole; constants are where `places` says."""
    found = places([len(data) for data in sections.values()])
    table: dict[str, Json] = {
        name: [at, len(data), hashlib.sha256(data).hexdigest()]
        for at, (name, data) in zip(found, sections.items(), strict=True)
    }
    sizes = [len(one) for one in constants]
    first = round_up(extent([len(data) for data in sections.values()]), PAGE)
    table[CONSTANTS] = [first, extent(sizes), ""]
    text = json.dumps({**document, "sections": table}, separators=(",", ":")).encode()
    start = body(len(text))
    pieces: list[tuple[int, bytes | memoryview]] = [
        *((start + at, data) for at, data in zip(found, sections.values(), strict=True)),
        *((start + first + at, one) for at, one in zip(places(sizes), constants, strict=True)),
    ]
    head = HEAD.pack(MAGIC, VERSION, HEAD.size, len(text), hashlib.sha256(text).digest())
    write_pieces(path, [(0, head + text), *pieces])


def write_pieces(path: Path, pieces: Sequence[tuple[int, bytes | memoryview]]) -> None:
    """Writes bytes at their places in a file."""
    folder, name = os.path.split(path)
    with Staging(folder or os.curdir) as staging:
        with staging.create([name]) as file:
            for at, data in pieces:
                file.skip_to(at)
                file.write(data)
        staging.commit()


def body(length: int) -> int:
    """Where in the file sections begin, given the bytes of the document."""
    return round_up(HEAD.size + length, PAGE)


def places(sizes: Sequence[int]) -> list[int]:
    """Where pieces of these sizes begin, counted from the first; each does so at the beginning of a line."""
    found, at = [], 0
    for size in sizes:
        found.append(at)
        at += round_up(size, LINE)
    return found


def extent(sizes: Sequence[int]) -> int:
    """From the beginning of the first piece to the end of the last that has any bytes."""
    pairs = zip(places(sizes), sizes, strict=True)
    return max((start + size for start, size in pairs if size), default=0)


def round_up(size: int, to: int) -> int:
    return -(-size // to) * to


# --- reading ---------------------------------------------------------------------------------


def is_saved(path: Path) -> bool:
    """Whether a file is a saved program, by its first bytes."""
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def read(path: Path) -> Container:
    """A file whose document and sections are what they were; raises DecodeError for any other one."""
    with path.open("rb") as file, naming(path):
        head = file.read(HEAD.size)
        must(len(head) == HEAD.size, "the file ends in its head", len(head))
        magic, version, size, length, digest = HEAD.unpack(head)
        must(magic == MAGIC, "this is no saved program")
        must(version == VERSION, f"the file is of version {version}, and {VERSION} is read here", 8)
        must(size == HEAD.size and length <= MOST, "the head is damaged", 12)
        text = file.read(length)
        must(hashlib.sha256(text).digest() == digest, "the document is damaged", HEAD.size)
        data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        document = the_map(json.loads(text))
        return Container(document, dict(sections(document, data, body(length))))


def sections(document: Mapping[str, Json], data: memoryview, base: int) -> Iterator[tuple[str, memoryview]]:
    for name, place in the_map(document["sections"]).items():
        at, size, digest = the_list(place, 3)
        start, length = base + the_number(at, 1 << 62), the_number(size, 1 << 62)
        must(length == 0 or start + length <= len(data), f"the file ends in its section {name!r}", len(data))
        found = data[start : start + length]
        if name != CONSTANTS:
            must(hashlib.sha256(found).hexdigest() == digest, f"the section {name!r} is damaged", start)
        else:
            must(start % LINE == 0, "constants begin in the middle of a line", start)
        yield name, found


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Names the file in errors, of which there is one kind."""
    try:
        yield
    except DecodeError as error:
        raise DecodeError(error.why, offset=error.offset, source=str(path)) from None
    except (KeyError, ValueError, RecursionError) as error:
        raise DecodeError(
            f"the document is not that of a program: {error}", offset=HEAD.size, source=str(path)
        ) from None


def must(condition: bool, why: str, offset: int = HEAD.size) -> None:
    """Raises DecodeError unless the condition holds."""
    if not condition:
        raise DecodeError(why, offset=offset)


def the_list(found: Json, length: int | None = None) -> list[Json]:
    must(isinstance(found, list), "a list is wanted")
    result = cast("list[Json]", found)
    must(length is None or len(result) == length, f"a list of {length} is wanted")
    return result


def the_map(found: Json) -> dict[str, Json]:
    must(isinstance(found, dict), "an object is wanted")
    return cast("dict[str, Json]", found)


def the_text(found: Json) -> str:
    must(isinstance(found, str), "a text is wanted")
    return cast(str, found)


def the_number(found: Json, most: int | None = None) -> int:
    """An integer; with `most` one from 0 up to that."""
    must(isinstance(found, int) and not isinstance(found, bool), "an integer is wanted")
    result = cast(int, found)
    must(most is None or 0 <= result <= most, f"{result} is outside of 0 to {most}")
    return result
