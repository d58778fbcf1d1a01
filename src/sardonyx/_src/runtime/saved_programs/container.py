"""Container format of saved programs: a header, constants, sections, and a document in JSON.

The header has the offset, length and hash of the document; the document has the offset, size and hash of each section.
Constants come first, from the second page on, because they are written while the code is still being compiled.  They are
mapped instead of read, and instead of a hash they have a checksum, which is verified only once per version of the file
(`verified_files`).  The document comes last.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeAlias, cast

import numpy as np

from sardonyx._src.compile.program.operands.lazy_constants import LazyConstant
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import DecodeError
from sardonyx._src.io.file_stamps import FileStamp
from sardonyx._src.io.loading.file_formats import HEAD_BYTES, recognize_format
from sardonyx._src.io.mapped_files import map_file
from sardonyx._src.io.regular_files import open_regular
from sardonyx._src.ir import Array
from sardonyx._src.phases import phase
from sardonyx._src.runtime.saved_programs.word_sum import word_sum

if TYPE_CHECKING:
    from sardonyx._src.io.saving.staging import StagedFile


Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"
DocumentAndSections: TypeAlias = tuple[Mapping[str, Json], Mapping[str, bytes]]
SDX_MAGIC = b"\x89SDX\r\n\x1a\n"
FORMAT_VERSION = 11
# Magic number, version, bytes of the header, offset of the document, its bytes, its hash.
SDX_HEADER = struct.Struct("<8sIIQQ32s")
ALIGNMENT, PAGE_BYTES = 64, 4096
MAX_DOCUMENT_BYTES = 1 << 30
CONSTANTS = "constants"


@dataclass(frozen=True, slots=True)
class Container:
    """An open file: its stamp, its document, and its sections as views of the mapped file.

    digest: the SHA-256 of the document, in hexadecimal.
    constants_checksum: the expected checksum of the section of constants (`word_sum`), in hexadecimal.
    """

    stamp: FileStamp
    document: dict[str, Json]
    sections: Mapping[str, memoryview]
    digest: str
    constants_checksum: str

    def verify_constants(self) -> None:
        """Raises DecodeError if the checksum of the constants is another than expected."""
        checksum = f"{word_sum(np.frombuffer(self.sections[CONSTANTS], np.uint8), PAGE_BYTES):016x}"
        require(checksum == self.constants_checksum, f"the section {CONSTANTS!r} is damaged", PAGE_BYTES)


def write_container(
    path: Path,
    constants: Sequence[Array | LazyConstant],
    finish: Callable[[], DocumentAndSections],
    mode: int = 0o666,
    *,
    flushes: bool = True,
) -> None:
    """Writes a file, which appears under its name when it is complete; constants are at `aligned_offsets`.

    finish: returns the document and the sections.  It is called after the constants are written, since compile workers
        compile code in the meantime.
    mode: the permissions of the file, before the umask applies.
    flushes: as of `Staging`.
    """
    from sardonyx._src.io.saving.staging import Staging  # lazy: most programs are only read

    folder, name = os.path.split(path)
    with Staging(folder or os.curdir, mode, flushes=flushes) as staging:
        with staging.create([name]) as file:
            table = write_constants(file, constants)
            write_sections(file, *finish(), table)
        staging.commit()


@phase("weights")
def write_constants(file: StagedFile, constants: Sequence[Array | LazyConstant]) -> list[Json]:
    """Writes the constants; returns the offset, size and checksum of their section; gaps between constants are part of it."""
    from sardonyx._src.runtime.saved_programs.constant_writer import ConstantWriter  # lazy: as Staging

    sizes = [constant.nbytes for constant in constants]
    offsets = (PAGE_BYTES + offset for offset in aligned_offsets(sizes))
    dense = (c if isinstance(c, LazyConstant) else np.ascontiguousarray(c) for c in constants)
    checksum = ConstantWriter(file, zip(offsets, dense, strict=True)).write(sum(sizes))
    return [PAGE_BYTES, total_extent(sizes), f"{checksum:016x}"]


@phase("cache")
def write_sections(
    file: StagedFile, document: Mapping[str, Json], sections: Mapping[str, bytes], constants: list[Json]
) -> None:
    """Writes the sections, which follow the constants, then the document, and at last the header.

    constants: the entry of the constants in the table of sections.
    """
    table: dict[str, Json] = {CONSTANTS: constants}
    end = round_up(PAGE_BYTES + expect_integer(constants[1]), ALIGNMENT)
    for offset, (name, data) in zip(
        aligned_offsets([*map(len, sections.values())]), sections.items(), strict=True
    ):
        table[name] = [end + offset, len(data), hashlib.sha256(data).hexdigest()]
        file.skip_to(end + offset)
        file.write(data)
    end += total_extent([*map(len, sections.values())])
    text = json.dumps({**document, "sections": table}, separators=(",", ":")).encode()
    file.skip_to(end)
    file.write(text)
    file.skip_to(0)
    file.write(
        SDX_HEADER.pack(
            SDX_MAGIC, FORMAT_VERSION, SDX_HEADER.size, end, len(text), hashlib.sha256(text).digest()
        )
    )


def aligned_offsets(sizes: Sequence[int]) -> list[int]:
    """The offsets of consecutive pieces of these sizes, each aligned to `ALIGNMENT`."""
    offsets, end = [], 0
    for size in sizes:
        offsets.append(end)
        end += round_up(size, ALIGNMENT)
    return offsets


def total_extent(sizes: Sequence[int]) -> int:
    """The end of the last piece that is not empty, as an offset from the first."""
    pairs = zip(aligned_offsets(sizes), sizes, strict=True)
    return max((start + size for start, size in pairs if size), default=0)


def round_up(size: int, to: int) -> int:
    return -(-size // to) * to


# --- reading ---------------------------------------------------------------------------------


def read_container(
    path: Path, open_file: Callable[[Path], BinaryIO] = open_regular, read_up_to: int = 0
) -> Container:
    """Opens a file and checks all hashes; the checksum of the constants is checked by `Container.verify_constants`.

    read_up_to: the number of bytes up to which a file is read instead of mapped.
    Raises DecodeError for a file that is damaged or has another format.
    """
    with open_file(path) as file, name_file(path):
        stamp = FileStamp.from_descriptor(os.path.realpath(path), file.fileno())
        start_of_file = file.read(HEAD_BYTES)
        head = start_of_file[: SDX_HEADER.size]
        if not head.startswith(SDX_MAGIC) and (actual := recognize_format(start_of_file)) is not None:
            raise DecodeError(actual, offset=0)
        require(len(head) == SDX_HEADER.size, "the file ends in its header", len(head))
        magic, version, size, start, length, digest = SDX_HEADER.unpack(head)
        require(magic == SDX_MAGIC, "not a saved program")
        require(
            version == FORMAT_VERSION,
            f"the format version must be {FORMAT_VERSION}; got {version}: compile the model again",
            8,
        )
        require(size == SDX_HEADER.size and length <= MAX_DOCUMENT_BYTES, "the header is damaged", 12)
        data = map_file(file, stamp.path, read_up_to)
        require(start + length == len(data), "the file does not end with its document", len(data))
        text = data[start:]
        require(hashlib.sha256(text).digest() == digest, "the document is damaged", start)
        document = expect_object(json.loads(bytes(text)))
        checksum = expect_string(expect_list(expect_object(document["sections"])[CONSTANTS], 3)[2])
        return Container(stamp, document, dict(read_sections(document, data)), digest.hex(), checksum)


def read_sections(document: Mapping[str, Json], data: memoryview) -> Iterator[tuple[str, memoryview]]:
    for name, entry in expect_object(document["sections"]).items():
        offset, size, digest = expect_list(entry, 3)
        start, length = expect_integer(offset, 1 << 62), expect_integer(size, 1 << 62)
        require(
            length == 0 or start + length <= len(data), f"the file ends in its section {name!r}", len(data)
        )
        section = data[start : start + length]
        if name != CONSTANTS:
            require(hashlib.sha256(section).hexdigest() == digest, f"the section {name!r} is damaged", start)
        else:
            require(start % ALIGNMENT == 0, "constants are not aligned", start)
        yield name, section


@contextmanager
def name_file(path: Path) -> Iterator[None]:
    """Converts the errors of decoding to DecodeErrors that name the file."""
    try:
        yield
    except DecodeError as error:
        raise DecodeError(error.why, offset=error.offset, source=str(path)) from None
    except (KeyError, ValueError, RecursionError) as error:
        raise DecodeError(
            f"the document does not describe a program: {error}", offset=SDX_HEADER.size, source=str(path)
        ) from None


def require(condition: bool, why: str, offset: int = SDX_HEADER.size) -> None:
    """Raises DecodeError unless the condition holds."""
    if not condition:
        raise DecodeError(why, offset=offset)


def expect_list(value: Json, length: int | None = None) -> list[Json]:
    require(isinstance(value, list), "expected a list")
    result = cast("list[Json]", value)
    require(length is None or len(result) == length, f"expected a list of {length}; got {len(result)}")
    return result


def expect_object(value: Json) -> dict[str, Json]:
    require(isinstance(value, dict), "expected an object")
    return cast("dict[str, Json]", value)


def expect_string(value: Json) -> str:
    require(isinstance(value, str), "expected a string")
    return cast(str, value)


def expect_integer(value: Json, maximum: int | None = None) -> int:
    """The value if it is an integer, and if `maximum` is given, from 0 to `maximum`; otherwise raises DecodeError."""
    require(isinstance(value, int) and not isinstance(value, bool), "expected an integer")
    result = cast(int, value)
    require(
        maximum is None or 0 <= result <= maximum, f"expected an integer from 0 to {maximum}; got {result}"
    )
    return result
