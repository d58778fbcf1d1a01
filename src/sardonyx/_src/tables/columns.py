"""Columns of files and folders as arrays: archives, tables, and pictures."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from sardonyx._src.errors import InputError
from sardonyx._src.ir import Array
from sardonyx._src.tables.formats import COMPRESSIONS, SUFFIXES
from sardonyx._src.tables.images import (
    IMAGE_COLUMN,
    NOT_NUMPY,
    PICTURES,
    map_array,
    read_classes,
    read_images,
)

KINDS = f".npy or .npz files, or tables ({', '.join(SUFFIXES)})"


def read_columns(path: str) -> dict[str, Array]:
    """The columns of a file or of a folder, by name.

    A file is a `.npz` archive, or a table: Parquet, CSV, JSON lines or Arrow IPC, whose text may be compressed.  A folder has
    one `.npy` file for each column, which is mapped; or several archives or tables, which are joined in the order of their
    names; or pictures, which give the column `image`; or one folder of pictures for each class, in the order of their names,
    which gives the columns `image` and `label`.  Raises InputError for anything else, and MissingPackage.
    """
    source = Path(path)
    if source.is_dir():
        return read_folder(source)
    reader = reader_of(source)
    if reader is None or not source.exists():
        what = "" if source.exists() else "; it does not exist"
        raise InputError(
            f"{path} must be a .npz file, a table ({', '.join(SUFFIXES)}) or a folder{what}", name=path
        )
    return reader(source)


def read_npz(path: Path) -> dict[str, Array]:
    try:
        content = np.load(path, allow_pickle=False)
        if not isinstance(content, np.lib.npyio.NpzFile):
            raise ValueError("a single array; an archive of named arrays is needed")
        with content:
            return {name: content[name] for name in content.files}
    except NOT_NUMPY as error:
        raise InputError(f"{path}: {error}", name=str(path)) from None


def read_table(source: object) -> dict[str, Array]:
    """Columns of numbers, and of lists of numbers of one length, of a table as `open_source` reads it.

    Raises InputError for rows that do not parse and for nulls, and MissingPackage without pyarrow.
    """
    from sardonyx._src.tables.arrow import pa  # an optional dependency
    from sardonyx._src.tables.opening import open_source

    path = source if isinstance(source, str | os.PathLike) else type(source).__name__
    table = open_source(source)
    names = table.schema.names
    batches = list(table.read(0, names, None))
    for batch in batches:
        for row in batch.unreadable:
            raise InputError(f"{path} must have rows that parse: {row.reason}", name=str(path))
    rows = pa.Table.from_batches([batch.batch for batch in batches], None if batches else table.schema)
    columns = {}
    for name in names:
        if rows[name].null_count:
            what = f"column {name!r} of {path} must have no nulls; got {rows[name].null_count}"
            raise InputError(what, name=name)
        columns[name] = numbers_of(rows[name].to_numpy(), name, path)
    return columns


def numbers_of(values: Array, name: str, path: str | os.PathLike[str]) -> Array:
    """A column as numbers: [n], or [n, ...] for lists."""
    if values.dtype != object:
        return values
    try:
        rows = [
            np.stack(row) if len(row) and isinstance(row[0], np.ndarray) else np.asarray(row)
            for row in values
        ]
        result = np.stack(rows)
    except (TypeError, ValueError):
        result = np.asarray(values)
    if result.dtype == object:
        raise InputError(
            f"column {name!r} of {path} must have numbers, or lists of numbers of one length", name=name
        )
    return result


def reader_of(path: Path) -> Callable[[Path], dict[str, Array]] | None:
    """The function that reads a file, by its suffix; None for other files."""
    if path.suffix == ".npz":
        return read_npz
    suffix = Path(path.stem).suffix if path.suffix in COMPRESSIONS else path.suffix
    return read_table if suffix.lower() in SUFFIXES else None


def read_folder(folder: Path) -> dict[str, Array]:
    entries = sorted(p for p in folder.iterdir() if not p.name.startswith("."))
    shards = {p: reader for p in entries if (reader := reader_of(p)) is not None}
    if shards:
        return join_shards(shards)
    arrays = [p for p in entries if p.suffix == ".npy"]
    if arrays:
        return {p.stem: map_array(p) for p in arrays}
    pictures = [p for p in entries if p.suffix.lower() in PICTURES]
    if pictures:
        return {IMAGE_COLUMN: read_images(pictures)}
    classes = [p for p in entries if p.is_dir()]
    if classes:
        return read_classes(classes)
    what = f"{folder} must have {KINDS}, pictures, or one folder for each class; got {len(entries)} entries"
    raise InputError(what, name=str(folder))


def join_shards(shards: Mapping[Path, Callable[[Path], dict[str, Array]]]) -> dict[str, Array]:
    """The rows of all files, one file after the other; raises InputError unless they have the same columns."""
    paths = list(shards)
    parts = [reader(path) for path, reader in shards.items()]
    for path, part in zip(paths, parts, strict=True):
        if part.keys() != parts[0].keys():
            raise InputError(
                f"{path} must have the columns {sorted(parts[0])} of {paths[0].name}; got {sorted(part)}",
                name=str(path),
            )
    result = {}
    for name in parts[0]:
        try:
            result[name] = np.concatenate([part[name] for part in parts])
        except ValueError as error:
            raise InputError(f"column {name!r} of {paths[0].parent}: {error}", name=name) from None
    return result
