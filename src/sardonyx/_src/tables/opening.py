"""Opening of sources: paths, addresses of object stores, standard input, and tables in memory."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import BinaryIO
from urllib.parse import unquote

from sardonyx._src.errors import InputError
from sardonyx._src.tables.arrow import dataset, ipc, pa
from sardonyx._src.tables.encodings import dense_frame
from sardonyx._src.tables.file_tables import FileTable
from sardonyx._src.tables.formats import (
    COMPRESSIONS,
    CSV,
    IPC,
    IPC_STREAM,
    JSON,
    STANDARD_STREAM,
    format_of,
)
from sardonyx._src.tables.partitions import NULL_NAME
from sardonyx._src.tables.places import FilePlace
from sardonyx._src.tables.sources import BatchStream, MemoryTable, Source, readable
from sardonyx._src.tables.text_tables import TextFile, TextTable, line_blocks, line_range
from sardonyx._src.tables.text_types import infer_schema

INTEGER = re.compile(
    r"-?[0-9]{1,18}"
)  # a value of a partition that is read as a number: one that int64 holds


def open_source(source: object, format: str | None = None) -> Source:
    """The rows of a path, a list of paths, an address of an object store, "-", or a table in memory.

    Raises InputError for any other source, and for files that cannot be read.
    """
    try:
        if isinstance(source, str | os.PathLike | list | tuple):
            return open_paths([source] if isinstance(source, str | os.PathLike) else list(source), format)
        return open_table(source)
    except FileNotFoundError as error:
        missing = error.filename or shown(source)
        raise InputError(f"the source must exist; there is no {missing}", name="source") from None
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(
            f"the source must be a readable table; got {shown(source)}: {error}", name="source"
        ) from None


def shown(source: object) -> str:
    return repr(source) if isinstance(source, str | os.PathLike) else type(source).__name__


def open_paths(sources: list[object], format: str | None) -> Source:
    """The rows of files of one format."""
    for path in sources:
        if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
            raise InputError(f"the source must be paths; got {type(path).__name__}", name="source")
    paths = [os.fspath(path) for path in sources if isinstance(path, str | os.PathLike)]
    if not paths:
        raise InputError("the source must name a file; got an empty list", name="source")
    kind = format_of(paths[0], format, "source_format")
    if paths == [STANDARD_STREAM]:
        return open_stream(sys.stdin.buffer, kind)
    if kind == IPC_STREAM or (kind == IPC and len(paths) == 1 and is_ipc_stream(paths[0])):
        if len(paths) > 1:
            raise InputError(f"a source of format {kind} must be one file; got {len(paths)}", name="source")
        place = FilePlace.of(paths[0])
        return BatchStream(ipc.open_stream(place.filesystem.open_input_stream(place.path)))
    return open_text_files(paths, kind) if kind in (CSV, JSON) else open_files(paths, kind)


def open_files(paths: list[str], kind: str) -> Source:
    """The rows of files and folders, with the values of hive partitions as columns."""
    places = [FilePlace.of(path) for path in paths]
    names = [place.path for place in places]

    def reopen(partitions: pa.Schema | None) -> dataset.FileSystemDataset:
        return dataset.dataset(
            names if len(names) > 1 else names[0],
            filesystem=places[0].filesystem,
            format=kind,
            partitioning=dataset.partitioning(partitions, flavor="hive") if partitions else "hive",
        )

    files = reopen(None)
    if not files.files:
        raise InputError(f"the source must have files; got {paths[0]!r}", name="source")
    return FileTable(files, kind, reopen)


def open_text_files(paths: list[str], kind: str) -> TextTable:
    """The rows of text files and folders of them, with the values of hive partitions as columns.

    The dataset reader of Arrow is not used for text: it needs files that parse completely.
    """
    files = [(place, base) for base in map(FilePlace.of, paths) for place in base.files()]
    if not files:
        raise InputError(f"the source must have files; got {paths[0]!r}", name="source")
    partitions = hive_partitions([place.path.removeprefix(base.path) for place, base in files])
    text_files = [
        open_text_file(place, partition) for (place, _), partition in zip(files, partitions, strict=True)
    ]
    schema = infer_schema(next(text_files[0].open(), b""), kind)
    for name in partitions[0]:
        schema = schema.append(pa.field(name, partition_type([values.get(name) for values in partitions])))
    return TextTable(text_files, kind, schema, [place.identity() for place, _ in files])


def hive_partitions(paths: list[str]) -> list[dict[str, str | None]]:
    """For each path, the values that its folders name, as in `country=fr/year=2024`."""
    return [
        {unquote(name): None if value == NULL_NAME else unquote(value) for name, value in pairs}
        for pairs in (
            [folder.split("=", 1) for folder in path.split("/")[:-1] if "=" in folder] for path in paths
        )
    ]


def partition_type(values: list[str | None]) -> pa.DataType:
    """The type of a partition column: integers if all values are integers, as in Arrow; otherwise strings."""
    return pa.int64() if all(value is None or INTEGER.fullmatch(value) for value in values) else pa.string()


def open_text_file(place: FilePlace, partition: dict[str, str | None]) -> TextFile:
    """A file of lines; of a compressed file no parts can be read."""
    if place.name.endswith(COMPRESSIONS):
        return TextFile(partial(open_lines, place), partition)
    return TextFile(partial(open_lines, place), partition, place.size(), partial(open_range, place))


def open_lines(place: FilePlace) -> Iterator[bytes]:
    return readable(line_blocks(place.filesystem.open_input_stream(place.path)), place.path)


def open_range(place: FilePlace, start: int, end: int) -> Iterator[bytes]:
    return readable(line_range(place.filesystem.open_input_file(place.path), start, end), place.path)


def is_ipc_stream(path: str) -> bool:
    """Whether an Arrow file has the streaming format: the file format begins with a magic number."""
    place = FilePlace.of(path)
    if not place.exists() or not place.size():
        return False
    with place.filesystem.open_input_stream(place.path, compression=None) as file:
        return bool(file.read(6) != b"ARROW1")


def open_stream(stream: BinaryIO, format: str) -> Source:
    """A stream, which is read once; a Parquet or Arrow file in it is copied to a file, since its directory is at the end."""
    if format == IPC_STREAM:
        return BatchStream(ipc.open_stream(stream))
    if format in (CSV, JSON):
        blocks = line_blocks(stream)
        head = next(blocks, b"")
        file = TextFile(lambda: chain([head], blocks), {})
        return TextTable([file], format, infer_schema(head, format), [])
    with tempfile.NamedTemporaryFile(delete=False) as copy:
        shutil.copyfileobj(stream, copy)
    return TemporaryFileTable(copy.name, format)


class TemporaryFileTable(FileTable):
    """The rows of a file that is removed when they have been read."""

    def __init__(self, path: str, format: str) -> None:
        self.temporary = path
        super().__init__(dataset.dataset(path, format=format), format)
        self.identity = []

    def __del__(self) -> None:
        if os.path.exists(self.temporary):
            os.remove(self.temporary)


def table_of_frame(frame: object) -> pa.Table:
    """The table of a data frame; raises InputError for columns that Arrow has no type for."""
    try:
        return pa.table(dense_frame(frame))
    except Exception as error:  # another package may raise any exception
        raise InputError(
            f"the source must be a table that Arrow can read; got {type(frame).__name__}: {error}",
            name="source",
        ) from error


def open_table(source: object) -> Source:
    """A table of pyarrow, pandas or polars, or a reader of record batches."""
    if isinstance(source, pa.RecordBatch):
        source = pa.Table.from_batches([source])
    if isinstance(source, pa.Table):
        return MemoryTable(source)
    if isinstance(source, pa.RecordBatchReader):
        return BatchStream(source)
    if hasattr(source, "__arrow_c_stream__"):
        return MemoryTable(table_of_frame(source))
    raise InputError(
        "the source must be a path, a list of paths, or a table of pyarrow, pandas or polars; "
        f"got {type(source).__name__}",
        name="source",
    )
