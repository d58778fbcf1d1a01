"""The file of a saved program: a head, a document in JSON, and sections of bytes.

The head says where the document is, how long it is and what its hash is; the document has the place, size and hash of each
section.  Constants come first, from the second page on, since they are there before the code is; they are mapped and not
read, and so have no hash.  The document comes last.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, cast

from sardonyx._src.errors import DecodeError
from sardonyx._src.io.staging import Staged, Staging

Constant: TypeAlias = tuple[int, Iterable[bytes | memoryview]]  # how many bytes, and these in order
Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"
Rest: TypeAlias = tuple[Mapping[str, Json], Mapping[str, bytes]]  # a document, and sections
MAGIC = b"\x89SDX\r\n\x1a\n"
VERSION = 2
HEAD = struct.Struct(
    "<8sIIQQ32s"
)  # magic, version, bytes of this head, place and bytes of the document, its hash
LINE, PAGE = 64, 4096
MOST = 1 << 30  # bytes of a document
CONSTANTS = "constants"


@dataclass(frozen=True, slots=True)
class Container:
    """A file that is open: its document, and its sections as views of the mapped file."""

    document: dict[str, Json]
    sections: Mapping[str, memoryview]


def write(path: Path, constants: Sequence[Constant], rest: Callable[[], Rest]) -> None:
    """Writes a file, put in place when it is whole; constants are where `places` says, counted from the first.

    rest: the document and the sections, asked for when the constants are written: others may be at work on them.
    """
    folder, name = os.path.split(path)
    with Staging(folder or os.curdir) as staging:
        with staging.create([name]) as file:
            sizes = [size for size, _ in constants]
            for at, (_, parts) in zip(places(sizes), constants, strict=True):
                file.skip_to(PAGE + at)
                for part in parts:
                    file.write(part)
            finish(file, *rest(), extent(sizes))
        staging.commit()


def finish(file: Staged, document: Mapping[str, Json], sections: Mapping[str, bytes], constants: int) -> None:
    """Writes sections behind so many bytes of constants, the document behind these, and the head."""
    table: dict[str, Json] = {CONSTANTS: [PAGE, constants, ""]}
    end = round_up(PAGE + constants, LINE)
    for at, (name, data) in zip(places([*map(len, sections.values())]), sections.items(), strict=True):
        table[name] = [end + at, len(data), hashlib.sha256(data).hexdigest()]
        file.skip_to(end + at)
        file.write(data)
    end += extent([*map(len, sections.values())])
    text = json.dumps({**document, "sections": table}, separators=(",", ":")).encode()
    file.skip_to(end)
    file.write(text)
    file.skip_to(0)
    file.write(HEAD.pack(MAGIC, VERSION, HEAD.size, end, len(text), hashlib.sha256(text).digest()))


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
        magic, version, size, start, length, digest = HEAD.unpack(head)
        must(magic == MAGIC, "this is no saved program")
        must(version == VERSION, f"the file is of version {version}, and {VERSION} is read here", 8)
        must(size == HEAD.size and length <= MOST, "the head is damaged", 12)
        data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        must(start + length == len(data), "the file does not end with its document", len(data))
        text = data[start:]
        must(hashlib.sha256(text).digest() == digest, "the document is damaged", start)
        document = the_map(json.loads(bytes(text)))
        return Container(document, dict(sections(document, data)))


def sections(document: Mapping[str, Json], data: memoryview) -> Iterator[tuple[str, memoryview]]:
    for name, place in the_map(document["sections"]).items():
        at, size, digest = the_list(place, 3)
        start, length = the_number(at, 1 << 62), the_number(size, 1 << 62)
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
